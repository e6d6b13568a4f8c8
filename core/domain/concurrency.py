"""§B: the same recipe at several concurrencies. Pure: rows of the matrix in, curves against c out."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import SHOWN

Row = dict[str, Any]
_SAME = ("model", "box", "build", "context", "workload", "provenance")


def groups_by_c(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows that differ in c only, as {key…, spill, by_c: {c: row}, n_max: the candidate's column or None}; those with most c first.

    Two rows of one c (two files, two placements with one label) stay apart: the second opens a group of its own.
    """
    groups: list[dict[str, Any]] = []
    for row in rows:
        if row["c"] is None:
            continue
        key = {name: row[name] for name in _SAME} | {"spill": row["spill"]["label"]}
        home = next((group for group in groups if group["key"] == key and row["c"] not in group["by_c"]), None)
        if home is None:
            home = {"key": key, "by_c": {}}
            groups.append(home)
        home["by_c"][row["c"]] = row
    for group in groups:
        group["by_c"] = dict(sorted(group["by_c"].items()))
        group["n_max"] = candidate_of(group["by_c"])
    return sorted(groups, key=lambda group: -len(group["by_c"]))


def candidate_of(by_c: dict[int, Row]) -> str | None:
    """The n_max measured at most concurrencies; among equals the one with the best speed-up at the fewest streams, then the smaller."""
    counts: dict[str, int] = {}
    for row in by_c.values():
        for name, cell in row["cells"].items():
            if name != "off" and _shown(cell):
                counts[name] = counts.get(name, 0) + 1
    first = next(iter(by_c.values()))["cells"] if by_c else {}
    return max(counts, key=lambda name: (counts[name], (first.get(name) or {}).get("speedup") or 0.0, -int(name)), default=None)


def curve(by_c: dict[int, Row], name: str) -> list[tuple[int, float, float]]:
    """(c, aggregate tok/s, tok/s per stream) of one column. Per stream is the aggregate over c, so that both come from one clock."""
    found = [(c, row["cells"].get(name)) for c, row in by_c.items()]
    return [(c, cell["tok_s"], cell["tok_s"] / c) for c, cell in found if cell and _shown(cell)]


def _shown(cell: Row) -> bool:
    return cell["status"] in SHOWN and cell["tok_s"] is not None


def flips(by_c: dict[int, Row], name: str) -> list[str]:
    """One sentence for every concurrency whose verdict is not the one at the fewest streams."""
    told = [(c, row["cells"][name]["verdict"]) for c, row in by_c.items() if name in row["cells"] and row["cells"][name]["verdict"]]
    return [
        f"n_max {name} {told[0][1]} at c={told[0][0]} and {word} at c={c}: c={c} decides there."
        for c, word in told[1:]
        if word != told[0][1]
    ]
