"""Builds everything: the only place that picks adapters. Command line, app and tests all start here."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.config import LOCAL_TOKEN_OFF, ROOT, VERSION, Settings, load_suites, load_workloads
from core.domain.box import LOCKED, THIS_MACHINE, Box, Engine, ModelFile, Suite
from core.domain.roles import THE_APP
from core.embedded.models import MODELS, make_model
from core.ports.bench_box import BenchBox
from core.ports.clock import Clock
from core.ports.host import Host
from core.ports.upkeep import Upkeep
from core.remote.agent_box import AgentBox
from core.remote.agent_bundle import build as pack_agent
from core.remote.local_host import LocalHost
from core.remote.locked_box import LockedBox
from core.remote.ssh_address import SshAddress
from core.remote.ssh_host import SshHost
from core.remote.ssh_link import fetch_host_key
from core.services.follower import Follower
from core.services.house import House, Progress
from core.services.housekeeping import Housekeeper
from core.services.jobs import Jobs
from core.services.local_door import LocalDoor
from core.services.reference import seed_public_results, seed_reference
from core.services.start_up import Parts, put_in
from core.store.archive import FolderArchive
from core.store.database import Database
from core.store.door_key import secret_key
from core.store.open import open_store
from core.store.upkeep import DuckUpkeep


class SystemClock(Clock):
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True)
class Services:
    """The house, its background worker, its errands, its door without sign-in, and what has to be closed at the end.

    `house` is in the app's own hands; every door hands it on with `acting`.
    """

    house: House
    follower: Follower
    housekeeper: Housekeeper
    jobs: Jobs
    database: Database
    door: LocalDoor

    def close(self) -> None:
        """Ends the worker and lets the database go; runs on boxes are not touched."""
        self.follower.close()
        self.housekeeper.close()
        self.jobs.close()
        self.database.close()


def packed_agent() -> tuple[bytes, str]:
    """The agent as it travels, and its SHA-256: for the owner of a locked box."""
    return pack_agent()


class BoxOpener:
    """One connection object per registration; a changed registration gets a new one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[str, tuple[Box, BenchBox]] = {}

    def __call__(self, box: Box) -> BenchBox:
        known = self._open.get(box.box_id)
        if known is None or known[0] != box:
            root = str(self._settings.local_dir.resolve() / "box") if box.kind == "local" else None
            locked = box.mode == LOCKED
            opened = (
                LockedBox(self._host(box)) if locked else AgentBox(self._host(box), root=root, python=list(box.python), allow=box.allow())
            )
            known = (box, opened)
            self._open[box.box_id] = known
        return known[1]

    def _host(self, box: Box) -> Host:
        if box.kind == "local":
            return LocalHost()
        return SshHost(
            SshAddress(
                host=box.host,
                port=box.port,
                user=box.user,
                key_path=box.key_path,
                passphrase_env=box.passphrase_env or None,
                pinned_key=box.host_key or None,
                via=_jump(box),
            )
        )


def _jump(box: Box) -> SshAddress | None:
    """The jump host as an account of its own: its own pinned key, entered with the box's key file."""
    jump = box.jump_address()
    if jump is None:
        return None
    return SshAddress(
        host=jump.host,
        port=jump.port,
        user=jump.user,
        key_path=box.key_path,
        passphrase_env=box.passphrase_env or None,
        pinned_key=box.jump_host_key or None,
        is_jump=True,
    )


def shown_host_key(host: str, port: int, through: Box | None = None) -> tuple[str, str]:
    """(key line, fingerprint) that a host shows now. `through`: asked by way of this box's jump host."""
    return fetch_host_key(host, port, via=_jump(through) if through is not None else None)


def this_machine(settings: Settings, own: Sequence[Suite] = ()) -> Box:
    """The box every installation has: the embedded engine, the made models, the shipped suites and those that people registered (`own`)."""
    shipped = load_suites(sys.executable)
    models = settings.local_dir.resolve() / "models"
    launcher = ROOT / "core" / "embedded" / "launcher.py"
    return Box(
        box_id=THIS_MACHINE,
        name="this machine",
        kind="local",
        python=[sys.executable],
        engines=[Engine(id="embedded", argv=[sys.executable, str(launcher)])],
        models=[ModelFile(name=name, path=str(models / f"{name}.gguf")) for name in MODELS],
        suites=shipped + [suite for suite in own if suite.id not in {one.id for one in shipped}],
    )


def upkeep_of(settings: Settings) -> Upkeep:
    """Looking after the database without opening it: restore, rebuild, requests to whoever holds it."""
    return DuckUpkeep(settings.database)


def build(settings: Settings | None = None) -> Services:
    """Opens the store, registers this machine, loads the shipped figures. Raises StoreInUse when another process holds the database.

    What a full disk keeps from being saved stands in `house.unsaved`.
    """
    settings = settings or Settings()

    def make(name: str, progress: Progress) -> Path:
        return make_model(MODELS[name], settings.local_dir / "models", progress=progress)

    database, store = open_store(settings.database)
    house = House(
        store=store,
        archive=FolderArchive(settings.beside),
        upkeep=DuckUpkeep(settings.database, database),
        clock=SystemClock(),
        workloads=load_workloads(),
        open_box=BoxOpener(settings),
        fetch_host_key=shown_host_key,
        make_model=make,
        made_models=tuple(MODELS),
        version=VERSION,
        grace_s=settings.grace_s,
        second_person=settings.second_person,
        keep_box_days=settings.keep_box_days,
        keep_raw_days=settings.keep_raw_days,
        actor=THE_APP,
        role_claim=settings.role_claim,
        role_map=settings.role_map,
    )
    parts = _parts(house, settings)
    with ExitStack() as opened:
        opened.callback(database.close)
        put_in(house, parts)
        door = _door(settings)
        opened.pop_all()
    follower, housekeeper = Follower(house, poll_s=settings.poll_s), Housekeeper(house, parts)
    return Services(house, follower, housekeeper, Jobs(), database, door)


def _parts(house: House, settings: Settings) -> Parts:
    """What every start puts into the store; unchanged content writes nothing."""
    reference = ROOT / "data" / "reference"

    def this_box() -> None:
        own = [suite for box in house.store.boxes.all() if box.box_id == THIS_MACHINE for suite in box.suites]
        house.store.boxes.put(this_machine(settings, own), who="the app", at=house.clock.now())

    return {
        "This machine, as a box,": this_box,
        "The published reference figures": lambda: seed_reference(house, tomllib.loads((reference / "section-e.toml").read_text("utf-8"))),
        "The results published elsewhere": lambda: seed_public_results(house, (reference / "public-results.csv").read_bytes()),
    }


def _door(settings: Settings) -> LocalDoor:
    """The local door with a key of its own beside the database, so that browsers stay signed in over a restart."""
    fixed = "" if settings.local_token == LOCAL_TOKEN_OFF else settings.local_token
    return LocalDoor(secret_key(settings.beside / "door.key"), fixed=fixed, is_open=settings.local_token == LOCAL_TOKEN_OFF)
