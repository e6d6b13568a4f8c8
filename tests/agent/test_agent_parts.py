"""Parts of the agent on their own: ledger, flags, process facts, model headers, log, port, probe."""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agent import journal, leftovers, measure, outside, preflight, proc
from core.agent.client import body_for
from core.agent.engine import Engine, ForeignPort
from core.agent.gguf_head import NotGguf, read_header
from core.agent.heartbeat import Heartbeat
from core.agent.journal import DiskFull, Journal
from core.agent.logpump import LogPump
from core.agent.watch import OutOfTime, Stopped, Watch
from core.domain import engine_flags as flags
from core.domain.sweep import Stage
from tests.agent.agent_box import Box, check_chain, run_id_of
from tests.fakes import scripted_engine

HELP = scripted_engine.HELP + scripted_engine.KEY_BY_FLAG


# --- ledger


def read(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_bytes().split(b"\n")
    return [event for event in map(journal.whole_event, lines) if event is not None]


def test_a_torn_last_line_is_closed_and_noted(tmp_path: Path) -> None:
    first = Journal(str(tmp_path))
    first.append("run_started", text="é \ud800", number=float("nan"))
    first.close()
    whole = (tmp_path / "events.jsonl").read_bytes()
    (tmp_path / "events.jsonl").write_bytes(whole + b'{"seq":2,"kind":"sam')
    again = Journal(str(tmp_path))
    again.append("run_finished", events=again.seq + 1)
    again.close()
    events = read(tmp_path)
    assert [event["kind"] for event in events] == ["run_started", "note_torn", "run_finished"]
    assert (events[0]["text"], events[0]["number"], events[1]["bytes"]) == ("é ?", "nan", 20)
    assert (tmp_path / "events.jsonl").read_bytes().startswith(whole + b'{"seq":2,"kind":"sam\n')
    check_chain(events)


def test_a_changed_line_is_no_event(tmp_path: Path) -> None:
    ledger = Journal(str(tmp_path))
    ledger.append("sample", tok_s=100.0)
    ledger.close()
    line = (tmp_path / "events.jsonl").read_bytes().strip()
    assert journal.whole_event(line) is not None
    assert journal.whole_event(line.replace(b"100.0", b"900.0")) is None
    assert journal.whole_event(b"[" * 100000) is None


def test_a_full_disk_is_reported_with_the_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Journal(str(tmp_path))
    ledger.hold_reserve()
    ledger.append("run_started")
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if not (tmp_path / "reserve").exists():
            return real(fd, data)
        real(fd, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskFull):
        ledger.append("sample", n_max=0)
    monkeypatch.undo()
    ledger.append("run_finished", events=ledger.seq + 1)
    ledger.close()
    events = read(tmp_path)
    assert [event["kind"] for event in events] == ["run_started", "note_torn", "sample", "run_finished"]
    check_chain(events)


def test_too_little_disk_refuses_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "disk_free_mib", lambda path: 199)
    with pytest.raises(preflight.RunFailed, match="199 MiB") as failed:
        preflight.Ready("/", SimpleNamespace(), lambda: None)  # type: ignore[arg-type]
    assert failed.value.code == "disk"


def test_heartbeat_is_whole_at_every_moment(tmp_path: Path) -> None:
    beat = Heartbeat(str(tmp_path))
    beat.start()
    for number in range(50):
        beat.set(phase=f"phase {number}")
        assert json.loads((tmp_path / "heartbeat.json").read_text())["pid"] == os.getpid()
    beat.stop("finished")
    assert json.loads((tmp_path / "heartbeat.json").read_text())["phase"] == "finished"
    assert [path.name for path in tmp_path.iterdir()] == ["heartbeat.json"]


def test_watch_says_once_who_asked_and_ends_with_the_lifetime(tmp_path: Path) -> None:
    seen: list[str] = []
    watch = Watch(str(tmp_path), 100, seen.append)
    watch()
    (tmp_path / "cancel").write_text("not json")
    for _ in range(2):
        with pytest.raises(Stopped, match="somebody"):
            watch()
    assert seen == ["somebody"]
    with pytest.raises(OutOfTime):
        Watch(str(tmp_path / "none"), -1, seen.append)()


# --- processes


