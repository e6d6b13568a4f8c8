"""The three worked decisions, entered as worksheets from the published rows: the rules' suggestions come out, and keep is refused."""

from __future__ import annotations

import pytest

from core.errors import DecisionRefused, InvalidInput, NotFound
from core.services.decisions import decide
from core.services.ledger import ledger_entry_of, recheck, summary_of
from core.services.ledger_check import verify_ledger
from core.services.reference_sheets import propose_from_reference
from core.services.worksheets import choose_n_max, list_worksheets, show_worksheet


def sheet_of(house, row):
    return propose_from_reference(house, row, who="Ada", worksheet_id=f"w-{row}")


@pytest.mark.parametrize(
    ("row", "action", "n_max", "speedup", "said"),
    [
        ("qwen-27b-q8", "widen", 3, 2.196, "its last position was not recorded"),
        ("deepseek-q3-10", "keep", 1, 1.298, "n_max 1 is the fastest"),
        ("deepseek-q8-24", "disable", 0, 0.860, "No draft can win at n_max 3: it would need 100.8%"),
        ("deepseek-q8-14", "keep", 1, 1.185, "n_max 1 is the fastest"),
    ],
)
def test_the_suggestions_come_out_and_keep_is_refused(house, row, action, n_max, speedup, said):
    sheet = sheet_of(house, row)
    view = show_worksheet(house, sheet)
    assert (view["suggestion"]["action"], view["suggestion"]["n_max"]) == (action, n_max) and said in view["suggestion"]["text"]
    assert round(view["price"].speedup, 3) == speedup
    with pytest.raises(DecisionRefused, match="The figures are transcribed"):
        decide(house, {"worksheet_id": sheet, "verdict": "keep", "owner": "Ada", "reason": "x", "against_why": "y"})
    entry = decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "x", "against_why": "not ours"})
    assert entry["action"] == ("disable" if action == "disable" else "not priced")
    assert verify_ledger(house)["ok"]


def test_every_figure_says_that_it_is_transcribed(house):
    fields = {row["key"]: row for row in show_worksheet(house, sheet_of(house, "deepseek-q8-24"))["fields"]}
    decode, a, spill = (fields[key]["candidate"] for key in ("decode", "accepted_length", "spill"))
    assert (decode["text"], decode["provenance"], decode["cell_id"]) == ("16.6–16.6 (1)", "transcribed", "published~deepseek-q8-24~3")
    assert a["text"] == "3.46 tokens per step, from 82% of proposed (denominator assumed)"
    assert (spill["text"], spill["state"]) == ("24 layers spilled, as published", "not_recorded")
    assert {fields[key]["candidate"]["state"] for key in ("suite", "production", "fit")} == {"not_run"}
    qwen = {row["key"]: row for row in show_worksheet(house, sheet_of(house, "qwen-27b-q8"))["fields"]}
    assert qwen["accepted_length"]["candidate"]["state"] == "not_recorded"


def test_another_published_n_may_stand_as_the_candidate(house):
    sheet = sheet_of(house, "deepseek-q8-14")
    choose_n_max(house, sheet, 3, by="Ada")
    view = show_worksheet(house, sheet)
    assert (view["candidate_n"], view["suggestion"]["action"], view["suggestion"]["n_max"]) == (3, "narrow", 1)
    assert round(view["price"].break_even_accept_share, 3) == 0.981


def test_the_entry_keeps_the_losing_cells_and_can_be_looked_at_again(house):
    sheet = sheet_of(house, "deepseek-q3-10")
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "x", "against_why": "y"})
    summary = summary_of(ledger_entry_of(house, 1))
    assert [(cell["n_max"], cell["provenance"]) for cell in summary["losing"]] == [(2, "transcribed")]
    assert ledger_entry_of(house, 1)["stale"] == []
    assert recheck(house, 1, who="Bo", worksheet_id="w-2") == "w-2" and len(list_worksheets(house)) == 2


def test_unknown_rows_and_nameless_people_are_refused(house):
    with pytest.raises(NotFound, match="reference row"):
        propose_from_reference(house, "gpt", who="Ada", worksheet_id="w-x")
    with pytest.raises(InvalidInput):
        propose_from_reference(house, "qwen-27b-q8", who="  ", worksheet_id="w-x")
