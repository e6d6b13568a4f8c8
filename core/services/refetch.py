"""Fetches a run's ledger again from its box, while the box still has it."""

from __future__ import annotations

from core.domain.event_lines import read_page
from core.errors import OutputNotUnderstood
from core.services.access import authorize
from core.services.house import House
from core.services.runs import get_run


def refetch_ledger(house: House, run_id: str) -> int:
    """Puts the box's own bytes in place of a damaged ledger and returns how many; the damaged file is kept beside it.

    Taken only when the chain is whole and ends where the rows end. Raises OutputNotUnderstood, RemoteError, NotFound.
    """
    authorize(house, "house.keep", run_id)
    run = get_run(house, run_id)
    box, wanted = house.open_box(house.box(run["box_id"])), run["read_offset"]
    data = b""
    while len(data) < wanted and (part := box.read_events(run_id, len(data), min(1 << 20, wanted - len(data)))):
        data += part
    page = read_page(data, last_seq=0, last_sha="")
    if (len(data), page.last_seq, page.last_sha) != (wanted, run["last_seq"], run["last_sha"]):
        raise OutputNotUnderstood(
            f"The box has {len(data)} bytes up to event {page.last_seq}; the rows stand at event {run['last_seq']}, byte {wanted}.",
            title="Not the same ledger",
            hint="Nothing was replaced.",
        )
    house.archive.replace_ledger(run_id, data)
    return len(data)
