"""A box in a temporary folder: the packed agent as a real process, the scripted engine as a real server."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.agent import cgroup, journal, leftovers, proc
from core.remote.agent_bundle import build

ENGINE = Path(__file__).parents[1] / "fakes" / "scripted_engine.py"
FRAME = "@@draftledger "
PROMPTS = [{"id": f"p{i}", "text": f"prompt {i}", "sha256": hashlib.sha256(f"prompt {i}".encode()).hexdigest()} for i in range(4)]


# The agent finds what is left of a run by the run's id, machine-wide: two test runs side by side must not share ids.
SESSION = secrets.token_hex(12)


def run_id_of(number: int) -> str:
    return f"{SESSION}{number:08x}"


class Box:
    """Verbs of the agent on a root of its own, and what it wrote there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        data, sha = build()
        self.sha = sha
        self.pyz = root / "agent" / f"{sha}.pyz"
        self.pyz.parent.mkdir(parents=True)
        self.pyz.write_bytes(data)
        self.model = root / "made.gguf"
        self.model.write_bytes(b"not really a model")
        self.facts_path = root / "engine-facts.jsonl"
        self.numbers: list[int] = []
        self.script()

    def script(self, **behaviour: Any) -> None:
        """What the engine does from its next start on."""
        text = json.dumps({"facts": str(self.facts_path), **behaviour})
        self.allow(engines=[self.engine(text)])

    def engine(self, script: str = "{}", argv: list[str] | None = None) -> dict[str, Any]:
        command = argv or [sys.executable, "-I", "-S", str(ENGINE)]
        return {"id": "scripted", "kind": "llama.cpp", "argv": command, "env": {"SCRIPTED_ENGINE": script}}

    def allow(self, **changes: Any) -> None:
        listed = {"engines": [self.engine()], "models": [{"name": "made", "path": str(self.model)}], "model_roots": [], **changes}
        (self.root / "allow.json").write_text(json.dumps(listed))

    def spec(self, number: int = 1, **changes: Any) -> dict[str, Any]:
        """A spec for the scripted engine; keys of `changes` replace whole entries, `plan` and `limits` are merged."""
        plan = {"n_max": 3, "repetitions": 3, "production_c": 1, "is_moe": False, "placement": "host-only", **changes.pop("plan", {})}
        limits = {"lifetime_s": 60, "load_s": 20, "request_s": 20, "grace_s": 0.3, **changes.pop("limits", {})}
        return {
            "format": 1,
            "run_id": run_id_of(number),
            "requested_by": "Ada",
            "decision_head": "",
            "plan": plan,
            "limits": limits,
            "engine": {"id": "scripted"},
            "model": {"name": "made"},
            "arms": [arm(n, c) for c in sorted({1, plan["production_c"]}) for n in range(plan["n_max"] + 1)],
            "added": {"host": "--host", "port": "--port", "api_key": "--api-key", "metrics": "--metrics", "alias": "--alias"},
            "request": {"route": "/v1/chat/completions", "max_tokens": 9, "body": {"temperature": 0, "cache_prompt": False}},
            "prompts": PROMPTS,
            **changes,
        }

    def put(self, spec: dict[str, Any], number: int = 1) -> str:
        folder = self.folder(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "spec.json").write_text(json.dumps(spec))
        return run_id_of(number)

    def folder(self, number: int = 1) -> Path:
        return self.root / "runs" / run_id_of(number)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.pyz), "--root", str(self.root), *arguments]

    def verb(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=60, check=True)
        return framed(done.stdout)

    def begin(self, number: int = 1, **changes: Any) -> dict[str, Any]:
        """Puts a spec and starts it; the run is watched over until the test ends."""
        self.put(self.spec(number, **changes), number)
        answer = self.verb("start", run_id_of(number))
        self.numbers.append(number)
        return answer

    def sweep(self, number: int = 1, **changes: Any) -> list[dict[str, Any]]:
        """Runs a sweep to its end and gives its events, chain checked."""
        assert self.begin(number, **changes)["answer"] == "started"
        return self.ended(number)

    def ended(self, number: int = 1) -> list[dict[str, Any]]:
        wait_for(lambda: self.last(number).get("kind") == "run_finished", "the run to finish", limit_s=150.0)
        wait_for(lambda: not self.is_alive(number), "the agent to go")
        events = self.events(number)
        check_chain(events)
        return events

    def wait_end(self, limit_s: float, number: int = 1) -> None:
        """Waits for a run that takes longer than most."""
        wait_for(lambda: self.last(number).get("kind") == "run_finished", "the run to finish", limit_s)

    def last(self, number: int = 1) -> dict[str, Any]:
        return journal.last_event(str(self.folder(number) / "events.jsonl")) or {}

    def events(self, number: int = 1) -> list[dict[str, Any]]:
        lines = (self.folder(number) / "events.jsonl").read_bytes().split(b"\n")
        return [event for event in map(journal.whole_event, lines) if event is not None]

    def wait_kind(self, kind: str, number: int = 1, count: int = 1) -> None:
        wait_for(lambda: sum(e["kind"] == kind for e in self.events(number)) >= count, f"{count} x {kind}")

    def facts(self) -> list[dict[str, Any]]:
        """One entry for every engine start."""
        return [json.loads(line) for line in self.facts_path.read_text().splitlines()] if self.facts_path.exists() else []

    def assert_clean(self) -> None:
        """Nothing of the box lives: no tagged process, no daemon, no port, the lock free."""
        for number in self.numbers:
            assert proc.tagged(run_id_of(number)) == []
        for fact in self.facts():
            assert [pid for pid in [fact["pid"], *fact["daemons"]] if proc.look(pid)] == []
            with socket.socket() as probe:
                assert probe.connect_ex(("127.0.0.1", fact["port"])) != 0
        assert self.lock_is_free()

    def lock_is_free(self) -> bool:
        with open(self.root / "box.lock", "a+b") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def agent_pid(self, number: int = 1) -> int:
        return int(json.loads((self.folder(number) / "agent.json").read_text())["pid"])

    def kill(self, number: int = 1, *, with_guard: bool = False) -> None:
        """SIGKILL to the agent; `with_guard`: to its guard before, so that nobody clears up after it."""
        agent = proc.look(self.agent_pid(number))
        assert agent is not None
        if with_guard:
            os.kill(agent.ppid, signal.SIGKILL)
        os.kill(agent.pid, signal.SIGKILL)
        wait_for(lambda: not self.is_alive(number), "the agent to die")

    def is_alive(self, number: int = 1) -> bool:
        return leftovers.is_alive(leftovers.read_agent(str(self.folder(number))))

    def clear_up(self) -> None:
        self._clear_processes()
        for number in self.numbers:
            cgroup.remove(str(leftovers.read_agent(str(self.folder(number))).get("cgroup", "")))

    def _clear_processes(self) -> None:
        for number in self.numbers:
            for item in proc.tagged(run_id_of(number)):
                with contextlib.suppress(OSError):
                    os.kill(item.pid, signal.SIGKILL)
            if self.is_alive(number):
                os.kill(self.agent_pid(number), signal.SIGKILL)
        for pid in [pid for fact in self.facts() for pid in [fact["pid"], *fact["daemons"]] if proc.look(pid)]:
            os.kill(pid, signal.SIGKILL)


def arm(n_max: int, c: int) -> dict[str, Any]:
    args = ["-m", "{model}", "-c", "4096", "-np", str(c), "-lv", "4"]
    return {"n_max": n_max, "c": c, "args": args + (["--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_max)] if n_max else [])}


def framed(text: str) -> dict[str, Any]:
    line = text.rstrip("\n").splitlines()[-1]
    assert line.startswith(FRAME)
    return json.loads(line[len(FRAME) :])


def wait_for(holds: Callable[[], bool], what: str, limit_s: float = 40.0) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def check_chain(events: list[dict[str, Any]]) -> None:
    """Numbers without a gap, every line linked to the one before, every hash right, the end counted right."""
    previous = ""
    for number, event in enumerate(events, start=1):
        assert (event["seq"], event["prev"]) == (number, previous)
        assert journal.sha_of(event) == event["sha"]
        previous = event["sha"]
    assert events[-1]["kind"] == "run_finished"
    assert events[-1]["events"] == len(events)
