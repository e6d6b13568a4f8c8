"""What is measured and what is not: per model, spill and workload, and the controls behind a claim. Pure."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import SHOWN

Row = dict[str, Any]
CLAIM = 0.995  # an acceptance that is quoted as 100 %
CONTROLS = {
    "other head": "the same model with another head or draft model",
    "head off": "the same model drafted another way, its head off",
    "other context": "the same cell at another context length",
}


def places_of(heads: list[Row], workloads: list[str]) -> list[Row]:
    """Model × spill × box as the heads have them, each with every workload: {model, spill, box, build, workload, heads (newest first)}.

    A published or imported row brings its own workload only (none: not recorded).
    """
    places: dict[tuple[Any, ...], Row] = {}
    for head in heads:
        measured = head["provenance"] == "measured"
        for workload in dict.fromkeys([head["workload"], *(workloads if measured else [])]):
            key = (head["model"], head["spill"]["label"], head["box"], head["provenance"], workload)
            place = places.setdefault(
                key,
                {"model": head["model"], "spill": head["spill"], "box": head["box"], "provenance": head["provenance"],
                 "workload": workload, "heads": []},
            )  # fmt: skip
            if head["workload"] == workload:
                place["heads"].append(head)
    return list(places.values())


def covered(place: Row, rows: list[Row], columns: tuple[str, ...]) -> Row:
    """The place with `single`: column → status at one stream, `several`: statuses above it, and `stale`: why.

    Of several builds the best status counts: ok before stale before excluded, invalid, failed, not run.
    """
    single: dict[str, str] = dict.fromkeys(columns, "not_run")
    several: dict[int, str] = {}
    for row in rows:
        for name, cell in row["cells"].items():
            if (row["c"] or 1) == 1:
                single[name] = better(single.get(name, "not_run"), cell["status"])
        if row["c"] and row["c"] > 1:
            states = [cell["status"] for name, cell in row["cells"].items() if name != "off"]
            several[row["c"]] = better(several.get(row["c"], "not_run"), *states)
    stale = list(dict.fromkeys(why for row in rows for why in row["stale"]))
    return {
        **place,
        "single": single,
        "several": dict(sorted(several.items())),
        "stale": stale,
        "drifted": any(row["drifted"] for row in rows),
    }


_ORDER = ("ok", "stale", "excluded", "invalid", "failed", "not_recorded", "not_applicable", "not_run")


def better(*states: str) -> str:
    """The status that says most."""
    return min(states, key=_ORDER.index)


def claims_of(rows: list[Row]) -> list[Row]:
    """Cells whose acceptance is quoted as 100 %: {row, n_max, cell}."""
    return [
        {"row": row, "n_max": name, "cell": cell}
        for row in rows
        for name, cell in row["cells"].items()
        if name != "off" and cell["status"] in SHOWN and (cell["accept_share"] or 0.0) >= CLAIM
    ]


def controls_of(claim: Row, others: list[Row]) -> dict[str, str]:
    """Control → "run" or "not run". `others`: {model, box, context, artifact, speculation} of measured arms with drafts.

    Published claims have none: their source names the controls as not run.
    """
    row = claim["row"]
    if row["provenance"] != "measured":
        return dict.fromkeys(CONTROLS, "not run")
    same = [one for one in others if (one["model"], one["box"]) == (row["model"], row["box"])]
    own = [one for one in same if one["run_id"] == row["run_id"]]
    artifacts = {(one["artifact"], one["draft_artifact"]) for one in own}
    found = {
        "other head": any((one["artifact"], one["draft_artifact"]) not in artifacts for one in same),
        "head off": any(one["speculation"] not in {mine["speculation"] for mine in own} for one in same) if own else False,
        "other context": any(one["context"] != row["context"] for one in same),
    }
    return {name: "run" if is_run else "not run" for name, is_run in found.items()}
