"""The table of `/api/v1`: path, method, what the caller must be allowed to do, form of the body, and the service call behind it.

A new door is one line here; OpenAPI, the body's check and the test of roles against doors all read this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from core.domain.decision import DecisionForm
from core.domain.forms import Name, Record, Sentence, checked
from core.domain.matrix_filter import MatrixFilter
from core.domain.run import Proposal, SweepRequest, new_run_id
from core.services import runs, worksheets
from core.services.boxes import list_boxes
from core.services.decisions import chain_problem, decide, list_decisions
from core.services.house import House
from core.services.imports import import_files
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere
from core.services.worksheet_edits import comment, comments_of

Answer = dict[str, Any]
_RUN_SHOWN = ("run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note")


@dataclass(frozen=True)
class Call:
    """What came with a request: names from the path, the query, the body as an object."""

    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ApiDoor:
    """One method of one path. `query`: names that may stand in the query."""

    method: str
    path: str
    action: str
    summary: str
    work: Callable[[House, Call], Answer]
    body: type[BaseModel] | None = None
    query: tuple[str, ...] = ()


class SweepOrder(SweepRequest):
    """A sweep; the same `run_id` sent again starts nothing."""

    run_id: str = Field(default_factory=new_run_id, pattern=r"^[0-9a-f]{32}$")


class TextFile(Record):
    """A file as text."""

    name: Name
    text: str = Field(max_length=2_000_000)


class ImportOrder(Record):
    """What other tools printed; `kind` is detected when absent."""

    files: list[TextFile] = Field(min_length=1, max_length=20)
    kind: Name | None = None


class CommentOrder(Record):
    """A comment on a worksheet."""

    text: Sentence


class TextEntry(Record):
    """A typed value or note of one field."""

    field: Name
    side: Name
    text: Sentence


def _matrix(house: House, call: Call) -> Answer:
    query = call.query
    wanted: dict[str, Any] = {name: query.get(name) for name in MatrixFilter.model_fields}
    rows: Answer = {"rows": matrix_rows(house, **wanted)}
    wants_published = query.get("published") in ("1", "true")
    return {**rows, "published": published_elsewhere(house, model=query.get("model"))} if wants_published else rows


def _runs(house: House, call: Call) -> Answer:
    return {"runs": [{name: row[name] for name in _RUN_SHOWN} for row in runs.list_runs(house)]}


def _run(house: House, call: Call) -> Answer:
    view = runs.show_run(house, call.path["run_id"])
    shown = {name: view["run"][name] for name in _RUN_SHOWN}
    return {**shown, "stages": view["stages"], "finished": view["finished"], "verdicts": view["verdicts"]}


def _sweep(house: House, call: Call) -> Answer:
    order = checked(SweepOrder, call.body)
    is_new = runs.start_run(house, order.run_id, order.model_dump(exclude={"run_id"}), who=house.actor.name)
    return {"run_id": order.run_id, "started": is_new}


def _stop(house: House, call: Call) -> Answer:
    runs.stop_run(house, call.path["run_id"], who=house.actor.name)
    return {"run_id": call.path["run_id"], "asked": True}


def _boxes(house: House, call: Call) -> Answer:
    rows = list_boxes(house)
    return {
        "boxes": [
            {"box_id": row["box"].box_id, "name": row["box"].name, "engines": [engine.id for engine in row["box"].engines],
             "fingerprint": row["box"].fingerprint or None, "run_id": row["run"]["run_id"] if row["run"] else None}
            for row in rows
        ]
    }  # fmt: skip


def _worksheets(house: House, call: Call) -> Answer:
    return {"worksheets": [row["worksheet"] for row in worksheets.list_worksheets(house)]}


def _worksheet(house: House, call: Call) -> Answer:
    view = worksheets.show_worksheet(house, call.path["worksheet_id"])
    shown = {name: view[name] for name in ("worksheet", "fields", "gates", "suggestion", "run_id")}
    return {**shown, "comments": comments_of(house, call.path["worksheet_id"])}


def _propose(house: House, call: Call) -> Answer:
    return {"worksheet_id": worksheets.propose(house, call.body, who=house.actor.name)}


def _type(house: House, call: Call) -> Answer:
    form = checked(TextEntry, call.body)
    return worksheets.type_text(house, call.path["worksheet_id"], form.field, form.side, form.text, by=house.actor.name)


def _comment(house: House, call: Call) -> Answer:
    comment(house, call.path["worksheet_id"], checked(CommentOrder, call.body).text, by=house.actor.name)
    return {"added": True}


def _import(house: House, call: Call) -> Answer:
    order = checked(ImportOrder, call.body)
    return import_files(house, [(one.name, one.text.encode()) for one in order.files], who=house.actor.name, kind=order.kind)


def _ledger(house: House, call: Call) -> Answer:
    return {"decisions": list_decisions(house), "first_bad": chain_problem(house)}


def _decide(house: House, call: Call) -> Answer:
    return decide(house, call.body)


DOORS = (
    ApiDoor("GET", "/matrix", "see", "The results matrix.", _matrix, query=(*MatrixFilter.model_fields, "published")),
    ApiDoor("GET", "/runs", "see", "Runs, newest first.", _runs),
    ApiDoor("GET", "/runs/{run_id}", "see", "One run: state, stages, end.", _run),
    ApiDoor("POST", "/runs", "run.start", "Start a sweep.", _sweep, body=SweepOrder),
    ApiDoor("POST", "/runs/{run_id}/stop", "run.stop", "Ask a run to stop.", _stop),
    ApiDoor("GET", "/boxes", "see", "Boxes and what holds them.", _boxes),
    ApiDoor("GET", "/worksheets", "see", "Worksheets, newest first.", _worksheets),
    ApiDoor("GET", "/worksheets/{worksheet_id}", "see", "One worksheet: fields, gates, suggestion.", _worksheet),
    ApiDoor("POST", "/worksheets", "work.propose", "Propose a change.", _propose, body=Proposal),
    ApiDoor("POST", "/worksheets/{worksheet_id}/entries", "work.type", "Type a value or a note.", _type, body=TextEntry),
    ApiDoor("POST", "/worksheets/{worksheet_id}/comments", "work.comment", "Comment.", _comment, body=CommentOrder),
    ApiDoor("POST", "/imports", "import.add", "Take in what other tools printed.", _import, body=ImportOrder),
    ApiDoor("GET", "/ledger", "see", "Decisions, newest first, and whether their chain holds.", _ledger),
    ApiDoor("POST", "/ledger", "decision.take", "Keep or reject.", _decide, body=DecisionForm),
)
