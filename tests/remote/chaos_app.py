"""The app's part of the chaos run, in a process that may be killed at any moment: follows runs and, unless it drains, asks for more."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from core.bootstrap import Services, build
from core.config import Settings
from core.domain.box import Box
from core.domain.run import ACTIVE
from core.errors import BenchError
from core.services import follow
from tests.remote.scripted_box import BOX_ID, ask


def settings_in(folder: Path) -> Settings:
    return Settings(db=folder / "data" / "c.duckdb", local_dir=folder / "local", grace_s=0.3, poll_s=0.15)


def opened(folder: Path) -> Services:
    """The services over the chaos run's folder, its box registered."""
    services = build(settings_in(folder))
    box = Box(**json.loads((folder / "box.json").read_text()))
    if services.house.store.boxes.latest_check(BOX_ID) is None:
        services.house.store.boxes.put(box, who="Ada", at=services.house.clock.now())
        services.house.store.boxes.add_check(BOX_ID, {"models": [{"name": "made"}]}, ok=True, at=services.house.clock.now())
    return services


def main(folder: Path, drains: bool) -> None:
    """Ends by itself only when it drains and no run is active any more."""
    follow.STILL_S = 1.5
    services = opened(folder)
    services.follower.start()
    print("up", flush=True)
    while True:
        try:
            active = services.house.store.runs.find(states=ACTIVE)
            if not active and drains:
                break
            if not active:
                ask(services.house, n_max=2)
        except (BenchError, OSError):
            pass  # a full disk: the next turn tries again
        time.sleep(0.1)
    services.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "drain")
