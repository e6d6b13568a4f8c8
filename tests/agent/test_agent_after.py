"""What follows a sweep on the box: the forced-acceptance pass and the tool suites, whatever a suite does."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.agent import proc
from core.agent.suites import SuiteRunner
from tests.agent.agent_box import Box, arm, run_id_of, wait_for
from tests.agent.test_agent_sweep import names, of

ONE = {"plan": {"n_max": 1}}
SPEEDS = {"0": 100, "1": 140}


def forced(n_max: int) -> list[dict[str, Any]]:
    words = (("all", "1"), ("none", "0"))
    return [
        {"n_max": n, "point": word, "args": [*arm(n, 1)["args"], "--spec-synth-rates", ",".join([rate] * n)]}
        for n in range(1, n_max + 1)
        for word, rate in words
    ]


def suite(
    body: str = "", *, by: str = "json", at: str = "score", limit_s: float = 20, argv: list[str] | None = None, name: str = "tools"
) -> dict[str, Any]:
    return {"id": name, "argv": argv or [sys.executable, "-I", "-c", body], "by": by, "at": at, "limit_s": limit_s}


def offer(box: Box, suites: list[dict[str, Any]], speeds: dict[str, int]) -> None:
    box.script(speeds=speeds)
    box.allow(engines=json.loads((box.root / "allow.json").read_text())["engines"], suites=suites)


def with_suites(
    box: Box, suites: list[dict[str, Any]], asked: list[dict[str, Any]], speeds: dict[str, int] = SPEEDS
) -> list[dict[str, Any]]:
    """A sweep of one step with suites after it; its events."""
    offer(box, suites, speeds)
    return box.sweep(**ONE, suites=asked)


def runs_of(events: list[dict[str, Any]]) -> list[tuple[int, int, str, float | None]]:
    return [(e["n_max"], e["run"], e["status"], e["score"]) for e in of(events, "suite_run")]


def test_two_forced_points_for_each_n_give_its_line_and_touch_nothing_else(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140, "2": 90}, at={"1": {"forced_ms": [11.0, 9.0]}, "2": {"forced_ms": [16.0, 13.0]}})
    events = box.sweep(plan={"n_max": 2, "is_moe": True}, forced=forced(2))
    assert names(events)[-4:] == ["n=1, all accepted", "n=1, none accepted", "n=2, all accepted", "n=2, none accepted"]
    lines = {line["n_max"]: line for line in of(events, "forced_fit")[0]["lines"]}
    assert {n: (line["none_ms"], line["all_ms"], line["a_none"], line["a_all"]) for n, line in lines.items()} == {
        1: (pytest.approx(9.0), pytest.approx(11.0), 1.0, 2.0),
        2: (pytest.approx(13.0), pytest.approx(16.0), 1.0, pytest.approx(8 / 3)),
    }
    made = [e for e in of(events, "sample") if e.get("synthetic")]
    assert len(made) == 4 * 4 and {e["status"] for e in made} == {"ok"}
    starts = {e["server"]: e.get("purpose") for e in of(events, "server_starting")}
    assert {starts[e["server"]] for e in made} == {"forced"}
    assert {starts[e["server"]] for e in of(events, "sample") if not e.get("synthetic")} == {None}
    assert (events[-1]["outcome"], events[-1]["winner"], events[-1]["stop"]["code"]) == ("done", 1, "no_gain")
    box.assert_clean()


def test_a_forced_point_that_cannot_be_measured_is_told_and_the_sweep_stands(box: Box) -> None:
    spec = forced(1)
    spec[1]["args"] += ["-t", "bad"]
    box.script(speeds=SPEEDS)
    events = box.sweep(**ONE, forced=spec)
    last = of(events, "stage_done")[-1]
    assert (last["stage"]["name"], last["status"], last["code"]) == ("n=1, none accepted", "failed", "load_failed")
    assert of(events, "forced_fit")[0]["lines"] == []
    assert (events[-1]["outcome"], events[-1]["winner"]) == ("done", 1)


def test_a_forced_flag_the_engine_does_not_know_ends_the_run_before_it_starts(box: Box) -> None:
    points = [{**forced(1)[0], "args": [*arm(1, 1)["args"], "--spec-force", "1"]}]
    events = box.sweep(**ONE, forced=points)
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "flag_unknown")


ASKS = """
import json, os, urllib.request
url, key = os.environ["DRAFTLEDGER_URL"], os.environ["DRAFTLEDGER_API_KEY"]
asked = urllib.request.Request(url + "/props", headers={"Authorization": "Bearer " + key})
found = json.load(urllib.request.urlopen(asked))
models = json.load(urllib.request.urlopen(url + "/v1/models"))["data"]
assert models[0]["id"] == os.environ["DRAFTLEDGER_MODEL"]
print("key", key)
print(json.dumps({"score": 40 + int(os.environ["DRAFTLEDGER_SUITE_RUN"]), "slots": found["total_slots"]}))
"""


RUBBISH = "import sys\nfor _ in range(200): sys.stdout.buffer.write(bytes(range(256)) * 256)"
SUITES = [
    suite(ASKS),
    suite("import os; open(os.environ['DRAFTLEDGER_SCORE_FILE'], 'w').write('63.5')", by="file", at="", name="filed"),
    suite("print('passed 7 of 9'); print('bye')", by="regex", at=r"passed (\d+)", name="lines"),
    suite("raise SystemExit(1)", by="exit", at="", name="exit"),
    suite(RUBBISH, name="rubbish"),
    suite("raise SystemExit('no network')", name="bad"),
    suite(argv=["/nowhere/suite", "--all"], name="absent"),
]


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A sweep with seven suites after it and one that nobody registered; read by several tests."""
    found = Box(tmp_path_factory.mktemp("suites") / "box")
    with_suites(
        found, SUITES, [{"id": one["id"], "runs": 2 if one["id"] == "tools" else 1} for one in SUITES] + [{"id": "strange", "runs": 2}]
    )
    yield found
    found.clear_up()


