"""What a row of the matrix suggests on its own figures: the worksheet's rule, on the row as it stands. A person decides."""

from __future__ import annotations

from typing import Any

from core.domain.gates import suggest
from core.domain.matrix import SHOWN

NOTHING = {"action": None, "n_max": None, "text": "Nothing can be suggested without a baseline and one n_max that can be compared."}


def row_suggestion(cells: dict[str, dict[str, Any]], best: str | None, last_position: float | None) -> dict[str, Any]:
    """{action: keep | widen | disable | None, n_max, text}. `best`: the row's winner; `last_position`: P of its longest draft's last one.

    Where no draft could win at the longest n, the sentence says so.
    """
    tried = {int(name): cell for name, cell in cells.items() if name != "off" and cell["speedup"] is not None and cell["status"] in SHOWN}
    if best is None or not tried:
        return dict(NOTHING)
    winner, longest = 0 if best == "off" else int(best), max(tried)
    found = suggest(winner, longest, winner, last_position, {n: cell["speedup"] for n, cell in tried.items()})
    price = tried[longest]["price"]
    if winner == 0 and price and (price["break_even_accept_share"] or 0) > 1:
        return {**found, "text": f"{found['text']} {price['note']}"}
    return found
