"""Acceptance against context length, from every recorded answer of a cell's head: its own run and others with the same files and build."""

from __future__ import annotations

from typing import Any

from core.domain.head_calibration import Band, Heard, bands, heard_in
from core.domain.run import short
from core.services.access import authorize
from core.services.house import House


def acceptance_by_context(house: House, run_id: str, n_max: int, c: int) -> dict[str, Any]:
    """{state: ok | not_applicable | not_recorded, text, own, others: [(Heard, where it comes from)], bands: [Band] over both}.

    `own`: the counted repetitions of this cell; `others`: those of the same n_max at other concurrencies and in other runs with the same
    model file, draft file and engine build. Excluded repetitions are left out.
    """
    authorize(house, "see", run_id)
    blank: dict[str, Any] = {"own": [], "others": [], "bands": []}
    if not n_max:
        return {"state": "not_applicable", "text": "The baseline drafts nothing.", **blank}
    own: list[tuple[Heard, str]] = []
    others: list[tuple[Heard, str]] = []
    for one in dict.fromkeys([run_id, *house.store.cells.with_same_head(run_id, n_max)]):
        for streams, heard, where in _heard(house, one, n_max):
            (own if one == run_id and streams == c else others).append((heard, where))
    if not own:
        return {"state": "not_recorded", "text": "The engine told no draft counts for the answers of this cell.", **blank}
    found = bands(heard for heard, _ in own + others)
    return {"state": "ok", "text": "; ".join(band_words(band) for band in found), "own": own, "others": others, "bands": found}


def _heard(house: House, run_id: str, n_max: int) -> list[tuple[int, Heard, str]]:
    """(streams, answer, where it comes from) of a run's counted repetitions."""
    run = house.store.runs.get(run_id)
    counted = {row["seq"] for row in house.store.cells.samples(run_id, n_max=n_max) if row["counted"] and not row["excluded_reason"]}
    found = []
    for event in house.store.runs.events(run_id, kinds=("sample",)) if counted else []:
        if event["seq"] in counted and run is not None:
            streams = event["body"]["c"]
            where = f"run {short(run_id)}, {run['request']['workload_id']}, c={streams}"
            found += [(streams, heard, where) for heard in heard_in(event["body"])]
    return found


def band_words(band: Band) -> str:
    """“129–256 tokens: 310 of 402 proposed accepted (77 %), 6 answers”."""
    answers = f"{band.answers} answer{'' if band.answers == 1 else 's'}"
    counts = f"{band.accepted} of {band.proposed} proposed accepted ({band.accepted / band.proposed:.0%})"
    return f"{band.low:,}–{band.high:,} tokens: {counts}, {answers}"
