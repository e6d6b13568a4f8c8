"""Worksheets: propose a change, fill from its newest run, type what no run can tell, show gates and suggestion."""

from __future__ import annotations

import secrets
from typing import Any

from core.domain.decision import in_force
from core.domain.forms import Name, Record, Sentence, checked
from core.domain.gates import flips_at_production, gates_of
from core.domain.recipe import unwanted_differences
from core.domain.reference_sheet import fields_for, price_for, suggestion_for
from core.domain.revisions import current
from core.domain.run import DONE, FINAL, Proposal
from core.domain.sweep import winner_of
from core.domain.worksheet import EXTRA_FIELDS, FIELDS, TYPED_FIELDS, Evidence, Side, SuiteScores, value
from core.errors import DecisionRefused, InvalidInput, NotFound
from core.formats.version import read_version
from core.services.boxes import model_names
from core.services.house import House
from core.services.readings import readings_of_arm
from core.services.reference_sheets import evidence_from_reference

SIDES = ("baseline", "candidate")


class Note(Record):
    """A typed text: a note on a field, or the value of a field that no run fills."""

    text: Sentence
    by: Name


def new_worksheet_id() -> str:
    """Minted when the form is shown, so that a second click opens the same worksheet."""
    return f"w-{secrets.token_hex(4)}"


def propose(house: House, values: dict[str, Any], *, who: str, worksheet_id: str | None = None) -> str:
    """Opens a worksheet for “turn on MTP for …”; returns its id. One that is there already stays. Raises InvalidInput, NotFound."""
    worksheet_id = worksheet_id or new_worksheet_id()
    if house.store.worksheets.get(worksheet_id):
        return worksheet_id
    proposal = _checked_with_name(values, who)
    box = house.box(proposal.box_id)
    house.workload(proposal.workload_id)
    known = model_names(house, box)
    if proposal.model not in known:
        raise NotFound("model", proposal.model, known)
    if box.engine(proposal.engine_id) is None:
        raise NotFound("engine", proposal.engine_id, [engine.id for engine in box.engines])
    row = {
        "worksheet_id": worksheet_id,
        "title": proposal.title,
        "body": proposal.model_dump(),
        "created_by": who.strip(),
        "created_at": house.clock.now(),
    }
    house.store.worksheets.insert(row)
    return worksheet_id


def _checked_with_name(values: dict[str, Any], who: str) -> Proposal:
    """The proposal; problems of the form and of the name come together."""
    problems: dict[str, str] = {}
    for model, given in ((Proposal, values), (Note, {"text": "", "by": who})):
        try:
            checked(model, given)
        except InvalidInput as error:
            problems |= error.problems
    if problems:
        raise InvalidInput(problems)
    return checked(Proposal, values)


def list_worksheets(house: House) -> list[dict[str, Any]]:
    """Every worksheet, newest first, with its newest run and its decision: {worksheet, run, decision}; None where there is none."""
    newest: dict[str, dict[str, Any]] = {}
    for run in house.store.runs.find():
        newest.setdefault(run["worksheet_id"] or "", run)
    decided = {entry["worksheet_id"]: entry for entry in house.store.decisions.all()}
    return [
        {"worksheet": row, "run": newest.get(row["worksheet_id"]), "decision": decided.get(row["worksheet_id"])}
        for row in house.store.worksheets.all()
    ]


def get_worksheet(house: House, worksheet_id: str) -> dict[str, Any]:
    """The worksheet's row; raises NotFound."""
    row = house.store.worksheets.get(worksheet_id)
    if row is None:
        raise NotFound("worksheet", worksheet_id, [one["worksheet_id"] for one in house.store.worksheets.all()[:10]])
    return row


def sweep_values(worksheet: dict[str, Any]) -> dict[str, Any]:
    """The sweep this worksheet asks for, as the form of `start_run`."""
    return {**worksheet["body"], "worksheet_id": worksheet["worksheet_id"]}


def evidence_of(house: House, worksheet: dict[str, Any], *, owner: str | None = None) -> Evidence:
    """Everything measured and typed for a worksheet, from its newest finished run (else its newest run)."""
    if worksheet["body"].get("reference"):
        return evidence_from_reference(house, worksheet, owner=owner)
    typed = current(house.store.worksheets.entries(worksheet["worksheet_id"]))
    runs = house.store.runs.find(worksheet_id=worksheet["worksheet_id"])
    run = next((one for one in runs if one["state"] == DONE), runs[0] if runs else None)
    asked = worksheet["body"]
    if run is None:
        return Evidence(asked, typed=typed, owner=owner)
    cells = house.store.cells.of_run(run["run_id"])
    steps = {cell["n_max"]: cell for cell in cells if cell["c"] == 1}
    chosen = _candidate_n(steps, typed, asked.get("repetitions", 3))
    finished: dict[str, Any] = next((event["body"] for event in house.store.runs.events(run["run_id"], kinds=("run_finished",))), {})
    baseline, candidate = (_side(house, run, cells, n, asked["production_c"]) for n in (0, chosen))
    unwanted = None
    if baseline.recipe and candidate.recipe:
        unwanted = unwanted_differences(baseline.recipe, candidate.recipe)
    return Evidence(
        asked,
        run["run_id"],
        run["state"],
        finished.get("drifted"),
        finished.get("stop"),
        baseline,
        candidate,
        steps,
        typed,
        unwanted,
        owner,
    )


