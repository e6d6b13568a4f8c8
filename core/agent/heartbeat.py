"""A small file that shows the run moves: rewritten aside and renamed each second and at each change, so the ledger can stay short."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from core.agent.detached import myself
from core.agent.files import write_json

EVERY_S = 1.0


class Heartbeat:
    """`set` changes what is shown; a thread of its own writes it until `stop`."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "heartbeat.json")
        self._shown = dict(
            myself(), counter=0, phase="starting", stage=None, repetition=None, repetitions=None, tok_per_s=None,
        )  # fmt: skip
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._write()
        self._thread.start()

    def set(self, **shown: Any) -> None:
        with self._lock:
            self._shown.update(shown)
        self._write()

    def stop(self, phase: str) -> None:
        self._ended.set()
        self._thread.join(2 * EVERY_S)
        self.set(phase=phase)

    def _beat(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._write()

    def _write(self) -> None:
        with self._lock:
            self._shown["counter"] += 1
            self._shown["wall"] = time.time()
            try:
                write_json(self._path, self._shown)
            except OSError:
                pass  # a full disk must not end the run here; the journal reports it
