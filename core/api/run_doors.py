"""Doors of `/api/v1` to what is measured: matrix, cells, runs, recipes, boxes, prices, and what other tools printed."""

from __future__ import annotations

import json
from typing import Any

from core.api.door import Answer, ApiDoor, Call
from core.api.orders import AgainOrder, ImportOrder, PlaceOrder, ReadOrder, RecipeOrder, SweepOrder
from core.domain.forms import checked
from core.domain.matrix_filter import MatrixFilter
from core.domain.price_form import PriceForm, priced
from core.domain.run import QUEUED
from core.errors import NotFound
from core.formats.reader import read
from core.services import runs
from core.services.again import repeat_run, resume_run
from core.services.boxes import check_box, list_boxes
from core.services.explain import explain
from core.services.house import House
from core.services.imports import import_files, storable
from core.services.matrix import matrix_rows
from core.services.outlines import run_outline
from core.services.queue import move_in_queue, queue_of
from core.services.receipt_files import receipt_json
from core.services.receipts import receipt
from core.services.recipes import recipe_file, sweep_of_recipe
from core.services.reference import published_elsewhere
from core.services.run_report import run_report, stage_json

_RUN_SHOWN = ("run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note")


def _matrix(house: House, call: Call) -> Answer:
    query = call.query
    wanted: dict[str, Any] = {name: query.get(name) for name in MatrixFilter.model_fields}
    rows: Answer = {"rows": matrix_rows(house, **wanted)}
    wants_published = query.get("published") in ("1", "true")
    return {**rows, "published": published_elsewhere(house, model=query.get("model"))} if wants_published else rows


def _cell(house: House, call: Call) -> Answer:
    view = receipt(house, call.path["cell_id"], with_logs=True)
    return dict(json.loads(receipt_json(view, explain(house, view))))


def _runs(house: House, call: Call) -> Answer:
    wants_results = call.query.get("results") in ("1", "true")
    return {
        "runs": [
            {**{name: row[name] for name in _RUN_SHOWN}, **(_result(house, row) if wants_results else {})} for row in runs.list_runs(house)
        ]
    }


def _result(house: House, row: Answer) -> Answer:
    found = run_outline(house, row)
    return {**found, "stages": [stage_json(stage) for stage in found["stages"]]}


def _run(house: House, call: Call) -> Answer:
    view = runs.show_run(house, call.path["run_id"])
    shown = {name: view["run"][name] for name in _RUN_SHOWN}
    stages = [{**stage, **stage_json(stage)} for stage in view["stages"]]
    found = run_report(house, call.path["run_id"])
    return {**found, **shown, "stages": stages, "finished": view["finished"], "verdicts": view["verdicts"]}


def _sweep(house: House, call: Call) -> Answer:
    order = checked(SweepOrder, call.body)
    is_new = runs.start_run(house, order.run_id, order.model_dump(exclude={"run_id"}), who=house.actor.name)
    return {"run_id": order.run_id, "started": is_new}


def _repeat(house: House, call: Call) -> Answer:
    new_id = checked(AgainOrder, call.body).run_id
    return {"run_id": new_id, "started": repeat_run(house, new_id, call.path["run_id"], who=house.actor.name)}


def _resume(house: House, call: Call) -> Answer:
    new_id = checked(AgainOrder, call.body).run_id
    return {"run_id": new_id, "started": resume_run(house, new_id, call.path["run_id"], who=house.actor.name)}


def _stop(house: House, call: Call) -> Answer:
    runs.stop_run(house, call.path["run_id"], who=house.actor.name)
    return {"run_id": call.path["run_id"], "asked": True}


def _place(house: House, call: Call) -> Answer:
    move_in_queue(house, call.path["run_id"], checked(PlaceOrder, call.body).to)
    line = queue_of(house, runs.get_run(house, call.path["run_id"])["box_id"])
    return {"queue": [run["run_id"] for run in line if run["state"] == QUEUED]}


def _recipe(house: House, call: Call) -> Answer:
    found = recipe_file(house, call.path["run_id"])
    if found is None:
        raise NotFound("recipe of run", call.path["run_id"], [])
    return {"name": found[0], "text": found[1]}


def _read_recipe(house: House, call: Call) -> Answer:
    return {"sweep": sweep_of_recipe(checked(RecipeOrder, call.body).text.encode())}


def _boxes(house: House, call: Call) -> Answer:
    rows = list_boxes(house)
    return {
        "boxes": [
            {"box_id": row["box"].box_id, "name": row["box"].name, "engines": [engine.id for engine in row["box"].engines],
             "fingerprint": row["box"].fingerprint or None, "run_id": row["run"]["run_id"] if row["run"] else None}
            for row in rows
        ]
    }  # fmt: skip


def _check(house: House, call: Call) -> Answer:
    return check_box(house, call.path["box_id"], by_hand=True)


def _price(house: House, call: Call) -> Answer:
    return priced(call.body)


def _read(house: House, call: Call) -> Answer:
    order = checked(ReadOrder, call.body)
    companion = order.companion.encode() if order.companion else None
    found = read(order.text.encode(), companion=companion, kind=order.kind)
    return dict(storable(found.as_json()))


def _import(house: House, call: Call) -> Answer:
    order = checked(ImportOrder, call.body)
    return import_files(house, [(one.name, one.text.encode()) for one in order.files], who=house.actor.name, kind=order.kind)


RUN_DOORS = (
    ApiDoor("GET", "/matrix", "see", "The results matrix.", _matrix, query=(*MatrixFilter.model_fields, "published")),
    ApiDoor("GET", "/cells/{cell_id}", "see", "The receipt of a cell: figures, price, explanation, every sample.", _cell),
    ApiDoor("GET", "/runs", "see", "Runs, newest first; `results=1`: with what came of each.", _runs, query=("results",)),
    ApiDoor("GET", "/runs/{run_id}", "see", "One run: state, stages, cells, residuals, forecast, suites, end.", _run),
    ApiDoor("POST", "/runs", "run.start", "Start a sweep.", _sweep, body=SweepOrder),
    ApiDoor("POST", "/runs/{run_id}/stop", "run.stop", "Ask a run to stop.", _stop),
    ApiDoor("POST", "/runs/{run_id}/place", "run.order", "Move a waiting run in the queue of its box.", _place, body=PlaceOrder),
    ApiDoor("POST", "/runs/{run_id}/repeat", "run.start", "Run the same sweep again, whole.", _repeat, body=AgainOrder),
    ApiDoor("POST", "/runs/{run_id}/resume", "run.start", "Go on with an interrupted run as a new segment.", _resume, body=AgainOrder),
    ApiDoor("GET", "/runs/{run_id}/recipe", "export", "The winning recipe of a run as a recipe file.", _recipe),
    ApiDoor(
        "POST", "/recipes", "see", "Read a recipe file: the sweep it asks for, as POST /runs takes it.", _read_recipe, body=RecipeOrder
    ),
    ApiDoor("GET", "/boxes", "see", "Boxes and what holds them.", _boxes),
    ApiDoor("POST", "/boxes/{box_id}/check", "box.check", "Ask a box what it has, and keep the answer.", _check),
    ApiDoor("POST", "/price", "see", "Price two decode rates; nothing is kept.", _price, body=PriceForm),
    ApiDoor("POST", "/read", "see", "Read what an engine or a bench tool printed; nothing is kept.", _read, body=ReadOrder),
    ApiDoor("POST", "/imports", "import.add", "Take in what other tools printed.", _import, body=ImportOrder),
)
