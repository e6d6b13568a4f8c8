"""`runs --json`: every run with its stages, gates, why it stopped and what won; blanks are null and never 0."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from core.commands import runs
from core.services.house import House
from tests.fakes.measured_run import write_run

KEYS = {"run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note"}
KEYS |= {"stages", "stop_reason", "winner", "drifted", "supports_keep"}
STAGE_KEYS = {"name", "n_max", "c", "tok_s", "accept_share", "accept_denominator", "status", "reason", "gate"}


def listed(house: House, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    @contextmanager
    def opened(_args: Namespace) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(house=house)

    monkeypatch.setattr(runs, "opened", opened)
    code, answer = runs._runs(Namespace(act="list", run_id=None, json=True, by="x"))
    assert (code, set(answer)) == (0, {"runs"})
    return answer["runs"]


def test_a_run_is_listed_with_stages_gates_and_what_came_of_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = write_run(house, failed={3: "no memory"})
    (run,) = listed(house, monkeypatch)
    assert set(run) == KEYS
    assert (run["run_id"], run["state"], run["winner"], run["drifted"], run["stop_reason"]["code"]) == (run_id, "done", 1, False, "no_gain")
    stages = {stage["name"]: stage for stage in run["stages"]}
    assert {frozenset(stage) for stage in run["stages"]} == {frozenset(STAGE_KEYS)}
    one, failed = stages["n=1"], stages["n=3"]
    assert (one["status"], one["tok_s"], one["accept_denominator"]) == ("ok", [26.1, 26.3, 26.5], "of 204 proposed")
    assert {"state", "usable", "why", "conditions", "residuals"} <= set(one["gate"]) and one["gate"]["residuals"]["books"] is not None
    assert (failed["status"], failed["reason"], failed["tok_s"], failed["accept_share"]) == ("failed", "no memory", [], None)


def test_a_run_that_has_not_ended_has_blanks(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(house, state="running", rates={0: [22.0, 22.2, 22.4]})
    (run,) = listed(house, monkeypatch)
    assert [run[key] for key in ("winner", "drifted", "supports_keep", "stop_reason", "ended_at")] == [None] * 5
    assert {stage["status"] for stage in run["stages"] if stage["n_max"]} == {"not_run"}
