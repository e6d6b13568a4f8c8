"""Decisions over a real store and archive: signed once, superseded, withdrawn, frozen, adopted after a crash, refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.domain.recipe import canonical, digest
from core.errors import DecisionRefused, InvalidInput, NotFound, StoreError
from core.services.decision_chain import chain_problem, chain_rows
from core.services.decisions import decide, draft_decision, withdraw
from core.services.ledger import ledger_entry_of, summary_of
from core.services.ledger_check import verify_ledger
from core.services.worksheets import propose, show_worksheet, type_suite
from core.store.decisions import DuckDecisions
from tests.fakes.measured_run import write_run

ASKED = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
GOOD = {"production": {1: [50, 51, 52], 0: [40, 41, 42]}}


def measured(house, **run):
    sheet = propose(house, {**ASKED, "production_c": 4}, who="Ada")
    write_run(house, worksheet_id=sheet, model="made-moe", workload_id="chat-short", **{**GOOD, **run})
    for side, scores in (("baseline", [50.0, 52.0]), ("candidate", [48.0, 51.0])):
        type_suite(house, sheet, side, {"suite": "tools", "scores": scores}, by="Bo")
    return sheet


def keep(sheet, **more):
    return {"worksheet_id": sheet, "verdict": "keep", "owner": "Ada", "reason": "it pays", **more}


def reject(sheet, **more):
    return {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", "against_why": "sold", **more}


def test_a_keep_holds_everything_it_rests_on(house):
    sheet = measured(house)
    entry = decide(house, keep(sheet))
    details, evidence = entry["details"], entry["evidence"]
    assert (entry["action"], details["n_max"], details["dominant"], details["supersedes"], details["revision"]) == (
        "keep",
        1,
        "verify",
        None,
        2,
    )
    assert details["age_days"] == 180 and details["stale_when"][0] == "engine build" and len(details["stale_when"]) == 8
    assert evidence["facts"]["engine build"] == "b10473 (abc1234)" and evidence["facts"]["slots"] == 4
    assert len([one for one in evidence["samples"] if one["counted"]]) == 18 and evidence["run_head"]["run_id"] == evidence["run_id"]
    assert all(gate["state"] == "pass" for gate in evidence["gates"]) and len(evidence["gates"]) == 13
    (kept,) = chain_rows(house)
    assert digest(kept["evidence"]) == entry["evidence_sha256"] and kept["sha"] == entry["sha"]
    assert house.archive.snapshot(entry["evidence_sha256"]) == canonical(kept["evidence"])
    assert json.loads(house.archive.decision_lines()[0]) == kept
    assert verify_ledger(house)["ok"]


def test_what_was_seen_is_what_is_signed(house):
    sheet = measured(house)
    draft = draft_decision(house, keep(sheet))
    assert draft_decision(house, keep(sheet)).sha256 == draft.sha256
    type_suite(house, sheet, "candidate", {"suite": "tools", "scores": [47.0, 51.0]}, by="Cy")
    with pytest.raises(DecisionRefused, match="has changed since"):
        decide(house, keep(sheet, seen_sha256=draft.sha256))
    assert house.store.decisions.all() == [] and house.archive.decision_lines() is None
    entry = decide(house, keep(sheet, seen_sha256=draft_decision(house, keep(sheet)).sha256))
    assert entry["details"]["signed_sha256"] != draft.sha256


def test_a_second_click_returns_the_entry_that_is_there(house):
    sheet = measured(house)
    first, second = (decide(house, keep(sheet, sign_id="ab" * 16)) for _ in range(2))
    assert first["sha"] == second["sha"] and len(house.store.decisions.all()) == 1


def test_a_line_in_a_reason_cannot_forge_a_line_of_the_text(house):
    sheet = measured(house)
    text = draft_decision(house, reject(sheet, reason='no"\nowner             "Eve"')).text
    assert [line for line in text.splitlines() if line.startswith("owner")] == ['owner             "Ada"']


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"owner": ""}, "owner"), ({"owner": " \t "}, "owner"), ({"owner": "\u200b"}, "owner"), ({"owner": "a\nb"}, "owner"),
        ({"reason": ""}, "reason"), ({"reason": " \n"}, "reason"), ({"reason": "r" * 20_000}, "reason"),
        ({"against_why": ""}, "against_why"),
        ({"age_days": 0}, "age_days"), ({"age_days": "soon"}, "age_days"), ({"stale_when": ["weather"]}, "stale_when.0"),
        ({"action": "keep"}, "action"), ({"second": " aDa"}, "second"), ({"second": "Ａｄａ"}, "second"), ({"verdict": "maybe"}, "verdict"),
        ({"old": {"label": ""}}, "old.label"), ({"old": {"label": "x", "tok_s_min": "nan"}}, "old.tok_s_min"), ({"who": "x"}, "who"),
    ],
)  # fmt: skip
def test_bad_words_are_named_and_nothing_is_recorded(house, form, field):
    sheet = measured(house)
    with pytest.raises(InvalidInput) as caught:
        decide(house, reject(sheet, **form))
    assert list(caught.value.problems) == [field]
    assert house.store.decisions.all() == [] and house.archive.decision_lines() is None


def test_a_second_person_where_the_team_asks_for_one(house):
    sheet, team = measured(house), replace(house, second_person=True)
    with pytest.raises(InvalidInput) as caught:
        decide(team, reject(sheet))
    assert list(caught.value.problems) == ["second"]
    assert decide(team, reject(sheet, second="Bo"))["details"]["second"] == "Bo"
    assert decide(team, keep(sheet))["details"]["supersedes"] == 1


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"drifted": True}, "no drift"),
        ({"state": "cancelled"}, "did not finish"),
        ({"failed": {1: "out of memory"}, "rates": {0: [22.0, 22.2, 22.4]}, "production": None}, "re-bench at production"),
        ({"rates": {0: [22.0, 22.2, 22.4], 1: [18.0, 18.1, 18.2]}, "production": {1: [30, 31, 32], 0: [40, 41, 42]}}, "beats baseline"),
    ],
)
def test_keep_is_refused_on_drifted_failed_unfinished_and_losing_runs(house, run, why):
    sheet = measured(house, **run)
    with pytest.raises(DecisionRefused, match=why):
        decide(house, keep(sheet))
    assert decide(house, reject(sheet))["verdict"] == "reject"


def test_a_cell_that_fails_its_gate_carries_no_keep(house, monkeypatch):
    from core.domain.cell_gate import Condition
    from core.services import decisions

    sheet = measured(house)
    failed = {"n=1 at c=4": [Condition("not_cached", "no cached prompt tokens", "fail", "12 prompt tokens came from a cache.")]}
    monkeypatch.setattr(decisions, "cell_conditions", lambda *_: failed)
    with pytest.raises(DecisionRefused, match="12 prompt tokens came from a cache"):
        decide(house, keep(sheet))


def test_a_later_decision_supersedes_and_a_withdrawal_is_an_entry(house):
    sheet = measured(house)
    decide(house, keep(sheet))
    decide(house, reject(sheet))
    assert [ledger_entry_of(house, number)["standing"] for number in (1, 2)] == ["superseded by 2", "in force"]
    with pytest.raises(DecisionRefused, match="superseded by 2"):
        withdraw(house, {"number": 1, "owner": "Bo", "reason": "x"})
    with pytest.raises(InvalidInput):
        withdraw(house, {"number": 2, "owner": "Bo", "reason": "  "})
    with pytest.raises(NotFound):
        withdraw(house, {"number": 9, "owner": "Bo", "reason": "x"})
    with pytest.raises(DecisionRefused, match="closed|decided"):
        type_suite(house, sheet, "candidate", {"suite": "tools", "scores": [1.0, 2.0]}, by="Cy")
    first, second = (withdraw(house, {"number": 2, "owner": "Bo", "reason": "too soon", "sign_id": "cd" * 16}) for _ in range(2))
    assert first["sha"] == second["sha"] and ledger_entry_of(house, 2)["standing"] == "withdrawn by 3"
    type_suite(house, sheet, "candidate", {"suite": "tools", "scores": [49.0, 51.0]}, by="Cy")
    assert decide(house, keep(sheet))["number"] == 4 and chain_problem(house) is None
    assert [one["number"] for one in show_worksheet(house, sheet)["decisions"]] == [1, 2, 3, 4]


def test_an_unpriced_worksheet_is_rejected_as_not_priced(house):
    sheet = propose(house, ASKED, who="Ada")
    entry = decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no box"})
    assert (entry["action"], entry["details"]["n_max"], entry["details"]["dominant"]) == ("not priced", None, None)


def test_the_journal_goes_first_and_what_a_crash_left_there_is_taken_in(house, monkeypatch):
    sheet = measured(house)
    real = DuckDecisions.append

    def dies(self, entry):
        raise StoreError("the disk is gone")

    monkeypatch.setattr(DuckDecisions, "append", dies)
    with pytest.raises(StoreError):
        decide(house, keep(sheet, sign_id="ef" * 16))
    assert verify_ledger(house)["first_bad"] == 1
    monkeypatch.setattr(DuckDecisions, "append", real)
    entry = decide(house, keep(sheet, sign_id="ef" * 16))
    assert entry["number"] == 1 and len(house.store.decisions.all()) == 1 and verify_ledger(house)["ok"]


def test_a_cut_line_in_the_journal_does_not_spoil_the_next(house, settings):
    sheet = measured(house)
    decide(house, keep(sheet))
    with (settings.beside / "decisions.jsonl").open("a") as handle:
        handle.write('{"number": 2, "sha": "ab')
    decide(house, reject(sheet))
    assert verify_ledger(house) == {**verify_ledger(house), "ok": True, "entries": 2}


def test_without_a_journal_nothing_is_decided(house, settings):
    sheet = measured(house)
    (settings.beside / "decisions.jsonl").mkdir()
    with pytest.raises(StoreError, match="Nothing was decided|cannot be"):
        decide(house, keep(sheet))
    assert house.store.decisions.all() == []


def test_the_old_recipe_has_its_own_deltas(house):
    run_id = write_run(house, model="made-dense")
    sheet = measured(house)
    typed = {"label": "IQ3", "tok_s_min": 21, "tok_s_max": 22.5, "scores": [40, 44], "failure_modes": "none"}
    by_cell = {"label": "old", "cell_id": f"{run_id}-1-1"}
    first, second = (summary_of(decide(house, keep(sheet, old=old))) for old in (typed, by_cell))
    speed = {one["name"]: one for one in first["old_deltas"]}
    assert (speed["speed"]["before"], speed["quality"]["change"]) == ("21.0–22.5 tok/s", "median +7.5, suite noise ±10: within it")
    assert {one["name"]: one for one in first["deltas"]}["speed"]["before"] == "40.0–42.0 tok/s"
    assert second["old"]["provenance"] == "measured" and second["old_deltas"][1]["before"] == "26.1–26.5 tok/s"
    with pytest.raises(NotFound):
        decide(house, keep(sheet, old={"label": "x", "cell_id": "nothing"}))
