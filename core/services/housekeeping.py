"""The app's second worker: answers requests from the command line, makes the nightly backup, keeps to the retention. Knows no screen."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from core.errors import BenchError, InvalidInput
from core.services import backups
from core.services.access import authorize
from core.services.doctor import doctor, mend
from core.services.house import House
from core.services.reap import reap
from core.services.retention import keep_to_retention
from core.services.start_up import Parts, put_in

LOOK_S = 0.5
CHORES_S = 600.0
AGAIN_S = 5.0


def do_request(house: House, verb: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the command line may ask of the process that holds the database."""
    authorize(house, "house.keep")
    if verb == "backup":
        return backups.back_up(house, to=Path(values["to"]) if values.get("to") else None)
    if verb == "doctor":
        done = mend(house) if values.get("mend") else None
        return {**doctor(house, ask_boxes=True), **({"mended": done} if done is not None else {})}
    if verb == "reap":
        return reap(house, values["box"], run_id=values.get("run"), who=values["by"])
    raise InvalidInput({"verb": "has to be backup, doctor or reap."})


class Housekeeper:
    """A request is answered within a second; chores come every ten minutes, beside it, never twice at once."""

    def __init__(self, house: House, parts: Parts | None = None) -> None:
        self._house, self._parts = house, parts or {}
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="chores")
        self._chores: Future[None] | None = None
        self._since = house.clock.now()
        self._thread = threading.Thread(target=self._loop, name="housekeeper", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def close(self) -> None:
        """Ends after the work in progress."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _loop(self) -> None:
        due, again = time.monotonic() + CHORES_S, 0.0
        while not self._stop.wait(LOOK_S):
            self.answer_requests()
            if self._house.unsaved and time.monotonic() >= again:
                self.finish_the_start()
                again = time.monotonic() + AGAIN_S
            if time.monotonic() >= due and (self._chores is None or self._chores.done()):
                due = time.monotonic() + CHORES_S
                self._chores = self._pool.submit(self.do_chores)

    def answer_requests(self) -> int:
        """Answers what is waiting; how many."""
        requests = self._house.upkeep.requests()
        for request in requests:
            self._house.upkeep.answer(request["id"], _answered(self._house, request))
        return len(requests)

    def finish_the_start(self) -> None:
        """Saves what the store refused when the app started."""
        with contextlib.suppress(BenchError):
            put_in(self._house, {name: part for name, part in self._parts.items() if name in self._house.unsaved})

    def do_chores(self) -> None:
        """The nightly backup when it is due, then the retention. A problem is for doctor to tell; the next round tries again."""
        with contextlib.suppress(BenchError):
            if backups.is_due(self._house, self._since):
                backups.nightly(self._house)
        with contextlib.suppress(BenchError):
            keep_to_retention(self._house)


def _answered(house: House, request: dict[str, Any]) -> dict[str, Any]:
    """{"answer"} or {"error", "kind"}: an error travels as its words."""
    try:
        return {"answer": do_request(house, request["verb"], request["values"])}
    except BenchError as error:
        return {**error.as_json(), "kind": type(error).__name__}
    except Exception as defect:  # noqa: BLE001 - told to whoever asked; the thread lives on
        return {"error": {"title": "Defect", "message": repr(defect), "hint": ""}, "kind": "BenchError"}
