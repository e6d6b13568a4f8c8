"""Doors of `/api/v1` to worksheets and the ledger of decisions."""

from __future__ import annotations

from core.api.door import Answer, ApiDoor, Call
from core.api.orders import CommentOrder, LengthChoice, SuiteEntry, TextEntry, WithdrawOrder, Witness
from core.domain.decision import DecisionForm
from core.domain.forms import checked
from core.domain.run import Proposal
from core.services import worksheets
from core.services.decision_chain import chain_problem
from core.services.decisions import decide, draft_decision, list_decisions, withdraw
from core.services.house import House
from core.services.ledger_check import verify_ledger
from core.services.reference_sheets import propose_from_reference
from core.services.worksheet_edits import comment, comments_of
from core.services.worksheet_json import worksheet_json


def _worksheets(house: House, call: Call) -> Answer:
    return {"worksheets": [row["worksheet"] for row in worksheets.list_worksheets(house)]}


def _worksheet(house: House, call: Call) -> Answer:
    own = call.path["worksheet_id"]
    return {**worksheet_json(house, own), "worksheet": worksheets.get_worksheet(house, own), "comments": comments_of(house, own)}


def _propose(house: House, call: Call) -> Answer:
    return {"worksheet_id": worksheets.propose(house, call.body, who=house.actor.name)}


def _over_reference(house: House, call: Call) -> Answer:
    new_id = worksheets.new_worksheet_id()
    return {"worksheet_id": propose_from_reference(house, call.path["row"], who=house.actor.name, worksheet_id=new_id)}


def _type(house: House, call: Call) -> Answer:
    form = checked(TextEntry, call.body)
    return worksheets.type_text(house, call.path["worksheet_id"], form.field, form.side, form.text, by=house.actor.name)


def _suite(house: House, call: Call) -> Answer:
    form = checked(SuiteEntry, call.body)
    scores = form.model_dump(exclude={"side"})
    return worksheets.type_suite(house, call.path["worksheet_id"], form.side, scores, by=house.actor.name)


def _choose(house: House, call: Call) -> Answer:
    n_max = checked(LengthChoice, call.body).n_max
    worksheets.choose_n_max(house, call.path["worksheet_id"], n_max, by=house.actor.name)
    return {"n_max": n_max}


def _comment(house: House, call: Call) -> Answer:
    comment(house, call.path["worksheet_id"], checked(CommentOrder, call.body).text, by=house.actor.name)
    return {"added": True}


def _ledger(house: House, call: Call) -> Answer:
    return {"decisions": list_decisions(house), "first_bad": chain_problem(house)}


def _preview(house: House, call: Call) -> Answer:
    draft = draft_decision(house, call.body)
    return {"text": draft.text, "sha256": draft.sha256, "against_suggestion": draft.is_against}


def _decide(house: House, call: Call) -> Answer:
    return decide(house, call.body)


def _withdraw(house: House, call: Call) -> Answer:
    form = checked(WithdrawOrder, call.body)
    return withdraw(house, {**form.model_dump(), "number": call.path["number"]})


def _verify(house: House, call: Call) -> Answer:
    return verify_ledger(house, witness=checked(Witness, call.body).witness)


SHEET_DOORS = (
    ApiDoor("GET", "/worksheets", "see", "Worksheets, newest first.", _worksheets),
    ApiDoor("GET", "/worksheets/{worksheet_id}", "see", "One worksheet: fields, gates, suggestion, price, decisions.", _worksheet),
    ApiDoor("POST", "/worksheets", "work.propose", "Propose a change.", _propose, body=Proposal),
    ApiDoor("POST", "/references/{row}/worksheets", "work.propose", "Open a worksheet over a published reference row.", _over_reference),
    ApiDoor("POST", "/worksheets/{worksheet_id}/entries", "work.type", "Type a value or a note.", _type, body=TextEntry),
    ApiDoor("POST", "/worksheets/{worksheet_id}/suites", "work.type", "Type a suite's scores of one side.", _suite, body=SuiteEntry),
    ApiDoor("POST", "/worksheets/{worksheet_id}/n-max", "work.type", "Choose the measured n_max to decide on.", _choose, body=LengthChoice),
    ApiDoor("POST", "/worksheets/{worksheet_id}/comments", "work.comment", "Comment.", _comment, body=CommentOrder),
    ApiDoor("GET", "/ledger", "see", "Decisions, newest first, and whether their chain holds.", _ledger),
    ApiDoor("POST", "/ledger/preview", "see", "What would be signed, with its hash; nothing is.", _preview, body=DecisionForm),
    ApiDoor("POST", "/ledger", "decision.take", "Keep or reject.", _decide, body=DecisionForm),
    ApiDoor("POST", "/ledger/{number}/withdraw", "decision.take", "Take a decision back by a new entry.", _withdraw, body=WithdrawOrder),
    ApiDoor("POST", "/verify-ledger", "see", "Prove or disprove the chain of decisions.", _verify, body=Witness),
)
