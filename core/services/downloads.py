"""Whatever leaves the house as a file is made when somebody takes it, for who may, and is written down."""

from __future__ import annotations

from collections.abc import Callable

from core.services.access import authorize, record
from core.services.house import House

# What is handed out on pages; each is a line `export` in the audit log when it is taken.
KINDS = (
    "matrix", "samples", "receipt", "recipe", "memo", "decision record", "runbook", "field sheet", "raw log", "imported file",
)  # fmt: skip


def take(house: House, kind: str, thing: str, make: Callable[[], str | bytes]) -> str | bytes:
    """The file's content, made now. `thing`: which one, for the audit log. Raises NotAllowed, and what `make` raises.

    Asked anew when it is taken: a person who was disabled after the page was drawn gets nothing.
    """
    authorize(house, "export", f"{kind} {thing}".strip())
    data = make()
    size = len(data.encode() if isinstance(data, str) else data)
    record(house, "export", f"{kind} {thing}".strip(), kind=kind, bytes=size)
    return data
