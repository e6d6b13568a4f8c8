"""The launcher behaves as llama-server does: flags, refusals, exit codes, routes and log, with the real engine behind it."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import xllamacpp

from tests.engine.conftest import LAUNCHER, PATIENCE_S, Launch, Make, free_port, run_launcher

MTP = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "2")
SPEC_TYPES = (
    "none draft-simple draft-eagle3 draft-mtp draft-dflash draft-dspark ngram-simple ngram-map-k ngram-map-k4v ngram-mod ngram-cache"
)

REFUSED = [
    (["--foo"], "error: invalid argument: --foo"),
    (["-m", "x.gguf", "--port=5000"], "error: invalid argument: --port=5000"),
    (["stray"], "error: invalid argument: stray"),
    (["-m"], 'error while handling argument "-m": expected value for argument'),
    (["-c", "many"], 'error while handling argument "-c": stoi'),
    (["-c", "-1"], 'error while handling argument "-c": invalid value'),
    (["-np", "0"], 'error while handling argument "-np": invalid value for n_parallel'),
    (["--port", "70000"], 'error while handling argument "--port": invalid port'),
    (["--spec-draft-p-min", "1.5"], 'error while handling argument "--spec-draft-p-min": stof'),
    (["--spec-synth-rates", "0.5,x"], 'error while handling argument "--spec-synth-rates": stof'),
    (["-fa", "maybe"], "(known: on, off, auto)"),
    (["-ctk", "q9_0"], "(known: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1)"),
    (["-ot", "blk=NOWHERE"], 'error while handling argument "-ot": unknown buffer type'),
    (["--spec-type", "mtp"], f"unknown speculative type: mtp (known: {SPEC_TYPES.replace(' ', ', ')})"),
    (["--spec-type", "draft-mtp,draft"], "unknown speculative type: draft (known: "),
    (["--draft-max", "3"], "the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"),
    (["--draft-min", "1"], "the argument has been removed. use --spec-draft-n-min or --spec-ngram-mod-n-min"),
    (["-c", "512"], "error: --model is required"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refuses_as_the_real_binary(arguments: list[str], message: str) -> None:
    done = run_launcher(*arguments)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_a_refused_value_shows_that_flags_usage() -> None:
    assert "usage:\n-c,    --ctx-size N  " in run_launcher("-c", "many").stderr


def test_help_lists_each_flag_on_its_own_line_with_its_aliases() -> None:
    done = run_launcher("--help")
    assert (done.returncode, done.stderr) == (0, "")
    starts = [line.split("  " if not line.startswith("-m") else "   ")[0] for line in done.stdout.splitlines() if line.startswith("-")]
    for wanted in ("-ncmoe, --n-cpu-moe N", "--spec-draft-n-max N", "--metrics", "--spec-synth-rates P0,P1,...", "--api-key KEY"):
        assert wanted in starts
    assert "-m,    --model FNAME " in done.stdout
    assert "-lv,   --verbosity, --log-verbosity N " in done.stdout
    assert "-md,   --model-draft, --spec-draft-model FNAME" in done.stdout
    assert f"--spec-type {SPEC_TYPES.replace(' ', '|')}\n" in done.stdout
    assert done.stdout == run_launcher("-h").stdout


def test_version_names_the_wheels_build_and_invents_no_commit() -> None:
    done = run_launcher("--version")
    assert xllamacpp.BUILD_INFO["commit"] == "unknown", "the wheel names a commit now: print that one"
    version = xllamacpp.__version__
    assert done.stderr.splitlines()[0] == f"version: {version.rsplit('.', 1)[1]} ({version})"
    assert done.stderr.splitlines()[1].startswith(f"built with {xllamacpp.BUILD_INFO['compiler']} for ")
    assert (done.returncode, done.stdout) == (0, "")


def test_works_copied_alone_into_another_folder(tmp_path: Path) -> None:
    copy = shutil.copy(LAUNCHER, tmp_path / "engine.py")
    done = subprocess.run([sys.executable, "-I", copy, "--version"], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr[:9]) == (0, b"version: ")


def test_a_missing_model_is_named_and_ends_with_1(tmp_path: Path) -> None:
    done = run_launcher("-m", str(tmp_path / "none.gguf"), "--port", str(free_port()))
    assert done.returncode == 1
    assert f"failed to load model, '{tmp_path / 'none.gguf'}'" in done.stderr


def test_a_cut_model_ends_with_1(made: Make, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(made("dense-right").read_bytes()[:-5000])
    done = run_launcher("-m", str(cut), "--port", str(free_port()))
    assert done.returncode == 1
    assert "data is not within the file bounds" in done.stderr
    assert f"failed to load model, '{cut}'" in done.stderr


def test_a_taken_port_ends_with_1(made: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = run_launcher("-m", str(made("dense-right")), "--port", str(port))
    assert done.returncode == 1
    assert f"couldn't bind HTTP server socket, hostname: 127.0.0.1, port: {port}" in done.stderr


def test_two_engines_never_share_a_port(made: Make, launch: Launch) -> None:
    first = launch("-m", str(made("dense-right")))
    second = run_launcher("-m", str(made("dense-right")), "--port", first.url.rsplit(":", 1)[1])
    assert (second.returncode, "couldn't bind HTTP server socket" in second.stderr) == (1, True)
    assert first.ask("/health").body == {"status": "ok"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_frees_the_port(made: Make, launch: Launch, number: signal.Signals) -> None:
    engine = launch("-m", str(made("dense-right")))
    engine.process.send_signal(number)
    assert engine.process.wait(PATIENCE_S) == 0
    with socket.create_server(("127.0.0.1", int(engine.url.rsplit(":", 1)[1]))):
        pass


def test_an_open_stream_does_not_hold_up_the_end(made: Make, launch: Launch) -> None:
    engine = launch("-m", str(made("dense-right")), "-c", "8192")
    body = json.dumps({"prompt": "a", "n_predict": -1, "ignore_eos": True, "stream": True}).encode()
    head = f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", int(engine.url.rsplit(":", 1)[1]))) as client:
        client.sendall(head + body)
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        engine.process.terminate()
        assert engine.process.wait(10) == 0  # the wheel's own way of closing waits 30 s here


def test_the_host_is_honoured(made: Make) -> None:
    done = run_launcher("-m", str(made("dense-right")), "--host", "192.0.2.1", "--port", str(free_port()))
    assert (done.returncode, "couldn't bind HTTP server socket, hostname: 192.0.2.1" in done.stderr) == (1, True)


def test_without_a_host_only_the_loopback_is_bound(made: Make, launch: Launch) -> None:
    engine = launch("-m", str(made("dense-right")))
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", int(engine.url.rsplit(":", 1)[1]))):
        pass


def test_the_api_key_guards_everything_but_health(made: Make, launch: Launch) -> None:
    engine = launch("-m", str(made("dense-right")), "--metrics", "--api-key", "sesame,second")
    assert engine.ask("/health").status == 200
    for path in ("/props", "/metrics", "/slots", "/v1/models"):
        assert [engine.ask(path, key=key).status for key in ("", "wrong", "sesame", "second")] == [401, 401, 200, 200]
    assert engine.chat("hello", 3).status == 401
    assert engine.ask("/completion", {"prompt": "a", "n_predict": 1}, key="second").status == 200


def test_routes_answer_with_what_was_asked_for(made: Make, launch: Launch) -> None:
    engine = launch("-m", str(made("dense-right")), "-c", "2048", "-np", "2", "-a", "nickname", "--metrics", *MTP)
    props = engine.ask("/props").body
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (2, 1024)
    assert [model["id"] for model in engine.ask("/v1/models").body["data"]] == ["nickname"]
    assert engine.ask("/completion", {"prompt": "abc", "n_predict": 5, "ignore_eos": True}).body["content"] == "defgh"
    assert engine.metrics()["llamacpp:tokens_predicted_total"] == 5
    assert [slot["speculative"] for slot in engine.ask("/slots").body] == [True, True]


def test_metrics_are_off_unless_asked_for(made: Make, launch: Launch) -> None:
    assert launch("-m", str(made("dense-right"))).ask("/metrics").status == 501


@pytest.mark.parametrize("usage", [False, True])
def test_a_stream_brings_its_timings_once_at_the_end(made: Make, launch: Launch, usage: bool) -> None:
    engine = launch("-m", str(made("dense-right")), *MTP)
    reply = engine.chat("hello", 20, stream=True, stream_options={"include_usage": usage})
    *events, last = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ")]
    parsed = [json.loads(event) for event in events]
    assert last == "[DONE]"
    assert ["timings" in event for event in parsed] == [False] * (len(parsed) - 1) + [True]
    assert parsed[-1]["timings"].keys() >= {
        "prompt_n",
        "prompt_ms",
        "predicted_n",
        "predicted_ms",
        "cache_n",
        "draft_n",
        "draft_n_accepted",
    }
    assert (parsed[-1].get("usage", {}).get("completion_tokens"), parsed[-1]["timings"]["predicted_n"]) == (20 if usage else None, 20)
    texts = [event["choices"][0]["delta"].get("content") for event in parsed if event["choices"]]
    assert "".join(text or "" for text in texts) == "pqrstuvwxyzABCDEFGHI"


def test_level_4_logs_placement_cache_and_build(made: Make, launch: Launch) -> None:
    engine = launch("-m", str(made("dense-right")), "-lv", "4", "-c", "1024", "-t", "1", "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on", *MTP)
    assert "CPU_Mapped model buffer size" in engine.log
    assert "K (q8_0)" in engine.log and "V (q8_0)" in engine.log
    assert "n_threads = 1 (n_threads_batch = 1)" in engine.log


def test_level_3_hides_placement(made: Make, launch: Launch) -> None:
    assert "model buffer size" not in launch("-m", str(made("dense-right"))).log


def test_load_mode_none_reads_into_memory(made: Make, launch: Launch) -> None:
    log = launch("-m", str(made("dense-right")), "-lv", "4", "-lm", "none").log
    assert "CPU model buffer size" in log and "CPU_Mapped" not in log


@pytest.mark.parametrize(
    ("flags", "moved"),
    [
        (["-ncmoe", "1"], {"blk.0.ffn_gate_exps", "blk.0.ffn_up_exps", "blk.0.ffn_down_exps"}),
        (["-cmoe"], {f"blk.{layer}.ffn_{part}_exps" for layer in (0, 1) for part in ("gate", "up", "down")}),
        (["-ot", "blk.1.attn_q=CPU", "-ot", "blk.0.attn_k=CPU"], {"blk.1.attn_q", "blk.0.attn_k"}),
    ],
)
def test_overrides_reach_the_named_tensors(made: Make, launch: Launch, flags: list[str], moved: set[str]) -> None:
    log = launch("-m", str(made("moe-wrong-3")), "-lv", "5", "-fit", "off", *flags).log
    lines = [line.split("tensor ")[1].split(".weight")[0] for line in log.splitlines() if "buffer type overridden to CPU" in line]
    assert set(lines) == moved


def test_a_draft_model_alone_means_plain_drafting(made: Make, launch: Launch) -> None:
    model = str(made("dense-right"))
    engine = launch("-m", model, "-md", model, "--spec-draft-n-max", "2", "-lv", "4")
    timings = engine.chat("hello", 129).body["timings"]
    assert (timings["draft_n"], timings["draft_n_accepted"]) == (85, 85)
    assert "#gen tokens =     85" in engine.await_log("statistics     draft-simple:")


@pytest.mark.parametrize(("rates", "accepted"), [("1,1", 85), ("0,0", 0)])
def test_synthetic_rates_force_the_acceptance(made: Make, launch: Launch, rates: str, accepted: int) -> None:
    engine = launch("-m", str(made("dense-wrong-5")), "--spec-synth-rates", rates, *MTP)
    timings = engine.chat("hello", 129).body["timings"]
    assert timings["draft_n_accepted"] == accepted
    assert "synthetic speculative acceptance is enabled" in engine.log


@pytest.mark.parametrize(("bounds", "drafted"), [(["--spec-draft-n-min", "3"], 0), (["--spec-draft-p-min", "0.9"], 85)])
def test_draft_bounds_are_honoured(made: Make, launch: Launch, bounds: list[str], drafted: int) -> None:
    engine = launch("-m", str(made("dense-right")), *MTP, *bounds)
    assert engine.chat("hello", 129).body["timings"].get("draft_n", 0) == drafted