def fake_proc(root: Path, boot: str, *rows: tuple[int, str, str, int, int, int]) -> str:
    (root / "sys/kernel/random").mkdir(parents=True)
    (root / "sys/kernel/random/boot_id").write_text(boot + "\n")
    for pid, name, state, parent, group, start in rows:
        (root / str(pid)).mkdir()
        rest = " ".join(["0"] * 15)
        (root / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {parent} {group} {rest} 0 {start} 1 2 3\n")
    return str(root)


def test_a_reused_number_is_another_process(tmp_path: Path) -> None:
    fake = fake_proc(tmp_path, "boot-a", (70, "a) b (c", "S", 1, 70, 500), (71, "gone", "Z", 1, 71, 500))
    agent = {"pid": 70, "start_time": 500, "boot_id": "boot-a"}
    assert proc.look(70, fake) == proc.Process(70, "a) b (c", "S", 1, 70, 500)
    assert leftovers.is_alive(agent, fake)
    assert not leftovers.is_alive({**agent, "start_time": 499}, fake)
    assert not leftovers.is_alive({**agent, "boot_id": "boot-b"}, fake)
    assert not leftovers.is_alive({**agent, "pid": 71}, fake)
    assert not leftovers.is_alive({**agent, "pid": "x"}, fake)
    assert not leftovers.is_alive({}, fake)


def test_only_the_recorded_group_is_ended(tmp_path: Path) -> None:
    fake = fake_proc(
        tmp_path / "proc",
        "boot-a",
        (80, "engine", "S", 1, 80, 500),
        (81, "child", "S", 80, 80, 510),
        (90, "stranger", "S", 1, 90, 900),
        (101, "member", "S", 1, 100, 620),
    )
    recorded = [{"pgid": 80, "start_time": 500}, {"pgid": 90, "start_time": 500}, {"pgid": 100, "start_time": 600}, {"pgid": 1}, "x"]
    agent = {"pid": 5, "start_time": 1, "boot_id": "boot-a", "engines": recorded}
    root = str(tmp_path)
    assert sorted(item.pid for item in leftovers.find(root, run_id_of(1), agent, fake)) == [80, 81, 101]
    assert leftovers.find(root, run_id_of(1), {**agent, "boot_id": "boot-before"}, fake) == []


# --- flags

WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=12)
DANGEROUS = "--host --port -hf --hf-repo -mu --model-url --slot-save-path --path --api-key --api-key-file --ssl-key-file --ssl-cert-file"
DANGEROUS += " --log-file --lora --lora-scaled --mmproj-url --HOST --slot_save_path --hf-repo-draft --rpc --tools --models-dir --media-path"
DANGEROUS += " --control-vector --gpt-oss-20b-default --fim-qwen-1.5b-default -a --alias --metrics --trust-remote-code --grammar-file"


@pytest.mark.parametrize("flag", DANGEROUS.split())
@pytest.mark.parametrize("form", ["{}", "{}=x"])
def test_flags_that_reach_outside_are_refused_though_the_engine_knows_them(flag: str, form: str) -> None:
    with pytest.raises(flags.FlagProblem) as problem:
        flags.check(["-m", "{model}", form.format(flag), "x"], HELP + flag)
    assert problem.value.code == "flag_refused"


@pytest.mark.parametrize("dangerous", ["--host", "--hf-repo", "--ssl-key-file", "--lora", "--log-file"])
@given(before=st.lists(st.sampled_from(["-c", "4096", "-lv", "4", "-ngl", "-1"]), max_size=6), upper=st.booleans(), score=st.booleans())
def test_a_dangerous_flag_is_found_wherever_it_stands(dangerous: str, before: list[str], upper: bool, score: bool) -> None:
    spelled = dangerous.upper() if upper else dangerous
    spelled = "--" + spelled[2:].replace("-", "_") if score else spelled
    with pytest.raises(flags.FlagProblem):
        flags.check(["-m", "{model}", *before, spelled, "x"], HELP + spelled)


@given(word=WORDS)
def test_what_begins_with_a_dash_is_a_known_flag_a_number_or_refused(word: str) -> None:
    token = "-" + word
    known = flags.is_known(token, HELP)
    try:
        flags.check(["-c", "1", token], HELP)
    except flags.FlagProblem:
        return
    assert known or flags.is_value(token)