def _candidate_n(steps: dict[int, dict[str, Any]], typed: dict[tuple[str, str], dict[str, Any]], planned: int) -> int | None:
    """The candidate's n: the one a person chose, else the winner, else (off wins) the smallest n measured."""
    measured = sorted(n for n, cell in steps.items() if n and cell["n"])
    chosen = typed.get(("n_max", "candidate"), {}).get("value")
    if chosen in measured:
        return int(chosen)
    return winner_of({n: cell["rates"] for n, cell in steps.items() if cell["n"]}, planned) or (measured[0] if measured else None)


def _side(house: House, run: dict[str, Any], cells: list[dict[str, Any]], n_max: int | None, production_c: int) -> Side:
    mine = {cell["c"]: cell for cell in cells if cell["n_max"] == n_max}
    single = mine.get(1)
    if n_max is None or single is None:
        return Side()
    preflight: dict[str, Any] = next((e["body"] for e in house.store.runs.events(run["run_id"], kinds=("preflight",))), {})
    text = preflight.get("engine", {}).get("version_text", "")
    build, commit = read_version(text)
    servers = [row for row in house.store.cells.servers(run["run_id"]) if (row["n_max"], row["c"]) == (n_max, 1)]
    logs = [one for one in readings_of_arm(house, run["run_id"], n_max, 1) if one["values"]]
    shares = [s["per_position"] for s in house.store.cells.samples(run["run_id"], n_max=n_max, c=1) if s["per_position"] and s["counted"]]
    return Side(
        n_max=n_max,
        engine={"build": build, "commit": commit, "version_text": text},
        artifact=preflight.get("artifact"),
        placement=servers[-1]["placement"] if servers else None,
        recipe=house.store.cells.recipe(single["recipe_id"]),
        single=single,
        production=mine.get(production_c),
        per_position=[sum(column) / len(shares) for column in zip(*shares, strict=False)] if shares else None,
        log={"name": logs[-1]["name"], **logs[-1]["values"]} if logs else None,
    )


def show_worksheet(house: House, worksheet_id: str, *, owner: str | None = None) -> dict[str, Any]:
    """What its page shows: {worksheet, fields, gates, suggestion, steps, candidate_n, flips, price, runs, decisions, run_id, …}."""
    worksheet = get_worksheet(house, worksheet_id)
    decisions = [one for one in house.store.decisions.all() if one["worksheet_id"] == worksheet_id]
    evidence = evidence_of(house, worksheet, owner=decisions[-1]["owner"] if decisions else owner)
    fields = fields_for(evidence)
    if decisions:
        fields = [{**row, **_decided(decisions[-1])} if row["key"] == "decision" else row for row in fields]
    return {
        "worksheet": worksheet,
        "fields": fields,
        "gates": gates_of(evidence),
        "suggestion": suggestion_for(evidence),
        "steps": evidence.steps,
        "candidate_n": evidence.candidate.n_max,
        "flips": flips_at_production(evidence),
        "price": price_for(evidence),
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
    note = checked(Note, {"text": text, "by": by})
    if side != "note" and field not in TYPED_FIELDS[1:]:
        raise InvalidInput({"field": "is filled from runs; add a note instead."})
    if side != "note" and not note.text:
        raise InvalidInput({"text": "is needed."})
    return add_entry(house, worksheet_id, field, side, note.text, by=by, over=over)


def choose_n_max(house: House, worksheet_id: str, n_max: int, *, by: str) -> None:
    """Lets the candidate column show another measured n. Raises InvalidInput when it was not measured."""
    evidence = evidence_of(house, get_worksheet(house, worksheet_id))
    measured = sorted(n for n, cell in evidence.steps.items() if n and cell["n"])
    if n_max not in measured:
        raise InvalidInput({"n_max": f"has to be one of the measured ones: {', '.join(map(str, measured)) or 'none yet'}."})
    add_entry(house, worksheet_id, "n_max", "candidate", n_max, by=by)


def add_entry(house: House, worksheet_id: str, field: str, side: str, value: Any, *, by: str, over: int | None = None) -> dict[str, Any]:
    """One revision of a field and side, by name. A decided worksheet takes no more. Raises InvalidInput, NotFound, DecisionRefused."""
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
