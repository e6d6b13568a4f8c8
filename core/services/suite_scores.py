"""§C: scores of tool suites with and without speculation: measured by runs, typed into worksheets, published."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from core.domain.matrix import column
from core.domain.sound import said
from core.domain.worksheet import SUITE_BAND
from core.services.access import authorize
from core.services.house import House

Sets = list[dict[str, Any]]


def suite_sets(house: House) -> Sets:
    """One line a side: {suite, model, where, side, scores, missing, band, provenance, source, run_id, worksheet_id, verdict}.

    `side`: "off", "n_max 1" or "candidate" (typed). `missing`: sentences of runs without a score. `verdict`: see `_judged`.
    """
    authorize(house, "see")
    return _judged(_measured(house)) + _judged(_typed(house)) + _judged(_published(house))


def _measured(house: House) -> Sets:
    sets: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in house.store.cells.suite_scores():
        side = "off" if row["n_max"] == 0 else f"n_max {column(row['n_max'])}"
        where = f"{row['box']}, c={row['c']}"
        one = sets.setdefault(
            (row["run_id"], row["suite"], row["n_max"], row["c"]),
            _set(row["suite"], row["model"], where, side, "measured", f"run {row['run_id'][:8]}", run_id=row["run_id"]),
        )
        if row["status"] == "ok" and row["score"] is not None:
            one["scores"].append(row["score"])
        else:
            one["missing"].append(f"{row['status']}: {row['reason'] or said(row['score'])}")
    return list(sets.values())


def _typed(house: House) -> Sets:
    """The newest entry of each side of each worksheet; the typed name stands as source."""
    sets = []
    for worksheet in house.store.worksheets.all():
        newest: dict[str, dict[str, Any]] = {}
        for entry in house.store.worksheets.entries(worksheet["worksheet_id"]):
            if entry["field"] == "suite" and isinstance(entry["value"], dict) and not entry.get("is_set_aside"):
                newest[entry["side"]] = entry
        for side, entry in sorted(newest.items()):
            value = entry["value"]
            one = _set(
                value["suite"], worksheet["body"].get("model"), f"worksheet “{worksheet['title']}”", "off" if side == "baseline" else side,
                "typed", f"typed in by {entry['typed_by']}", worksheet_id=worksheet["worksheet_id"],
            )  # fmt: skip
            sets.append({**one, "scores": list(value["scores"]), "band": value.get("band", SUITE_BAND)})
    return sets


def _published(house: House) -> Sets:
    sets = []
    for remark in house.store.published.remarks():
        figures = remark["body"]["figures"]
        if remark["section"] == "C" and {"on", "off"} <= set(figures):
            for side, key in (("off", "off"), ("n_max 1", "on")):
                one = _set("tool hardmode", "Q3-MTP", "published", side, "transcribed", remark["source"])
                sets.append({**one, "scores": [float(score) for score in figures[key]], "band": float(figures["band"])})
    return sets


def _set(suite: str, model: str | None, where: str, side: str, provenance: str, source: str, **more: Any) -> dict[str, Any]:
    return {
        "suite": suite, "model": model, "where": where, "side": side, "scores": [], "missing": [], "band": SUITE_BAND,
        "provenance": provenance, "source": source, "run_id": None, "worksheet_id": None, **more,
    }  # fmt: skip


def _judged(sets: Sets) -> Sets:
    """Adds `verdict`: within noise | below noise | above noise | one run a side, needs two | no score off | no score.

    Means are compared; the band is the suite's own noise. The off side has none.
    """
    off = {_pair(one): one for one in sets if one["side"] == "off"}
    return [{**one, "verdict": None if one["side"] == "off" else _verdict(one, off.get(_pair(one)))} for one in sets]


def _pair(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["suite"], one["model"], one["where"], one["run_id"], one["worksheet_id"], one["provenance"]


def _verdict(one: dict[str, Any], off: dict[str, Any] | None) -> str:
    if not one["scores"]:
        return "no score"
    if off is None or not off["scores"]:
        return "no score with speculation off to compare with"
    gap = fmean(one["scores"]) - fmean(off["scores"])
    word = "within noise" if abs(gap) <= one["band"] else "above noise" if gap > 0 else "below noise"
    few = min(len(one["scores"]), len(off["scores"])) < 2
    return f"{word} (±{one['band']:g})" + ("; fewer than two runs a side do not pass a gate" if few else "")
