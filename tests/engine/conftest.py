"""What the engine tests share: small made models and a real engine process per test, stopped at its end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.embedded.models import ModelShape, make_model

LAUNCHER = Path(__file__).parents[2] / "core" / "embedded" / "launcher.py"
PATIENCE_S = 30.0

DENSE = {
    "dense-right": ModelShape(name="dense-right", title="small dense, head always right"),
    "dense-wrong-5": ModelShape(name="dense-wrong-5", title="small dense, wrong at every 5th", wrong_every=5),
    "dense-wrong-7": ModelShape(name="dense-wrong-7", title="small dense, wrong at every 7th", wrong_every=7, layers=3),
    "dense-wrong-1": ModelShape(name="dense-wrong-1", title="small dense, head never right", wrong_every=1, quant="Q8_0"),
}
MOE = {
    "moe-wrong-3": ModelShape(name="moe-wrong-3", title="small MoE, wrong at every 3rd", experts=4, wrong_every=3),
    "moe-wrong-17": ModelShape(name="moe-wrong-17", title="small MoE, wrong at every 17th", experts=8, quant="Q8_0", wrong_every=17),
}
SHAPES = DENSE | MOE


@dataclass
class Reply:
    """An HTTP reply: status and body."""

    status: int
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass
class Engine:
    """A running engine process: its address, its log so far, and requests to it."""

    process: subprocess.Popen[bytes]
    url: str
    log_file: Path

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def ask(self, path: str, body: dict[str, Any] | None = None, key: str = "") -> Reply:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body else None, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return Reply(answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read().decode())

    def chat(self, message: str, length: int, **more: Any) -> Reply:
        fixed = {"ignore_eos": True, "max_tokens": length, "temperature": 0, "cache_prompt": False}
        return self.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": message}], **fixed, **more})

    def prompt_end(self, message: str) -> int:
        """The last token id of the prompt the chat route builds from `message`, by the engine's own template and tokenizer."""
        prompt = self.ask("/apply-template", {"messages": [{"role": "user", "content": message}]}).body["prompt"]
        return int(self.ask("/tokenize", {"content": prompt, "add_special": True, "parse_special": True}).body["tokens"][-1])

    def metrics(self) -> dict[str, float]:
        lines = [line.rsplit(" ", 1) for line in self.ask("/metrics").text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def await_log(self, wanted: str, times: int = 1) -> str:
        """The last log line holding `wanted`, once it came so often; it may come a moment after the reply."""
        deadline = time.monotonic() + PATIENCE_S
        while self.log.count(wanted) < times:
            assert time.monotonic() < deadline, f"{wanted!r} never came:\n{self.log}"
            time.sleep(0.02)
        return [line for line in self.log.splitlines() if wanted in line][-1]

    def stop(self) -> int:
        """End the process if it still runs; its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(PATIENCE_S)


def free_port() -> int:
    """A port nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_launcher(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The launcher run to its end."""
    return subprocess.run([sys.executable, str(LAUNCHER), *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)


Make = Callable[[str], Path]
Launch = Callable[..., Engine]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Path of a small made model, by name."""
    folder = tmp_path_factory.mktemp("made")
    return lambda name: make_model(SHAPES[name], folder)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Start an engine with llama-server's flags (port added) and wait until it listens; all are ended after the test."""
    started: list[Engine] = []

    def start(*arguments: str) -> Engine:
        port, log_file = free_port(), tmp_path / f"engine-{len(started)}.log"
        with open(log_file, "wb") as log:
            process = subprocess.Popen([sys.executable, str(LAUNCHER), *arguments, "--port", str(port)], stdout=log, stderr=log)
        engine = Engine(process, f"http://127.0.0.1:{port}", log_file)
        started.append(engine)
        engine.await_log(f"main: server is listening on {engine.url}")
        return engine

    yield start
    for engine in started:
        engine.stop()
