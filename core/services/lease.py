"""One worker at a time takes in a run's events: a row with the worker's token that runs out by itself when the worker is lost."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.errors import StoreError
from core.services.access import authorize
from core.services.house import House

LASTS = timedelta(seconds=90)  # longer than the longest wait for a box's answer


@dataclass
class Lease:
    """A worker's right to take in one run's events, while it is entered. The transaction that writes them asks for its token."""

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

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(StoreError):  # it runs out by itself
            self.house.store.runs.end_lease(self.run_id, self.token)


def take_lease(house: House, run_id: str) -> Lease | None:
    """The lease, to be entered; None where another worker has it."""
    authorize(house, "run.start", run_id)
    lease = Lease(house, run_id, secrets.token_hex(8))
    return lease if lease.prolong() else None
