"""What a view of the matrix asks for, and whether a row fits. The command line, the JSON door and the page all ask with this."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from core.domain.forms import Record

PROVENANCES = ("measured", "imported", "transcribed")
SORTS = ("least spill first", "most spill first", "newest first")


def _known_provenance(name: str) -> str:
    if name not in PROVENANCES:
        raise ValueError(f"has to be one of {', '.join(PROVENANCES)}.")
    return name


class MatrixFilter(Record):
    """None: no matter. `build` also fits by its number or its commit alone; `age_days`: measured within so many days."""

    model: str | None = None
    build: str | None = None
    box: str | None = None
    workload: str | None = None
    context: Annotated[int, Field(ge=1)] | None = None
    concurrency: Annotated[int, Field(ge=1)] | None = None
    provenance: Annotated[str, AfterValidator(_known_provenance)] | None = None
    age_days: Annotated[float, Field(gt=0, le=36500, allow_inf_nan=False)] | None = None


_FIELDS = {"model": "model", "box": "box", "workload": "workload", "context": "context", "concurrency": "c", "provenance": "provenance"}


def fits(head: dict[str, Any], wanted: MatrixFilter, now: datetime) -> bool:
    """A row that does not say (a published one has no box) fits only where nothing is asked."""
    for name, key in _FIELDS.items():
        asked = getattr(wanted, name)
        if asked is not None and head[key] != asked:
            return False
    if wanted.build is not None and not _is_build(head["build"], wanted.build):
        return False
    return wanted.age_days is None or (head["at"] is not None and now - head["at"] <= timedelta(days=wanted.age_days))


def _is_build(text: str | None, asked: str) -> bool:
    if text is None:
        return False
    number, _, commit = text.partition(" ")
    return asked in {text, number, number.removeprefix("b"), commit.strip("()"), number.strip("()")}


def spill_rank(spill: dict[str, Any]) -> tuple[int, float, float]:
    """Least spill first: resident and host only, then by layers and share on the host; unknown last."""
    if spill["state"] in ("resident", "host-only"):
        return (0, 0.0, 0.0)
    if spill["layers"] is None and spill["host_share"] is None:
        return (2, 0.0, 0.0)
    return (1, float(spill["layers"] or 0), float(spill["host_share"] or 0.0))


def arranged(heads: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """Models together, in the order in which they first appear; within a model by spill, one stream before many."""
    first: dict[Any, int] = {}
    for head in heads:
        first.setdefault(head["model"], len(first))
    if sort == "newest first":
        return sorted(heads, key=lambda head: first[head["model"]])
    turn = -1 if sort == "most spill first" else 1

    def place(head: dict[str, Any]) -> tuple[Any, ...]:
        known, layers, share = spill_rank(head["spill"])
        return first[head["model"]], known * (1 if known == 2 else turn), layers * turn, share * turn, head["c"] or 1

    return sorted(heads, key=place)
