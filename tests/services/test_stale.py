"""A decision goes stale by nothing but a newer run, or its age; keeps and rejections alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.ports.clock import Clock
from core.services.decisions import decide, withdraw
from core.services.ledger import ledger_entries, ledger_entry_of, recheck
from core.services.worksheets import get_worksheet, propose, show_worksheet
from tests.fakes.measured_run import PLACEMENT, write_run

ASKED = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
LATER = datetime.now(UTC) + timedelta(hours=1)
CARD = {"name": "H100", "driver": "550.1", "memory_mib": 80000}


def gpu(**changes):
    return {"state": "present", "why": "", "list": [{**CARD, **changes}]}


class Later(Clock):
    def __init__(self, days):
        self._days = days

    def now(self):
        return datetime.now(UTC) + timedelta(days=self._days)


@pytest.fixture
def decided(house):
    sheet = propose(house, ASKED, who="Ada")
    write_run(house, worksheet_id=sheet, model="made-moe", workload_id="chat-short", gpus=gpu(), recipe={"p_min": 0.5})
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", "against_why": "x", "age_days": 30})
    return sheet


def later(house, **run):
    given = {"gpus": gpu(), "recipe": {"p_min": 0.5}, "created_at": LATER, "model": "made-moe", "workload_id": "chat-short", **run}
    return write_run(house, **given)


def told(house):
    return {one["what"]: (one["was"], one["now"]) for one in ledger_entry_of(house, 1)["stale"]}


def test_the_same_again_changes_nothing(house, decided):
    later(house)
    assert told(house) == {}


@pytest.mark.parametrize(
    ("run", "what", "was", "now"),
    [
        ({"recipe": {"p_min": 0.5, "engine_build": 11549}}, "engine build", "b10473 (abc1234)", "b11549 (abc1234)"),
        ({"artifact_sha256": "cd" * 32}, "model artifact", "ab" * 32, "cd" * 32),
        ({"gpus": gpu(driver="570.2")}, "driver", "550.1", "570.2"),
        ({"gpus": gpu(name="H200")}, "GPU", "H100", "H200"),
        ({"gpus": {"state": "none", "list": []}}, "GPU", "H100", "none"),
        ({"recipe": {"p_min": 0.8}}, "p_min", 0.5, 0.8),
        ({"recipe": {}}, "p_min", 0.5, "engine default"),
        ({"recipe": {"p_min": 0.5, "context": 32768}}, "context", 4096, 32768),
        ({"production": {1: [1, 2, 3], 0: [1, 2, 3]}, "production_c": 8}, "slots", 1, 8),
        ({"recipe": {"p_min": 0.5, "placement": {**PLACEMENT, "n_cpu_moe": 24}}}, "spill",
         "spilled, 48/48 layers, experts of 14 layers on the host", "spilled, 48/48 layers, experts of 24 layers on the host"),
    ],
)  # fmt: skip
def test_each_difference_of_a_newer_run_is_listed_with_the_run(house, decided, run, what, was, now):
    run_id = later(house, **run)
    assert told(house) == {what: (was, now)}
    assert [one["run_id"] for one in ledger_entry_of(house, 1)["stale"]] == [run_id]
    assert [entry["number"] for entry in ledger_entries(house, stale="yes")] == [1]


def test_an_older_run_another_box_model_or_workload_say_nothing(house, decided):
    new = {"p_min": 0.9, "engine_build": 11549, "context": 999}
    later(house, recipe=new, created_at=LATER - timedelta(days=400))
    later(house, recipe=new, box_id="gpu-9")
    later(house, recipe=new, model="made-dense")
    assert told(house) == {}
    later(house, recipe=new, workload_id="chat-long")
    assert set(told(house)) == {"engine build"}


def test_a_single_stream_sweep_says_nothing_about_slots(house):
    sheet = propose(house, {**ASKED, "production_c": 4}, who="Ada")
    write_run(house, worksheet_id=sheet, model="made-moe", workload_id="chat-short", production={1: [50, 51, 52], 0: [40, 41, 42]})
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", "against_why": "x"})
    later(house, gpus=None, recipe=None)
    assert told(house) == {}


def test_the_newest_word_counts(house, decided):
    later(house, recipe={"p_min": 0.5, "engine_build": 11549})
    later(house, created_at=LATER + timedelta(hours=1))
    assert told(house) == {}


def test_what_is_not_watched_or_not_recorded_changes_nothing(house):
    sheet = propose(house, ASKED, who="Ada")
    write_run(house, worksheet_id=sheet, model="made-moe", workload_id="chat-short")
    watched = {"stale_when": ["driver", "p_min"], "against_why": "x"}
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", **watched})
    later(house, recipe={"engine_build": 11549})
    assert told(house) == {}


def test_age_alone_makes_it_stale(house, decided):
    assert ledger_entry_of(replace(house, clock=Later(29)), 1)["stale"] == []
    (one,) = ledger_entry_of(replace(house, clock=Later(31)), 1)["stale"]
    assert (one["what"], one["now"]) == ("age", "it is 31 days old, 30 were set as its limit")


def test_what_no_longer_holds_is_not_stale(house, decided):
    later(house, recipe={"engine_build": 11549})
    withdraw(house, {"number": 1, "owner": "Bo", "reason": "x"})
    assert [ledger_entry_of(house, number)["stale"] for number in (1, 2)] == [[], []]


def test_the_recheck_asks_the_same_question_and_a_second_click_opens_the_same(house, decided):
    made = [recheck(house, 1, who="Cy", worksheet_id="w-again") for _ in range(2)]
    body = get_worksheet(house, made[0])["body"]
    assert made == ["w-again", "w-again"] and body["title"] == "Re-check of entry 1: MTP"
    assert {key: body[key] for key in ASKED if key != "title"} == {key: ASKED[key] for key in ASKED if key != "title"}
    assert show_worksheet(house, "w-again")["decisions"] == []
