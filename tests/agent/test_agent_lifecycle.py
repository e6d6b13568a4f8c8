"""Start, busy, stop at any moment, an agent that is killed: what stays alive and what the box says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.agent import proc
from core.agent.bounds import refuse_beyond
from core.agent.files import Refused, run_folder
from core.agent.spec import read_spec
from tests.agent.agent_box import Box, framed, run_id_of, wait_for

RUN = run_id_of(1)


def assert_cancelled(box: Box, who: str = "Ada", number: int = 1) -> list[dict[str, Any]]:
    events = box.ended(number)
    end = events[-1]
    assert (end["outcome"], end["reason"], end["left"]) == ("cancelled", {"code": "cancelled", "text": f"Stopped by {who}."}, [])
    assert end["stop"] == {"code": "cancelled", "text": f"Stopped by {who}."}
    assert [e["who"] for e in events if e["kind"] == "cancel_seen"] == [who]
    box.assert_clean()
    return events


def stop(box: Box, who: str = "Ada") -> dict[str, Any]:
    return box.verb("cancel", RUN, "--who", who)


def test_starting_again_is_safe(box: Box) -> None:
    box.script(load_s=1.0)
    first = box.begin(plan={"n_max": 1})
    assert first == {"answer": "started", "pid": box.agent_pid()}
    assert box.verb("start", RUN) == {"answer": "already", "finished": False}
    state = box.verb("state", RUN)
    assert (state["known"], state["alive"], state["finished"], state["pid"]) == (True, True, False, first["pid"])
    assert state["heartbeat"]["phase"] in ("starting", "preflight", "loading")
    stop(box)
    assert_cancelled(box)
    assert box.verb("start", RUN) == {"answer": "already", "finished": True}
    state = box.verb("state", RUN)
    assert (state["alive"], state["finished"], state["heartbeat"]["phase"]) == (False, True, "finished")


def test_the_heartbeat_moves(box: Box) -> None:
    box.script(stall=True)
    box.begin()
    box.wait_kind("server_ready")
    before = box.verb("state", RUN)["heartbeat"]["counter"]
    wait_for(lambda: box.verb("state", RUN)["heartbeat"]["counter"] > before, "the heartbeat")
    assert box.verb("state", RUN)["heartbeat"]["stage"] == "baseline"


def test_of_two_at_once_one_is_told_who_has_the_box(box: Box) -> None:
    box.script(stall=True)
    box.numbers += [1, 2]
    for number in (1, 2):
        box.put(box.spec(number), number)
    doors = [subprocess.Popen(box.command("start", run_id_of(n)), stdout=subprocess.PIPE, text=True) for n in (1, 2)]
    answers = [framed(process.communicate(timeout=60)[0]) for process in doors]
    assert sorted(answer["answer"] for answer in answers) == ["busy", "started"]
    winner = 1 + [answer["answer"] for answer in answers].index("started")
    assert next(a for a in answers if a["answer"] == "busy") == {"answer": "busy", "by": run_id_of(winner)}
    assert box.verb("probe")["busy"] == {"run_id": run_id_of(winner), "pid": box.agent_pid(winner)}


def test_probing_a_free_box(box: Box) -> None:
    assert box.verb("probe")["busy"] is None


def test_stopped_while_loading(box: Box) -> None:
    box.script(never_healthy=True)
    box.begin()
    box.wait_kind("server_starting")
    assert stop(box) == {"answer": "asked", "left": []}
    events = assert_cancelled(box)
    assert "sample" not in [e["kind"] for e in events]


def test_stopped_in_the_middle_of_a_stream_with_children_that_hide(box: Box) -> None:
    box.script(at={"1": {"stall": True, "ignore_term": True, "daemons": 3}})
    box.begin()
    box.wait_kind("server_ready", count=2)
    assert stop(box) == {"answer": "asked", "left": []}
    events = assert_cancelled(box)
    assert [e["n_max"] for e in events if e["kind"] == "sample"] == [0] * 4
    assert len(box.facts()[1]["daemons"]) == 3


def test_stopped_between_stages(box: Box) -> None:
    box.begin()
    box.wait_kind("verdict")
    stop(box)
    assert_cancelled(box)


def test_stopped_twice_names_the_first(box: Box) -> None:
    box.script(stall=True)
    box.begin()
    box.wait_kind("server_ready")
    stop(box, "Ada")
    assert stop(box, "Bob")["answer"] in ("asked", "finished")
    assert_cancelled(box, "Ada")


def test_stopped_after_the_end_changes_nothing(box: Box) -> None:
    events = box.sweep(plan={"n_max": 1})
    assert stop(box) == {"answer": "finished", "left": []}
    assert box.events() == events
    assert box.verb("state", RUN)["finished"] is True


def test_stopped_before_it_began_never_begins(box: Box) -> None:
    box.put(box.spec())
    assert stop(box) == {"answer": "reaped", "left": []}
    assert [e["kind"] for e in box.events()] == ["cancel_seen", "run_finished"]
    assert box.verb("start", RUN) == {"answer": "already", "finished": True}


def test_a_signal_from_the_box_stops_in_order(box: Box) -> None:
    box.script(stall=True)
    box.begin()
    box.wait_kind("server_ready")
    os.kill(box.agent_pid(), signal.SIGTERM)
    assert_cancelled(box, "the box (signal 15)")


def kill_agent(box: Box, *, with_guard: bool = False, **script: Any) -> None:
    box.script(stall=True, **script)
    box.begin()
    box.wait_kind("server_ready")
    box.kill(with_guard=with_guard)


def test_the_engine_dies_with_its_agent(box: Box) -> None:
    kill_agent(box)
    wait_for(lambda: proc.look(box.facts()[0]["pid"]) is None, "the engine to die")
    state = box.verb("state", RUN)
    assert (state["known"], state["alive"], state["finished"]) == (True, False, False)
    box.assert_clean()
    assert box.verb("start", RUN) == {"answer": "already", "finished": False}
    assert box.verb("reap") == {"reaped": []}
    assert box.last()["kind"] != "run_finished"


def test_what_outlives_a_dead_agent_keeps_the_box_until_it_is_reaped(box: Box) -> None:
    kill_agent(box, daemons=2, with_guard=True)
    daemons = box.facts()[0]["daemons"]
    assert box.begin(2) == {"answer": "busy", "by": RUN}
    assert box.verb("probe")["busy"] == {"run_id": RUN, "pid": None}
    (done,) = box.verb("reap")["reaped"]
    assert (done["run_id"], done["left"]) == (RUN, [])
    assert set(daemons) <= set(done["ended"])
    box.assert_clean()
    assert box.verb("reap") == {"reaped": []}


def test_stopping_a_run_whose_agent_is_dead_closes_its_ledger(box: Box) -> None:
    kill_agent(box, daemons=1, with_guard=True)
    with open(box.folder() / "events.jsonl", "ab") as stream:
        stream.write(b'{"seq": 99, "kind": "sam')
    assert stop(box) == {"answer": "reaped", "left": []}
    assert [e["kind"] for e in box.events()][-3:] == ["note_torn", "cancel_seen", "run_finished"]
    assert_cancelled(box)
    assert stop(box) == {"answer": "finished", "left": []}


REFUSALS = {
    "format 1": {"format": 2},
    "another run": {"run_id": run_id_of(7)},
    "3 to 8": {"plan": {"repetitions": 2}},
    "starts at n_max 1": {"plan": {"first_n": 2}},
    "whole numbers": {"plan": {"repetitions": 3.5}},
    "incomplete": {"plan": {"surprise": 1}},
    "n_max [2, 3]": {"arms": [{"n_max": n, "c": 1, "args": ["-m", "{model}"]} for n in (0, 1)]},
    "prompt set is empty": {"prompts": []},
    "not the one its hash names": {"prompts": [{"id": "a", "text": "b", "sha256": "0" * 64}]},
    "positive seconds": {"limits": {"lifetime_s": -1}},
    "max_tokens": {"request": {"route": "/v1/chat/completions", "max_tokens": 1, "body": {}}},
    "plain path": {"request": {"route": "http://elsewhere/", "max_tokens": 9, "body": {}}},
    "plain flag for alias": {"added": {"host": "--host", "port": "--port", "alias": "rm -rf"}},
    "plain flag for metrics": {"added": {"host": "--host", "port": "--port", "metrics": "--trust-remote-code"}},
    "plain flag for host": {"added": {"host": "--slot-save-path", "port": "--port"}},
}


@pytest.mark.parametrize("why", REFUSALS)
def test_a_spec_that_cannot_be_is_refused_with_a_sentence(box: Box, why: str) -> None:
    data = json.dumps(box.spec(**REFUSALS[why])).encode()
    box.put(box.spec())
    (box.folder() / "spec.json").write_bytes(data)
    with pytest.raises(Refused, match=re.escape(why)):
        read_spec(str(box.folder()), RUN)


def test_a_refusal_is_an_answer_and_leaves_no_ledger(box: Box) -> None:
    answer = box.begin(format=2)
    assert answer == {"answer": "refused", "why": "This agent reads specs of format 1."}
    for text in ("", "[]", "{}", "[" * 100000, "\0"):
        (box.folder() / "spec.json").write_text(text)
        with pytest.raises(Refused):
            read_spec(str(box.folder()), RUN)
    assert sorted(path.name for path in box.folder().iterdir()) == ["spec.json"]
    assert box.lock_is_free()


MALFORMED = {
    "parent": "..",
    "short": "0" * 31,
    "capitals": "A" * 32,
    "line": run_id_of(5) + "\n",
    "up": "../" + RUN,
    "empty": "",
    "down": "0" * 32 + "/..",
}


@pytest.mark.parametrize("run_id", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_id_never_becomes_a_path(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(Refused, match="32 hexadecimal"):
        run_folder(str(tmp_path), run_id)


def test_unknown_runs_and_planted_links_are_refused(box: Box) -> None:
    assert "32 hexadecimal" in box.verb("start", "..")["why"]
    assert box.verb("start", RUN) == {"answer": "refused", "why": "The box has no folder for this run."}
    assert box.verb("cancel", RUN) == {"answer": "unknown-run", "left": []}
    assert box.verb("state", RUN)["known"] is False
    box.folder().parent.mkdir(exist_ok=True)
    elsewhere = box.root / "elsewhere"
    elsewhere.mkdir()
    box.folder().symlink_to(elsewhere)
    assert "not a folder" in box.verb("start", RUN)["why"]
    box.folder().unlink()
    box.put(box.spec())
    (box.folder() / "events.jsonl").symlink_to(elsewhere / "target")
    assert box.verb("start", RUN)["answer"] == "refused"
    assert list(elsewhere.iterdir()) == []


def test_a_marker_left_before_the_start_stops_at_once(box: Box) -> None:
    box.put(box.spec())
    (box.folder() / "cancel").write_text(json.dumps({"who": "Ada"}))
    box.numbers.append(1)
    assert box.verb("start", RUN)["answer"] == "started"
    events = assert_cancelled(box)
    assert [e["kind"] for e in events] == ["run_started", "cancel_seen", "run_finished"]


TWICE = [{"n_max": n, "c": 1, "args": ["-m", "{model}", "-c", "512", "-c", "1025"]} for n in range(4)]
BEYOND: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "n_max": ({"n_max": 2}, {}),
    "streams": ({"streams": 2}, {"plan": {"production_c": 4}}),
    "context": ({"context": 1024}, {"arms": TWICE}),
    "hours": ({"hours": 1}, {"limits": {"lifetime_s": 3601}}),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_run_that_asks_for_more_than_the_box_takes_is_refused_and_one_that_does_not_is_not(box: Box, name: str) -> None:
    limits, changes = BEYOND[name]
    box.allow(limits={name: 9999})
    spec = box.spec(**changes)
    box.put(spec)
    parsed = read_spec(str(box.folder()), RUN)
    refuse_beyond(str(box.root), parsed)
    box.allow(limits=limits)
    with pytest.raises(Refused, match=f"at most {limits[name]} for {name}"):
        refuse_beyond(str(box.root), parsed)
    assert box.begin(**changes)["answer"] == "refused" and box.lock_is_free()


@pytest.mark.parametrize("wrong", [{"n_max": "many"}, {"hours": 1.5}, {"streams": True}, ["n_max"], "none", [], 0, None])
def test_a_limit_that_is_no_number_bounds_everything(box: Box, wrong: Any) -> None:
    box.put(box.spec())
    box.allow(limits=wrong)
    with pytest.raises(Refused, match="is no whole number"):
        refuse_beyond(str(box.root), read_spec(str(box.folder()), RUN))
    assert "no whole number" in box.verb("probe")["allow_error"]


@pytest.mark.parametrize("args", [["-m", "{model}"], ["-m", "{model}", "-c", "0"]])
def test_a_context_left_to_the_model_is_refused_where_the_box_bounds_it(box: Box, args: list[str]) -> None:
    box.put(box.spec(arms=[{"n_max": n, "c": 1, "args": args} for n in range(4)]))
    box.allow(limits={"context": 1024})
    with pytest.raises(Refused, match="leaves it to the model"):
        refuse_beyond(str(box.root), read_spec(str(box.folder()), RUN))
