"""The chain of decisions, the journal and witnesses: what is changed, moved or lost is found and named."""

from __future__ import annotations

import json

import pytest

from core.domain.chain import Head, chained, entries_in, first_problem, heads_in, verified
from core.domain.recipe import canonical


def ledger(count: int) -> list[dict]:
    rows, prev = [], ""
    for number in range(1, count + 1):
        body = {"worksheet_id": f"w-{number}", "verdict": "reject", "action": "disable", "owner": "Ada", "reason": "×", "at": "2026-11-29"}
        rows.append(chained(number, prev, {**body, "details": {"supersedes": None}, "evidence": {"figures": [22.0, None, number]}}))
        prev = rows[-1]["sha"]
    return rows


ROWS = ledger(3)


def journal(rows: list[dict]) -> list[dict]:
    return entries_in([canonical(row) for row in rows])


def test_a_whole_ledger_holds() -> None:
    assert verified(ROWS, journal(ROWS), None) == {
        "ok": True, "entries": 3, "first_bad": None, "why": "", "head": ROWS[2]["sha"], "proves": None,
    }  # fmt: skip
    assert verified([], None, None)["ok"] and verified([], [], None)["ok"]


@pytest.mark.parametrize(
    "column", ["worksheet_id", "verdict", "action", "owner", "reason", "at", "details", "evidence", "prev", "sha", "number"]
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_any_changed_column_is_found_at_its_entry(column: str, place: int) -> None:
    rows = [{**row, column: {"x": 1} if column in ("details", "evidence") else 9 if column == "number" else "x"} if at == place else row
            for at, row in enumerate(ROWS)]  # fmt: skip
    number, why = first_problem(rows)
    assert number == place + 1 and str(number) in why


def test_changed_order_and_a_lost_middle_entry_are_found() -> None:
    assert first_problem([ROWS[1], ROWS[0], ROWS[2]])[0] == 1
    assert first_problem([ROWS[0], ROWS[2]])[0] == 2


def test_a_lost_last_entry_shows_against_the_journal_and_against_a_witness_only() -> None:
    short = ROWS[:2]
    assert first_problem(short) == (None, "")
    found = verified(short, journal(ROWS), None)
    assert (found["ok"], found["first_bad"]) == (False, 3) and "decisions.jsonl" in found["why"]
    found = verified(short, journal(short), [Head(ROWS[2]["sha"])])
    assert (found["ok"], found["first_bad"]) == (False, 3) and "witness" in found["why"]
    assert verified([], journal(ROWS), None)["first_bad"] == 1
    assert verified([], None, [Head(ROWS[0]["sha"], 1)])["first_bad"] == 1


def test_decisions_without_journal_and_witness_are_not_ok() -> None:
    found = verified(ROWS, None, None)
    assert not found["ok"] and found["first_bad"] is None and "no witness" in found["why"]
    found = verified(ROWS, None, [Head(ROWS[1]["sha"])])
    assert found["ok"] and found["proves"] == 2


def test_a_ledger_written_anew_from_one_entry_on_contradicts_journal_and_witness() -> None:
    other = [ROWS[0], chained(2, ROWS[0]["sha"], {"worksheet_id": "w-2", "evidence": {}}), *()]
    assert first_problem(other) == (None, "")
    assert verified(other, journal(ROWS), None)["first_bad"] == 2
    assert verified(other, journal(other), [Head(ROWS[1]["sha"], 2)])["first_bad"] == 2
    assert verified(ROWS, journal([ROWS[0], ROWS[2]]), None)["first_bad"] == 2


def test_a_cut_line_of_the_journal_is_no_entry() -> None:
    lines = [canonical(ROWS[0]), canonical(ROWS[1])[:40], canonical(ROWS[1]), "", "[1]", '{"number": "1"}']
    assert entries_in(lines) == ROWS[:2]


def test_heads_are_read_out_of_every_kind_of_witness() -> None:
    first, second = (Head(row["sha"], row["number"]) for row in ROWS[:2])
    assert heads_in("\n".join(canonical(row) for row in ROWS[:2])) == [first, second]
    assert heads_in(json.dumps({"run_id": "ab" * 16, "decision_head": first.sha, "prompts": [{"sha256": "f" * 64}]})) == [Head(first.sha)]
    events = [{"seq": 1, "kind": "run_started", "decision_head": second.sha, "sha": "e" * 64}, {"seq": 2, "sha": "d" * 64}]
    assert heads_in("\n".join(map(json.dumps, events))) == [Head(second.sha)]
    assert heads_in(f"2 {second.sha}\n{first.sha}\n") == [second, Head(first.sha)]
    assert heads_in('{"decision_head": ""}') == [] and heads_in("nothing here") == [] and heads_in("") == []
