"""The gate of a locked box, request by request: what it answers, and that nothing but a run's own files is ever touched."""

from __future__ import annotations

import base64
import json
import os

import pytest

from core.agent import gate
from core.agent.files import Refused

RUN = "ab" * 16


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "box"
    (folder / "runs").mkdir(parents=True, mode=0o700)
    (folder / "allow.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("canary")
    return folder


def ask(root, verb, **more):
    return gate.answer(str(root), None, json.dumps({"verb": verb, "run_id": RUN, **more}).encode())


def begun(root):
    (root / "runs" / RUN / "events.jsonl").write_bytes(b"one\ntwo\n")


def test_a_spec_is_kept_until_the_run_has_begun(root):
    assert ask(root, "put_spec", spec={"a": 1}) == {"answer": "kept"}
    assert ask(root, "put_spec", spec={"a": 2}) == {"answer": "kept"}
    begun(root)
    assert ask(root, "put_spec", spec={"a": 3}) == {"answer": "already"}
    assert json.loads((root / "runs" / RUN / "spec.json").read_text()) == {"a": 2}


def test_files_are_read_by_piece_and_missing_ones_are_null(root):
    ask(root, "put_spec", spec={})
    assert ask(root, "read", name="events.jsonl") == {"size": None, "data": None}
    begun(root)
    assert ask(root, "read", name="events.jsonl", offset=4, limit=3) == {"size": 8, "data": base64.b64encode(b"two").decode()}
    assert ask(root, "read", name="events.jsonl", offset=99) == {"size": 8, "data": ""}
    assert ask(root, "size", name="events.jsonl") == {"size": 8, "data": None}
    (root / "runs" / RUN / "server-1.log").write_bytes(b"x" * (gate.MAX_READ + 9))
    assert len(base64.b64decode(ask(root, "read", name="server-1.log", limit=1 << 40)["data"])) == gate.MAX_READ


HOSTILE_NAMES = ["../../../secret.txt", "/etc/passwd", "spec.json", "agent.json", "cancel", "events.jsonl\n", "server-1.log/../spec.json",
                 "..\\secret.txt", "%2e%2e/secret.txt", "events.jsonl\0.log", "", "server-0.log", None, 3, ["events.jsonl"]]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_other_file_is_read(root, name):
    ask(root, "put_spec", spec={})
    for verb in ("read", "size"):
        with pytest.raises(Refused):
            ask(root, verb, name=name)


@pytest.mark.parametrize("run_id", ["", "..", "../../x", "AB" * 16, "ab" * 15, "ab" * 16 + "\n", "ab" * 16 + "/..", None, 5, ["ab" * 16]])
@pytest.mark.parametrize("verb", ["put_spec", "start", "state", "cancel", "read", "size"])
def test_no_other_folder_is_touched(root, run_id, verb):
    before = sorted(os.listdir(root.parent)) + sorted(os.listdir(root / "runs"))
    with pytest.raises(Refused):
        ask(root, verb, run_id=run_id, spec={}, who="Ada", name="events.jsonl")
    assert sorted(os.listdir(root.parent)) + sorted(os.listdir(root / "runs")) == before


@pytest.mark.parametrize(
    "line", [b"", b"id\n", b"\x00\x00\x00\x05\x01\x00\x00\x00\x03", b"[]", b'"probe"', b"null", b"{", b"\xff", b"[" * 100_000, b"{}"]
)
def test_whatever_is_no_request_is_refused_with_a_sentence(root, line):
    with pytest.raises(Refused):
        gate.answer(str(root), None, line)


@pytest.mark.parametrize("verb", ["exec", "shell", "put", "put_allow", "gate", "write", None, 1, ["start"]])
def test_there_are_no_other_verbs(root, verb):
    with pytest.raises(Refused):
        ask(root, verb)


def test_links_planted_in_a_run_are_not_followed(root):
    ask(root, "put_spec", spec={})
    folder = root / "runs" / RUN
    os.symlink(root.parent / "secret.txt", folder / "events.jsonl")
    with pytest.raises(OSError):
        ask(root, "read", name="events.jsonl")
    other = "cd" * 16
    os.symlink(root.parent, root / "runs" / other)
    with pytest.raises(Refused):
        ask(root, "read", run_id=other, name="events.jsonl")
    with pytest.raises(Refused):
        ask(root, "put_spec", run_id=other, spec={})
    os.mkfifo(folder / "server-1.log")
    with pytest.raises(Refused):
        ask(root, "read", name="server-1.log")


@pytest.mark.parametrize("more", [{"offset": -1}, {"limit": -1}, {"offset": True}, {"offset": 1.5}, {"limit": "9"}, {"offset": 1 << 70}])
def test_offsets_are_counts(root, more):
    ask(root, "put_spec", spec={})
    begun(root)
    with pytest.raises(Refused):
        ask(root, "read", name="events.jsonl", **more)


@pytest.mark.parametrize("who", ["", None, 3, "a\nb", "x" * 201])
def test_who_asks_to_stop_is_a_name(root, who):
    ask(root, "put_spec", spec={})
    with pytest.raises(Refused):
        ask(root, "cancel", who=who)


def test_specs_that_never_start_do_not_pile_up(root):
    for number in range(gate.MAX_WAITING):
        ask(root, "put_spec", run_id=f"{number:032x}", spec={})
    with pytest.raises(Refused, match="never started"):
        ask(root, "put_spec", run_id="f" * 32, spec={})
    assert ask(root, "put_spec", run_id="0" * 32, spec={"again": True}) == {"answer": "kept"}


def test_a_spec_that_asks_for_more_is_refused_by_the_agent_as_ever(root):
    ask(root, "put_spec", spec={"format": 1, "run_id": RUN, "engine": {"argv": ["/bin/sh"]}})
    assert ask(root, "start")["answer"] == "refused"


def test_variables_that_steer_an_engine_do_not_come_in_with_the_client():
    sent = {
        "LLAMA_ARG_HOST": "0.0.0.0",
        "HF_TOKEN": "x",
        "PYTHONPATH": "/tmp",
        "GGML_CUDA_X": "1",
        "PATH": "/usr/bin",
        "LANG": "C",
        "LC_ALL": "C",
    }
    gate.forget_what_was_sent(sent)
    assert sent == {"PATH": "/usr/bin", "LANG": "C", "LC_ALL": "C"}
