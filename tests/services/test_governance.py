"""What a decision is held to: a broken chain takes none, two deciders see one another, clocks and later versions change nothing in it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from core.domain import decision as rules
from core.domain.chain import chained
from core.errors import DecisionRefused
from core.services import decisions
from core.services.decision_chain import chain_problem, chain_rows
from core.services.decisions import decide, draft_decision, withdraw
from core.services.ledger import ledger_entries, ledger_entry_of, summary_of
from core.services.ledger_check import verify_ledger
from core.store.decisions import DuckDecisions
from tests.fakes.measured_run import START, write_run
from tests.services.test_decisions import keep, measured, reject


@pytest.mark.parametrize("change", [{"reason": "other"}, None], ids=str)
def test_g01_on_a_broken_chain_nothing_is_signed_and_everything_can_be_read(house, monkeypatch, change):
    sheet = measured(house)
    decide(house, reject(sheet))
    decide(house, reject(measured(house), reason="second"))
    real = DuckDecisions.chain
    monkeypatch.setattr(
        DuckDecisions,
        "chain",
        lambda self: [{**row, **change} if row["number"] == 1 else row for row in real(self)] if change else real(self)[1:],
    )
    before = house.archive.decision_lines()
    for work in (lambda: decide(house, keep(sheet)), lambda: withdraw(house, {"number": 2, "owner": "Ada", "reason": "x"})):
        with pytest.raises(DecisionRefused, match="chain of decisions is broken.*Nothing was signed"):
            work()
    assert house.archive.decision_lines() == before and not verify_ledger(house)["ok"]
    assert [entry["reason"] for entry in ledger_entries(house)] == ["second", "no"], "reading goes on"
    monkeypatch.setattr(DuckDecisions, "chain", real)
    assert decide(house, keep(sheet))["number"] == 3 and verify_ledger(house)["ok"]


def test_g01_a_journal_that_says_otherwise_stops_deciding_too(house, settings):
    sheet = measured(house)
    decide(house, reject(sheet))
    journal = settings.beside / "decisions.jsonl"
    whole = journal.read_text()
    journal.write_text(whole.replace('"reason":"no"', '"reason":"yes"'))
    with pytest.raises(DecisionRefused, match="reads differently in decisions.jsonl"):
        decide(house, keep(sheet))
    journal.write_text(whole)
    assert decide(house, keep(sheet))["number"] == 2


def test_g03_a_chain_rewritten_as_a_whole_fits_itself_and_no_witness(house, settings, monkeypatch):
    """The one who owns the machine rewrites rows, journal and snapshots consistently; a head that lies elsewhere shows it."""
    decide(house, reject(measured(house)))
    decide(house, reject(measured(house), reason="second"))
    witness = json.dumps({"decision_head": chain_rows(house)[1]["sha"]})
    forged, prev = [], ""
    for row in chain_rows(house):
        body = {key: value for key, value in row.items() if key not in ("number", "prev", "sha", "evidence_sha256")}
        forged.append(chained(row["number"], prev, {**body, "reason": f"forged {row['number']}"}))
        prev = forged[-1]["sha"]
    (settings.beside / "decisions.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in forged))
    real = DuckDecisions.chain
    by_number = {entry["number"]: entry for entry in forged}
    monkeypatch.setattr(DuckDecisions, "chain", lambda self: [{**row, **by_number[row["number"]]} for row in _without_at(real(self))])
    monkeypatch.setattr("core.services.ledger_check.chain_rows", lambda _: forged)
    assert verify_ledger(house)["ok"], "by itself it fits: this is why heads lie on boxes and in exports"
    found = verify_ledger(house, witness=witness)
    assert not found["ok"] and "witness saw entry" in found["why"]


def _without_at(rows):
    return [{key: value for key, value in row.items() if key != "at"} for row in rows]


def test_g05_what_is_measured_afterwards_changes_nothing_in_a_decision_and_is_shown_beside_it(house):
    sheet = measured(house)
    entry = decide(house, keep(sheet))
    was = summary_of(ledger_entry_of(house, 1))["cells"]
    write_run(
        house, worksheet_id=sheet, model="made-moe", workload_id="chat-short", rates={0: [30, 31, 32], 1: [20, 21, 22]},
        production={1: [30, 31, 32], 0: [60, 61, 62]}, created_at=START + timedelta(hours=5),
        recipe={"engine": {"kind": "llama.cpp", "build": 11000, "commit": "fffffff"}},
    )  # fmt: skip
    now = ledger_entry_of(house, 1)
    assert summary_of(now)["cells"] == was and now["evidence"] == entry["evidence"] and now["sha"] == entry["sha"]
    assert chain_problem(house) is None


def test_g07_a_later_version_of_the_formulas_leaves_it_as_it_was_computed(house, monkeypatch):
    decide(house, keep(measured(house)))
    was = ledger_entry_of(house, 1)
    monkeypatch.setattr(rules, "FORMULAS", "2")
    monkeypatch.setattr(decisions, "FORMULAS", "2")
    monkeypatch.setattr("core.services.frozen.FORMULAS", "2")
    monkeypatch.setattr("core.services.frozen.gates_of", lambda evidence: [])
    now = ledger_entry_of(house, 1)
    assert now == was and len(now["evidence"]["gates"]) == 13 and now["details"]["formulas"] == now["evidence"]["formulas"] == "1"
    later = decide(house, reject(measured(house), reason="later"))
    assert later["details"]["formulas"] == "2" and later["evidence"]["formulas"] == "2" and verify_ledger(house)["ok"]


def test_g09_of_two_deciders_the_second_reads_what_the_first_did_before_it_counts(house):
    sheet = measured(house)
    mine, theirs = (draft_decision(house, words) for words in (keep(sheet), reject(sheet)))
    decide(house, keep(sheet, seen_sha256=mine.sha256))
    with pytest.raises(DecisionRefused, match="has changed since this text was shown"):
        decide(house, reject(sheet, seen_sha256=theirs.sha256))
    again = draft_decision(house, reject(sheet))
    assert "supersedes entry" in again.text and again.sha256 != theirs.sha256
    entry = decide(house, reject(sheet, seen_sha256=again.sha256))
    assert entry["details"]["supersedes"] == 1
    assert [one["standing"] for one in ledger_entries(house)] == ["in force", "superseded by 2"] and verify_ledger(house)["ok"]


def test_g10_a_clock_that_goes_back_changes_no_order(house):
    class Back(type(house.clock)):
        def now(self):
            return house.clock.now() - timedelta(days=400)

    decide(house, keep(measured(house)))
    earlier = replace(house, clock=Back())
    decide(earlier, reject(measured(house), reason="the second"))
    first, second = (entry["noted_at"] for entry in reversed(ledger_entries(house)))
    assert second < first and [entry["number"] for entry in ledger_entries(house)] == [2, 1]
    assert verify_ledger(house)["ok"] and verify_ledger(house)["entries"] == 2
