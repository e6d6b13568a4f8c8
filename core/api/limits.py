"""How often a caller may ask: a count in each minute, wrong tokens counted apart and far lower. In memory; a restart forgets it."""

from __future__ import annotations

import threading
import time

PER_MINUTE = 600
WRONG_PER_MINUTE = 20
HEAVY_PER_MINUTE = 6
_MOST_CALLERS = 5000


class Limiter:
    """Counts by caller and minute."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._minute = 0
        self._counts: dict[str, int] = {}

    def allows(self, caller: str, most: int) -> bool:
        """Counts one request; False when it is one too many in this minute."""
        minute = int(time.monotonic() // 60)
        with self._turn:
            if minute != self._minute or len(self._counts) > _MOST_CALLERS:
                self._minute, self._counts = minute, {}
            self._counts[caller] = self._counts.get(caller, 0) + 1
            return self._counts[caller] <= most

    def is_spent(self, caller: str, most: int) -> bool:
        """Whether the caller has used up its minute, without counting."""
        with self._turn:
            return self._counts.get(caller, 0) >= most and int(time.monotonic() // 60) == self._minute

    def wait_s(self) -> int:
        """Seconds until the next minute begins."""
        return 60 - int(time.monotonic() % 60)
