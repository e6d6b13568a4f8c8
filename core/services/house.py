"""What every use case gets handed: the store, the archive, the boxes, the clock. Built in one place, core/bootstrap.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.domain.box import Box
from core.domain.roles import NOBODY, Actor
from core.domain.workload import Workload
from core.errors import NotFound, StoreError
from core.ports.archive import Archive
from core.ports.bench_box import BenchBox
from core.ports.clock import Clock
from core.ports.store import Store
from core.ports.upkeep import Upkeep

Progress = Callable[[float, str], None]


@dataclass
class Live:
    """What the follower saw last of a running sweep; lives in memory only, the record is in the store."""

    heartbeat: dict[str, Any] = field(default_factory=dict)
    log_tail: str = ""
    moved_at: float = 0.0
    cancel_carried: bool = False
    log_name: str = ""


@dataclass(frozen=True)
class House:
    """Everything the services stand on. `open_box` gives the same connection object for the same registration.

    `fetch_host_key`: (host, port[, box through whose jump host]) → (key line, fingerprint).
    `second_person`: whether this team asks for a second named person on a decision against the suggestion.
    """

    store: Store
    archive: Archive
    upkeep: Upkeep
    clock: Clock
    workloads: dict[str, Workload]
    open_box: Callable[[Box], BenchBox]
    fetch_host_key: Callable[..., tuple[str, str]]
    make_model: Callable[[str, Progress], Path]
    made_models: tuple[str, ...]
    version: str
    grace_s: float = 10.0
    second_person: bool = False
    keep_box_days: int = 30
    keep_raw_days: int | None = None
    live: dict[str, Live] = field(default_factory=dict)
    wake: threading.Event = field(default_factory=threading.Event)
    actor: Actor = NOBODY
    role_claim: str = ""
    role_map: dict[str, str] = field(default_factory=dict)
    noted: dict[tuple[str, ...], float] = field(default_factory=dict)
    kept: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    unsaved: dict[str, StoreError] = field(default_factory=dict)

    def keep(self, name: str, mark: Any, make: Callable[[], Any]) -> Any:
        """What `make` answers, made anew only when the store was written to or `mark` changed since. Callers leave it as it is."""
        key = (self.store.cells.revision(), mark)
        found = self.kept.get(name)
        if found is None or found[0] != key:
            found = self.kept[name] = (key, make())
        return found[1]

    def acting(self, actor: Actor) -> House:
        """The same house in the hands of somebody: every service call asks whether this actor may."""
        return replace(self, actor=actor)

    def box(self, box_id: str) -> Box:
        """The registered box; raises NotFound with the known names."""
        boxes = self.store.boxes.all()
        found = next((box for box in boxes if box.box_id == box_id), None)
        if found is None:
            raise NotFound("box", box_id, [box.box_id for box in boxes])
        return found

    def box_name(self, box_id: str) -> str:
        """The box's name, its id where it is registered no more."""
        return next((box.name for box in self.store.boxes.all() if box.box_id == box_id), box_id)

    def workload_title(self, workload_id: str) -> str:
        """The workload's title, its id where this house does not know it."""
        return self.workloads[workload_id].title if workload_id in self.workloads else workload_id

    def workload(self, workload_id: str) -> Workload:
        """The workload; raises NotFound with the known names."""
        if workload_id not in self.workloads:
            raise NotFound("workload", workload_id, sorted(self.workloads))
        return self.workloads[workload_id]