def test_an_argument_that_no_command_line_can_hold_is_told() -> None:
    engine = SimpleNamespace(port=1, key="k", alias="a", pid=os.getpid())
    runner = SuiteRunner(SimpleNamespace(run_id=run_id_of(1)), engine, lambda: None)  # type: ignore[arg-type]
    found = runner.run(suite(argv=[sys.executable, "a\0b"]), 1)
    assert (found["status"], found["score"]) == ("failed", None) and "null byte" in found["reason"]


def told(box: Box, name: str) -> list[dict[str, Any]]:
    return [e for e in of(box.events(), "suite_run") if e["suite"] == name]


def test_a_suite_talks_to_the_started_server_on_and_off(seven: Box) -> None:
    events = seven.events()
    assert runs_of(told(seven, "tools")) == [(1, 1, "ok", 41.0), (1, 2, "ok", 42.0), (0, 1, "ok", 41.0), (0, 2, "ok", 42.0)]
    assert names(events)[-2:] == ["suites, n=1", "suites, off"]
    assert {e["purpose"] for e in of(events, "server_starting")[-2:]} == {"suite"}
    assert all("key ***" in e["output"] for e in told(seven, "tools"))
    for fact in seven.facts():
        assert fact["key"].encode() not in (seven.folder() / "events.jsonl").read_bytes()
    seven.assert_clean()


def test_a_score_comes_from_where_the_suite_s_rule_says(seven: Box) -> None:
    assert {name: {score for *_, score in runs_of(told(seven, name))} for name in ("filed", "lines", "exit")} == {
        "filed": {63.5},
        "lines": {7.0},
        "exit": {0.0},
    }


def test_a_suite_that_prints_rubbish_is_capped_and_has_no_score(seven: Box) -> None:
    first = told(seven, "rubbish")[0]
    assert (first["status"], first["score"], first["output_bytes"]) == ("unreadable", None, 200 * 65536)
    assert "no JSON" in first["reason"] and len(first["output"]) <= 4096
    assert all(len(line) < 64_000 for line in (seven.folder() / "events.jsonl").read_bytes().split(b"\n"))


def test_a_suite_that_ends_badly_is_told_with_its_last_word(seven: Box) -> None:
    assert runs_of(told(seven, "bad")) == [(1, 1, "failed", None), (0, 1, "failed", None)]
    assert "exit code 1" in told(seven, "bad")[0]["reason"] and "no network" in told(seven, "bad")[0]["reason"]


def test_a_suite_that_is_missing_is_told_and_the_sweep_stands(seven: Box) -> None:
    for name, why in (("absent", "cannot be executed"), ("strange", "not registered")):
        assert runs_of(told(seven, name)) == [(1, 1, "missing", None), (0, 1, "missing", None)]
        assert why in told(seven, name)[0]["reason"]
    last = seven.events()[-1]
    assert (last["outcome"], last["winner"]) == ("done", 1)


def test_a_suite_that_hangs_is_ended_with_everything_it_started(box: Box, tmp_path: Path) -> None:
    left = tmp_path / "left"
    body = (
        "import os, subprocess, sys, time\n"
        f"for own in (False, True):\n"
        f"    child = subprocess.Popen([sys.executable, '-I', '-c', 'import time; time.sleep(600)'], start_new_session=own, env={{}})\n"
        f"    open({str(left)!r}, 'a').write('%d\\n' % child.pid)\n"
        "print('half done', flush=True)\n"
        "time.sleep(600)\n"
    )
    events = with_suites(box, [suite(body, limit_s=1.5)], [{"id": "tools", "runs": 2}], {"0": 100, "1": 50})
    assert runs_of(events) == [(1, 1, "timeout", None), (0, 1, "timeout", None)]
    assert "not done after 1.5 s" in of(events, "suite_run")[0]["reason"] and "half done" in of(events, "suite_run")[0]["output"]
    children = [int(line) for line in left.read_text().split()]
    assert len(children) == 4 and [pid for pid in children if proc.look(pid)] == []
    last = of(events, "stage_done")[-1]
    assert (last["status"], events[-1]["outcome"], events[-1]["winner"]) == ("failed", "done", 0), "off won: n=1 stands for the change"
    box.assert_clean()


def test_stop_ends_a_running_suite_at_once(box: Box, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    body = f"import os, time; open({str(begun)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    offer(box, [suite(body)], SPEEDS)
    box.begin(**ONE, suites=[{"id": "tools", "runs": 2}])
    wait_for(lambda: begun.exists() and begun.read_text() != "", "the suite to begin")
    box.verb("cancel", run_id_of(1), "--who", "Ada")
    events = box.ended()
    assert (events[-1]["outcome"], events[-1]["winner"]) == ("cancelled", 1)
    assert proc.look(int(begun.read_text())) is None
    box.assert_clean()


def test_a_suite_needs_a_number_of_runs_and_a_forced_point_a_word(box: Box) -> None:
    for number, changes in enumerate(
        ({"suites": [{"id": "tools", "runs": 0}]}, {"forced": [{"n_max": 1, "point": "half", "args": []}]}), 1
    ):
        assert box.begin(number, **changes)["answer"] == "refused"
    assert os.path.exists(box.folder(1))
