"""One worker at a time takes in a run's events: a row with the worker's token that runs out by itself when the worker is lost."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.errors import StoreError
from core.services.access import authorize
from core.services.house import House

LASTS = timedelta(seconds=90)  # longer than the longest wait for a box's answer


@dataclass
class Lease:
    """A worker's right to take in one run's events. The store asks for its token in the very transaction that writes them."""

    house: House
    run_id: str
    token: str
    until: datetime | None = None

    def prolong(self) -> bool:
        """False when another worker has the run by now. One that lasts long enough is left as it is."""
        now = self.house.clock.now()
        if self.until is not None and self.until - now > LASTS / 2:
            return True
        self.until = now + LASTS
        return self.house.store.runs.take_lease(self.run_id, self.token, now=now, until=self.until)


@contextlib.contextmanager
def leased(house: House, run_id: str) -> Iterator[Lease | None]:
    """The lease while it is entered, None where another worker has it."""
    authorize(house, "run.start", run_id)
    lease = Lease(house, run_id, secrets.token_hex(8))
    if not lease.prolong():
        yield None
        return
    try:
        yield lease
    finally:
        with contextlib.suppress(StoreError):  # it runs out by itself
            house.store.runs.end_lease(run_id, lease.token)