@given(path=st.text(min_size=0, max_size=20))
def test_a_path_never_gets_through(path: str) -> None:
    for args in (["-m", "/" + path], ["-c", path + "/x"], ["-md", "../" + path]):
        with pytest.raises(flags.FlagProblem):
            flags.check(args, HELP)


def test_plain_arguments_get_through() -> None:
    flags.check(["-m", "{model}", "-md", "{model:draft one}", "-ngl", "-1", "--spec-draft-n-max", "3", "-lv", "4"], HELP)
    assert flags.models_named(["-m", "{model}", "-md", "{model:draft one}"]) == ["draft one"]
    with pytest.raises(flags.FlagProblem) as problem:
        flags.check(["--spec-draft-n", "3"], HELP)
    assert problem.value.code == "flag_unknown"
    with pytest.raises(flags.FlagProblem, match="begin with a flag"):
        flags.check(["bench"], HELP)


# --- model headers


def gguf(*pairs: tuple[str, int, bytes], count: int | None = None, version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs) if count is None else count)
    return head + b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    return struct.pack("<I", value)


ARCH = ("general.architecture", 8, text("glm4moe"))


def test_header_facts_are_read_past_long_lists(tmp_path: Path) -> None:
    tokens = struct.pack("<IQ", 8, 3) + text("a") + text("b" * 5000) + text("")
    scores = struct.pack("<IQ", 6, 2000) + b"\0" * 8000
    pairs = [ARCH, ("tokenizer.tokens", 9, tokens), ("tokenizer.scores", 9, scores), ("general.file_type", 4, number(15))]
    pairs += [
        (f"glm4moe.{key}", 4, number(value)) for key, value in (("block_count", 47), ("expert_count", 128), ("nextn_predict_layers", 1))
    ]
    (tmp_path / "a.gguf").write_bytes(gguf(*pairs) + b"weights")
    found = read_header(str(tmp_path / "a.gguf"))
    assert (found["architecture"], found["quantization"], found["block_count"]) == ("glm4moe", "Q4_K_M", 47)
    assert (found["expert_count"], found["nextn_predict_layers"], found["expert_used_count"]) == (128, 1, None)


