"""What the rows of the matrix come to, for somebody who only glances: which bets paid, which did not, which are open, which went stale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.ui.components.figures import SIGNS, STALE, cell_lines, speedup

Row = dict[str, Any]
PAYS, LEVEL, LOSES, OPEN = "wins", "no-difference", "loses", ""
OPEN_SIGN = "○"
_WORDS = {
    PAYS: ("bet pays", "bets pay", "blue"),
    LOSES: ("bet does not pay", "bets do not pay", "orange"),
    LEVEL: ("bet shows no difference", "bets show no difference", "gray"),
    OPEN: ("row is open", "rows are open", "gray"),
}


@dataclass(frozen=True)
class Outcome:
    """`verdict` as on cells (empty: open); `words` with its sign: “▲ pays at n_max 1: 1.18×”."""

    verdict: str
    words: str


def outcome(row: Row) -> Outcome:
    """A row's outcome by its best cell: an n that beats off, off alone, or off and something that cannot be told from it."""
    best = row["best"]
    if best is None:
        return Outcome(OPEN, f"{OPEN_SIGN} open")
    if best != "off":
        gain = row["cells"][best]["speedup"]
        return Outcome(PAYS, f"{SIGNS[PAYS]} pays at n_max {best}: {speedup(gain)}") if gain else Outcome(OPEN, f"{OPEN_SIGN} open")
    if len(row["tied"]) > 1:
        return Outcome(LEVEL, f"{SIGNS[LEVEL]} no difference shown")
    return Outcome(LOSES, f"{SIGNS[LOSES]} does not pay")


def suggested(row: Row) -> str:
    """“widen: The longest draft measured …”; what could be done next, not a decision."""
    found = row["suggestion"]
    return f"{found['action']}: {found['text']}" if found["action"] else str(found["text"])


def because(row: Row) -> str:
    """The row's sentence without its verdict, which the outcome has said already."""
    lead = "no n pays; " if row["best"] == "off" else f"n={row['best']} pays; "
    return str(row["why"]).replace(lead, "", 1)


def tally(rows: list[Row]) -> None:
    """One line of counts over the rows shown."""
    found = [outcome(row).verdict for row in rows]
    parts = [
        f":{color}-badge[{SIGNS.get(name, OPEN_SIGN)} {found.count(name)} {one if found.count(name) == 1 else many}]"
        for name, (one, many, color) in _WORDS.items()
        if name in found
    ]
    stale = sum(bool(row["stale"]) for row in rows)
    parts += [f":violet-badge[{STALE} {stale} of them stale]"] if stale else []
    st.markdown(" ".join(parts))


def best_words(row: Row) -> tuple[str, str | None]:
    """A row's best in a few words with the id of its cell: “26.3 tok/s · 1.18× ▲ at n_max 1”."""
    best = row["best"]
    if best is None:
        return "nothing to compare yet", None
    cell = row["cells"][best]
    if best == "off":
        return f"off is best: {cell_lines(cell)[0]} tok/s", cell["cell_id"]
    return f"{cell_lines(cell)[0]} tok/s · {speedup(cell['speedup'])} {SIGNS.get(cell['verdict'] or '', '')} at n_max {best}", cell[
        "cell_id"
    ]
