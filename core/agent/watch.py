"""What a run looks at between any two steps: was it asked to stop, is its time up."""

from __future__ import annotations

import os
import time
from typing import Callable

from core.agent.files import read_object


class Stopped(Exception):
    """Somebody asked the run to stop; the text says who."""


class OutOfTime(Exception):
    """The run's lifetime is over."""


class Watch:
    """Call it anywhere: raises Stopped or OutOfTime when the run has to end, else returns at once."""

    def __init__(self, folder: str, lifetime_s: float, on_stop: Callable[[str], None]) -> None:
        self._marker = os.path.join(folder, "cancel")
        self._deadline = time.monotonic() + lifetime_s
        self._on_stop = on_stop
        self._who = ""
        self.signalled = ""

    def __call__(self) -> None:
        if self._who:
            raise Stopped(self._who)
        if self.signalled or os.path.lexists(self._marker):
            self._who = self.signalled or str(read_object(self._marker).get("who") or "somebody")[:200]
            self._on_stop(self._who)
            raise Stopped(self._who)
        if time.monotonic() > self._deadline:
            raise OutOfTime()

    def sleep(self, seconds: float) -> None:
        """Sleeps in short pieces and looks between them."""
        end = time.monotonic() + seconds
        while True:
            self()
            rest = end - time.monotonic()
            if rest <= 0:
                return
            time.sleep(min(0.05, rest))
