"""Worksheets: propose a change, fill from its newest run, type what no run can tell, show gates and suggestion."""

from __future__ import annotations

import secrets
from typing import Any

from core.domain.decision import in_force
from core.domain.forms import Name, Record, Sentence, checked
from core.domain.gates import flips_at_production, gates_of
from core.domain.matrix import measured_price
from core.domain.reference_sheet import fields_for, price_for
from core.domain.revisions import current
from core.domain.run import FINAL, Proposal
from core.domain.templates import WorksheetForm
from core.domain.worksheet import EXTRA_FIELDS, FIELDS, TYPED_FIELDS, Evidence, Side, SuiteScores, priced, value
from core.errors import DecisionRefused, InvalidInput, NotFound
from core.services.access import authorize
from core.services.boxes import model_names
from core.services.evidence import evidence_of, recipe_differences
from core.services.house import House
from core.services.readings import readings_of_arm
from core.services.traffic import suggestion_with_mix

SIDES = ("baseline", "candidate")


class Note(Record):
    """A typed text: a note on a field, or the value of a field that no run fills."""

    text: Sentence
    by: Name


def new_worksheet_id() -> str:
    """Minted when the form is shown, so that a second click opens the same worksheet."""
    return f"w-{secrets.token_hex(4)}"


def propose(house: House, values: dict[str, Any], *, who: str, worksheet_id: str | None = None) -> str:
    """Opens a worksheet for “turn on MTP for …”; returns its id. One that is there already stays. Raises InvalidInput, NotFound.

    A clone takes over the notes and traffic shares of the earlier one, never its figures.
    """
    authorize(house, "work.propose", signed=who)
    worksheet_id = worksheet_id or new_worksheet_id()
    if house.store.worksheets.get(worksheet_id):
        return worksheet_id
    proposal: WorksheetForm = _checked_with_name(values, who)
    box = house.box(proposal.box_id)
    house.workload(proposal.workload_id)
    known = model_names(house, box)
    if proposal.model not in known:
        raise NotFound("model", proposal.model, known)
    if box.engine(proposal.engine_id) is None:
        raise NotFound("engine", proposal.engine_id, [engine.id for engine in box.engines])
    if proposal.cloned_from:
        get_worksheet(house, proposal.cloned_from)
    row = {
        "worksheet_id": worksheet_id,
        "title": proposal.title,
        "body": proposal.model_dump(),
        "created_by": who.strip(),
        "created_at": house.clock.now(),
    }
    house.store.worksheets.insert(row)
    if proposal.cloned_from:
        _take_over(house, proposal.cloned_from, row)
    return worksheet_id


def _take_over(house: House, earlier_id: str, row: dict[str, Any]) -> None:
    """Notes and shares say what people know beside the measuring, so they hold for a clone too; each says from whom it comes."""
    for (field, side), entry in current(house.store.worksheets.entries(earlier_id)).items():
        if entry["value"] and (side == "note" or field == "traffic" and set(entry["value"]) <= set(house.workloads)):
            origin = f"taken over from worksheet {earlier_id}, there by {entry['typed_by']}"
            one = {"worksheet_id": row["worksheet_id"], "field": field, "side": side, "value": entry["value"], "note": origin}
            house.store.worksheets.add_entry({**one, "typed_by": row["created_by"], "noted_at": row["created_at"]})


def _checked_with_name(values: dict[str, Any], who: str) -> WorksheetForm:
    """The proposal; problems of the form and of the name come together."""
    problems: dict[str, str] = {}
    for model, given in ((WorksheetForm, values), (Note, {"text": "", "by": who})):
        try:
            checked(model, given)
        except InvalidInput as error:
            problems |= error.problems
    if problems:
        raise InvalidInput(problems)
    return checked(WorksheetForm, values)


def list_worksheets(house: House) -> list[dict[str, Any]]:
    """Every worksheet, newest first, with its newest run and its decision: {worksheet, run, decision}; None where there is none."""
    authorize(house, "see")
    newest: dict[str, dict[str, Any]] = {}
    for run in house.store.runs.find():
        newest.setdefault(run["worksheet_id"] or "", run)
    decided = {entry["worksheet_id"]: entry for entry in house.store.decisions.all()}
    return [
        {"worksheet": row, "run": newest.get(row["worksheet_id"]), "decision": decided.get(row["worksheet_id"])}
        for row in house.store.worksheets.all()
    ]


def get_worksheet(house: House, worksheet_id: str) -> dict[str, Any]:
    """The worksheet's row, `body` with what was changed of it since; raises NotFound."""
    authorize(house, "see", worksheet_id)
    row = house.store.worksheets.get(worksheet_id)
    if row is None:
        raise NotFound("worksheet", worksheet_id, [one["worksheet_id"] for one in house.store.worksheets.all()[:10]])
    plan = current(house.store.worksheets.entries(worksheet_id)).get(("plan", "candidate"), {}).get("value") or {}
    return {**row, "body": {**row["body"], **plan}}


def sweep_values(worksheet: dict[str, Any]) -> dict[str, Any]:
    """The sweep this worksheet asks for, as the form of `start_run`."""
    asked = {name: one for name, one in worksheet["body"].items() if name in Proposal.model_fields}
    return {**asked, "worksheet_id": worksheet["worksheet_id"]}