BROKEN = {
    "empty": b"",
    "another format": b"PK\3\4" + b"\0" * 40,
    "cut": gguf(ARCH)[:-3],
    "no architecture": gguf(("general.file_type", 4, number(1))),
    "too many keys": gguf(ARCH, count=1 << 60),
    "long text": gguf(("a", 8, struct.pack("<Q", 1 << 62))),
    "long list": gguf(("a", 9, struct.pack("<IQ", 4, 1 << 62))),
    "list of lists": gguf(("a", 9, struct.pack("<IQ", 9, 1))),
    "unknown type": gguf(("a", 99, b"")),
    "old version": gguf(ARCH, version=1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_damaged_headers_are_named_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.gguf").write_bytes(BROKEN[name])
    with pytest.raises(NotGguf):
        read_header(str(tmp_path / "a.gguf"))


# --- log


def pump(path: Path, data: bytes, head: int, tail: int) -> LogPump:
    reader, writer = os.pipe()
    found = LogPump(reader, open(path, "wb"), head, tail)  # noqa: SIM115 - the pump closes it
    found.start()
    with os.fdopen(writer, "wb") as stream:
        stream.write(data)
    found.join(10)
    return found


def test_a_log_keeps_its_bytes_and_has_a_limit(tmp_path: Path) -> None:
    rubbish = bytes(range(256)) * 40
    assert pump(tmp_path / "a", rubbish, 1 << 20, 100).total == len(rubbish)
    assert (tmp_path / "a").read_bytes() == rubbish
    pump(tmp_path / "b", rubbish, 1000, 500)
    kept = (tmp_path / "b").read_bytes()
    assert kept == rubbish[:1000] + b"\n[... %d bytes left out ...]\n" % (len(rubbish) - 1500) + rubbish[-500:]


def test_statistics_lines_are_found_among_rubbish(tmp_path: Path) -> None:
    data = b"\0\xff statistics draft-mtp: #calls one\nother\nstatistics  ngram-mod: two\nstatistics draft-mtp: not whole"
    found = pump(tmp_path / "a", data, 1 << 20, 1 << 20)
    assert [name for name, _ in found.statistics_since(0)] == ["draft-mtp", "ngram-mod"]
    assert [name for name, _ in found.statistics_since(20)] == ["ngram-mod"]


# --- measuring


def test_drafted_tokens_come_from_the_first_source_that_speaks() -> None:
    sample = {"streams": [{"timings": {}}], "metrics_before": "", "metrics_after": "", "statistics_before": "", "statistics_line": ""}
    assert measure.drafted_of(sample) == (None, None)
    line = "statistics mtp: #calls(b,g,a) = 1 2 3, #gen drafts = 3, #acc drafts = 3, #gen tokens = %d, #acc tokens = %d"
    sample.update(statistics_before=line % (10, 4), statistics_line=line % (16, 9))
    assert measure.drafted_of(sample) == (6, 5)
    rows = 'llamacpp:spec_decode_num_draft_tokens_total %d\nllamacpp:spec_decode_num_accepted_tokens_total{a="b"} %d'
    sample.update(metrics_before=rows % (3, 1), metrics_after=rows % (5, 2))
    assert measure.drafted_of(sample) == (2, 1)
    sample["streams"] = [{"timings": {"draft_n": 8, "draft_n_accepted": 7}}, {"timings": {"draft_n": 2}}]
    assert measure.drafted_of(sample) == (10, 7)


GOOD = {"predicted_n": 9, "predicted_ms": 80.0, "prompt_n": 7}


@pytest.mark.parametrize(
    ("timings", "reason"),
    [
        (GOOD, ""),
        (None, "no timings"),
        ({**GOOD, "predicted_ms": -1.0}, "not numbers"),
        ({**GOOD, "predicted_ms": "fast"}, "not numbers"),
        ({**GOOD, "predicted_ms": True}, "not numbers"),
        ({**GOOD, "predicted_ms": float("inf")}, "not numbers"),
        ({**GOOD, "predicted_n": None}, "not numbers"),
        ({**GOOD, "predicted_ms": 0.0}, "absurd"),
        ({**GOOD, "predicted_ms": 1e-9}, "absurd"),
        ({**GOOD, "predicted_n": 9.5}, "absurd"),
        ({**GOOD, "predicted_n": 8}, "8 tokens came, 9 were asked for"),
    ],
)
def test_timings_that_cannot_be_counted(timings: dict[str, Any] | None, reason: str) -> None:
    answer = {"timings": timings, "cached_tokens": None, "first_ns": 1}
    assert reason in measure.flaw_of(answer, 9)
    assert bool(measure.flaw_of(answer, 9)) is bool(reason)
    assert "5 prompt tokens" in measure.flaw_of({"timings": GOOD, "cached_tokens": 5, "first_ns": 1}, 9)
    assert "no text" in measure.flaw_of({"timings": GOOD, "cached_tokens": 0, "first_ns": None}, 9)


def test_bodies_for_both_routes() -> None:
    chat = body_for("/v1/chat/completions", {"temperature": 0, "max_tokens": 1}, ["hello"], 129)
    assert chat["messages"] == [{"role": "user", "content": "hello"}]
    assert (chat["max_tokens"], chat["stream"], chat["stream_options"]) == (129, True, {"include_usage": True})
    plain = body_for("/completion", {}, ["hello"], 129)
    assert (plain["prompt"], plain["n_predict"]) == ("hello", 129)


def test_hash_is_kept_while_the_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"one")
    real = preflight.cached_sha256(str(tmp_path), str(path), lambda: None)  # type: ignore[arg-type]
    store = tmp_path / "hashes.json"
    store.write_text(store.read_text().replace(real, "kept"))
    assert preflight.cached_sha256(str(tmp_path), str(path), lambda: None) == "kept"  # type: ignore[arg-type]
    path.write_bytes(b"other")
    assert preflight.cached_sha256(str(tmp_path), str(path), lambda: None) not in (real, "kept")  # type: ignore[arg-type]


# --- port


def test_a_stranger_on_the_port_is_never_talked_to(tmp_path: Path) -> None:
    added = {"host": "--host", "port": "--port", "api_key": "--api-key", "metrics": None, "alias": None}
    command = [sys.executable, "-I", "-S", scripted_engine.__file__, "-m", "x"]
    with socket.socket() as stranger, open(tmp_path / "lock", "wb") as lock:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        stranger.setblocking(False)
        engine = Engine(1, [*command], added, HELP)  # type: ignore[arg-type]
        place = engine._argv.index(str(engine.port))
        engine.port = engine.door.port = stranger.getsockname()[1]
        engine._argv[place] = str(engine.port)
        engine.start(str(tmp_path), dict(os.environ), lock.fileno())
        try:
            with pytest.raises(ForeignPort):
                engine.wait_ready(10, Watch(str(tmp_path), 20, lambda who: None))
            with pytest.raises(BlockingIOError):
                stranger.accept()
        finally:
            engine.stop(0.1)


# --- probe


def test_probe_tells_everything_of_a_noisy_engine_and_odd_models(box: Box, tmp_path: Path) -> None:
    roots = tmp_path / "models"
    (roots / "a" / "b").mkdir(parents=True)
    (roots / "x.gguf").write_bytes(gguf(ARCH))
    (roots / "a" / "y.gguf").write_bytes(b"no")
    (roots / "a" / "b" / "too-deep.gguf").write_bytes(gguf(ARCH))
    broken = [{"id": "broken", "argv": ["/nowhere/engine"]}, {"id": "silent", "argv": [sys.executable, "-c", ""], "env": {}}]
    box.allow(engines=[box.engine(), *broken], models=[{"name": "gone", "path": "/nowhere/m.gguf"}], model_roots=[str(roots), "/nowhere"])
    found = box.verb("probe")
    assert {e["id"]: e["ok"] for e in found["engines"]} == {"scripted": True, "broken": False, "silent": False}
    assert "version: 1234 (scripted)" in found["engines"][0]["version_text"]
    assert "--spec-draft-n-max" in found["engines"][0]["help_text"]
    models = {m["name"]: m for m in found["models"]}
    assert set(models) == {"gone", "x", "y"}
    assert models["x"]["header"]["architecture"] == "glm4moe"
    assert "Not a GGUF file" in models["y"]["error"]
    assert models["gone"]["error"]
    assert (found["agent"], found["busy"], found["boot_id"]) == (box.sha, None, proc.boot_id())


def test_a_login_shell_that_talks_does_not_hide_the_answer(box: Box) -> None:
    shell = "echo 'Welcome! @@draftledger {\"fake\": 1}'; printf 'no newline'; " + " ".join(box.command("state", run_id_of(1)))
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith('@@draftledger {"alive": false')


def nvidia(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    tool = folder / "nvidia-smi"
    tool.write_text("#!/bin/sh\n" + body)
    tool.chmod(0o700)
    monkeypatch.setattr(outside.shutil, "which", lambda name: str(tool))
    return outside.gpus()


def test_gpus_are_present_none_or_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "GPU_LIMIT_S", 0.3)
    found = nvidia(tmp_path, "echo 'NVIDIA X, 24576, 550.1'", monkeypatch)
    assert (found["state"], found["list"][0]["memory_mib"]) == ("present", 24576)
    assert nvidia(tmp_path, "echo 'No devices were found'; exit 6", monkeypatch)["state"] == "none"
    assert nvidia(tmp_path, "echo 'Driver/library version mismatch'; exit 18", monkeypatch)["state"] == "unknown"
    slow = nvidia(tmp_path, "sleep 60", monkeypatch)
    assert (slow["state"], "no answer" in slow["why"]) == ("unknown", True)
    monkeypatch.setattr(outside.shutil, "which", lambda name: None)
    monkeypatch.setattr(outside, "_GPU_DEVICES", ("/nowhere",))
    assert outside.gpus()["state"] == "none"
    monkeypatch.setattr(outside, "_GPU_DEVICES", ("/dev/null",))
    assert outside.gpus()["state"] == "unknown"
    assert (outside.others_on_gpu("none"), outside.others_on_gpu("unknown")) == ("n/a", None)


def test_stage_names_travel_with_the_stage() -> None:
    assert Stage("step", 2, 1, 3).as_json() == {"kind": "step", "n_max": 2, "c": 1, "repetitions": 3, "name": "n=2"}