def show_worksheet(house: House, worksheet_id: str, *, owner: str | None = None) -> dict[str, Any]:
    """What its page shows: {worksheet, fields, gates, suggestion, steps, candidate_n, flips, price, runs, decisions, run_id, …}."""
    authorize(house, "see", worksheet_id)
    worksheet = get_worksheet(house, worksheet_id)
    decisions = [one for one in house.store.decisions.all() if one["worksheet_id"] == worksheet_id]
    evidence = evidence_of(house, worksheet, owner=decisions[-1]["owner"] if decisions else owner)
    fields = fields_for(evidence)
    if decisions:
        fields = [{**row, **_decided(decisions[-1])} if row["key"] == "decision" else row for row in fields]
    entries = house.store.worksheets.entries(worksheet_id)
    suggested, traffic = suggestion_with_mix(house, evidence)
    return {
        "worksheet": worksheet,
        "evidence": evidence,
        "revision": max((entry["entry"] for entry in entries), default=0),
        "last_entry": entries[-1] if entries else None,
        "priced": priced(fields),
        "fields": fields,
        "gates": gates_of(evidence),
        "suggestion": suggested,
        "traffic": traffic,
        "differences": recipe_differences(evidence),
        "steps": evidence.steps,
        "candidate_n": evidence.candidate.n_max,
        "flips": flips_at_production(evidence),
        "price": price_for(evidence),
        "production_price": measured_price(evidence.candidate.production or {"n_max": 0}, evidence.baseline.production),
        "runs": house.store.runs.find(worksheet_id=worksheet_id),
        "decisions": decisions,
        "run_id": evidence.run_id,
        "drifted": evidence.drifted,
        "stop": evidence.stop,
        "log_readings": {
            side: _readings(house, evidence, found) for side, found in zip(SIDES, (evidence.baseline, evidence.candidate), strict=True)
        },
    }


def _readings(house: House, evidence: Evidence, side: Side) -> list[dict[str, Any]]:
    """What the logs of a side's single-stream engine starts say, warnings included."""
    return [] if evidence.run_id is None or side.n_max is None else readings_of_arm(house, evidence.run_id, side.n_max, 1)


def _decided(entry: dict[str, Any]) -> dict[str, Any]:
    return {"candidate": value(entry["verdict"], provenance="typed", typed_by=entry["owner"]), "state": "ok"}


def is_running(view: dict[str, Any]) -> bool:
    """Whether one of the worksheet's runs is still under way."""
    return any(run["state"] not in FINAL for run in view["runs"])


def type_suite(house: House, worksheet_id: str, side: str, values: dict[str, Any], *, by: str, over: int | None = None) -> dict[str, Any]:
    """Suite scores of one side, typed in with a name. Returns the entry (see `add_entry`). Raises InvalidInput, DecisionRefused."""
    authorize(house, "work.type", worksheet_id, signed=by)
    problems = {} if by.strip() else {"by": "is needed."}
    try:
        scores = checked(SuiteScores, values)
    except InvalidInput as error:
        raise InvalidInput(error.problems | problems) from error
    return add_entry(house, worksheet_id, "suite", side, scores.model_dump(), by=by, over=over)


def type_text(house: House, worksheet_id: str, field: str, side: str, text: str, *, by: str, over: int | None = None) -> dict[str, Any]:
    """A typed value (fit, failure modes) or, with side `note`, a note. Notes never replace a value. Raises InvalidInput.

    An empty note takes the note back; a value is never emptied. `over`: the entry the writer saw there (0: none).
    """
    authorize(house, "work.type", worksheet_id, signed=by)
    note = checked(Note, {"text": text, "by": by})
    if side != "note" and field not in TYPED_FIELDS[1:]:
        raise InvalidInput({"field": "is filled from runs; add a note instead."})
    if side != "note" and not note.text:
        raise InvalidInput({"text": "is needed."})
    return add_entry(house, worksheet_id, field, side, note.text, by=by, over=over)


def choose_n_max(house: House, worksheet_id: str, n_max: int, *, by: str) -> None:
    """Lets the candidate column show another measured n. Raises InvalidInput when it was not measured."""
    authorize(house, "work.type", worksheet_id, signed=by)
    evidence = evidence_of(house, get_worksheet(house, worksheet_id))
    measured = sorted(n for n, cell in evidence.steps.items() if n and cell["n"])
    if n_max not in measured:
        raise InvalidInput({"n_max": f"has to be one of the measured ones: {', '.join(map(str, measured)) or 'none yet'}."})
    add_entry(house, worksheet_id, "n_max", "candidate", n_max, by=by)


def add_entry(house: House, worksheet_id: str, field: str, side: str, value: Any, *, by: str, over: int | None = None) -> dict[str, Any]:
    """One revision of a field and side, by name. A decided worksheet takes no more. Raises InvalidInput, NotFound, DecisionRefused."""
    authorize(house, "work.type", worksheet_id, signed=by)
    get_worksheet(house, worksheet_id)
    problems = {}
    if field not in (*FIELDS, *EXTRA_FIELDS):
        problems["field"] = f"has to be one of {', '.join(FIELDS)}."
    if side not in (*SIDES, "note"):
        problems["side"] = "has to be baseline, candidate or note."
    if problems:
        raise InvalidInput(problems)
    by = checked(Note, {"text": "", "by": by}).by
    if in_force(house.store.decisions.all(), worksheet_id):
        raise DecisionRefused(
            "This worksheet is decided, so nothing was added to it. What you typed still stands in its field.",
            title="The worksheet is closed",
            hint="Clone it to look at the change again, or leave a comment.",
        )
    row = {
        "worksheet_id": worksheet_id,
        "field": field,
        "side": side,
        "value": value,
        "note": "",
        "typed_by": by,
        "noted_at": house.clock.now(),
    }
    return house.store.worksheets.add_entry(row, over=over)
