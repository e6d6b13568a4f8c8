"""Sixty payloads through everything that travels to a box: its own log holds constant commands only, and nothing of a payload happened.

What the records themselves refuse stands in tests/unit/test_typed_fields.py; here goes what they let through.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from core.config import load_workloads
from core.domain.box import Box, Engine, ModelFile, Suite
from core.domain.forms import checked
from core.domain.run import SweepRequest
from core.errors import BenchError, InvalidInput
from core.remote.agent_box import AgentBox
from core.remote.ssh_host import SshHost
from core.services.runs import Asker
from core.services.specs import spec_of
from tests.fakes.payloads import MARK, PAYLOADS
from tests.remote import fake_agent
from tests.remote.sshd_box import SshdBox
from tests.services.conftest import PROBE

WORKLOAD = load_workloads()["chat-short"]
REQUEST = {"title": "t", "box_id": "b", "engine_id": "e", "model": "m", "workload_id": "chat-short", "n_max": 1, "suites": ["s"]}
WORDS = ("title", "box_id", "engine_id", "model", "workload_id", "worksheet_id", "suites")
RUN = "a" * 32
WHO = "@WHO@"
# The box writes down what the server was asked to run, word for word, before it runs it.
LOGGER = """#!/bin/sh
printf '%s\\0' "$SSH_ORIGINAL_COMMAND" >> "$HOME/commands"
case "$SSH_ORIGINAL_COMMAND" in *sftp*) exec /usr/lib/openssh/sftp-server;; esac
exec /bin/bash -c "$SSH_ORIGINAL_COMMAND"
"""
CONSTANT = re.compile(
    r"(?:internal-sftp|find /tmp -maxdepth 1 -name [a-z-]+|sh -c 'echo \"\$HOME\"'"
    r"|python3 -c '[^']+' /\S+ /\S+\.pyz"
    r"|python3 /\S+/agent/[0-9a-f]{64}\.pyz --root /[A-Za-z0-9_/.-]+"
    rf" (?:probe|reap|(?:start|state) [0-9a-f]{{32}}|cancel [0-9a-f]{{32}} --who {WHO}))"
)


@pytest.fixture(scope="module")
def logging_box():
    """A box whose server hands every command to its log first."""
    folder = Path(tempfile.mkdtemp(prefix="dllog-"))
    folder.chmod(0o755)
    logger = folder / "logger"
    logger.write_text(LOGGER)
    logger.chmod(0o755)
    with SshdBox(extra=f"ForceCommand {logger}") as running:
        yield running
    shutil.rmtree(folder)


def commands_on(box):
    return (box.home / "commands").read_bytes().decode("utf-8", "replace").split("\0")[:-1]


def let_through(record, values, field, payload):
    """The values with the payload in that field, where the record takes it; else as they were."""
    changed = {**values, field: [payload] if isinstance(values.get(field), list) else payload}
    try:
        checked(record, changed)
    except InvalidInput:
        return values
    return changed


def registration():
    """Every payload in every place that takes it: names and paths of engines, models and suites, and a suite's arguments."""
    engines, models, suites = [], [], []
    for payload in PAYLOADS:
        engine = let_through(Engine, {"id": "e", "argv": ["/e"]}, "id", payload)
        engines.append(Engine(**let_through(Engine, engine, "argv", f"/opt/{payload}")))
        model = let_through(ModelFile, {"name": "m", "path": "/m"}, "name", payload)
        models.append(ModelFile(**let_through(ModelFile, model, "path", f"/m/{payload}")))
        suite = let_through(Suite, {"id": "s", "argv": ["/s"]}, "id", payload)
        more = let_through(Suite, {"id": "s", "argv": ["/s"]}, "argv", f"/s/{payload}")["argv"]
        plain = "" if "\ud800" in payload else payload
        suites.append(Suite(**{**suite, "argv": more + [part for part in (plain, f"-{plain}") if part.isprintable() and len(part) < 1000]}))
    return Box(box_id="b", name="b", kind="ssh", engines=engines, models=models, model_roots=["/r/$(x)"], suites=suites)


def run_of(payload):
    """(request, who asks) with the payload in every field that takes it."""
    values = REQUEST
    for field in WORDS:
        values = let_through(SweepRequest, values, field, payload)
    return checked(SweepRequest, values), let_through(Asker, {"by": "Ada"}, "by", payload)["by"]


def spec_with(run_id, box, request, who):
    report = {
        "gpus": {"state": "none"},
        "models": [{**PROBE["models"][0], "name": request.model}],
        "engines": [{**PROBE["engines"][0], "id": request.engine_id}],
    }
    own = box.model_copy(update={"suites": [Suite(id=request.suites[0], argv=["/s"])]})
    return spec_of(run_id=run_id, request=request, box=own, workload=WORKLOAD, report=report, who=who, head="", grace_s=1.0)


def attempt(work):
    try:
        work()
    except BenchError:
        return False
    return True


def test_the_boxs_own_log_holds_constant_commands_only(logging_box):
    """Registrations, runs, ids, file names and who asks to stop, each with every payload, against a real sshd."""
    host, sent = SshHost(logging_box.address()), 0
    root = str(logging_box.home / "injected")
    box = registration()
    asked = AgentBox(host, root=root, python=["python3"], allow=box.allow(), bundle=fake_agent.build)
    assert asked.probe()["allow"] == box.allow(), "what was registered is there, letter by letter, and was run by nobody"
    for number, payload in enumerate(PAYLOADS):
        run_id, (request, who) = f"{number:032x}", run_of(payload)
        assert asked.submit(run_id, spec_with(run_id, box, request, who))["answer"] == "started"
        sent += attempt(lambda run_id=run_id, payload=payload: asked.cancel(run_id, payload))
        for refused in (
            lambda payload=payload: asked.state(payload),
            lambda payload=payload: asked.submit(payload, {"x": payload}),
            lambda payload=payload: asked.read_events(payload, 0),
            lambda payload=payload: asked.read_log(RUN, payload, 0),
            lambda payload=payload: asked.log_size(RUN, payload),
        ):
            assert not attempt(refused), payload
        kept = json.loads((logging_box.home / "injected/runs" / run_id / "spec.json").read_text())
        assert kept["requested_by"] == who and kept["model"]["name"] == request.model
        assert all(re.fullmatch(r"\{model\}|-{0,2}[a-z][a-z-]*|\d+", word) for arm in kept["arms"] for word in arm["args"])
    assert 10 < sent < len(PAYLOADS), "only who asks to stop may hold odd characters"
    assert {path.name for path in (logging_box.home / "injected/runs").iterdir()} == {f"{n:032x}" for n in range(len(PAYLOADS))}
    assert host.run(["find", "/tmp", "-maxdepth", "1", "-name", MARK]).out == b""
    host.close()
    ran, who = commands_on(logging_box), re.compile(r"(?<= --who ).*\Z", re.DOTALL)
    assert len(ran) > len(PAYLOADS) + sent
    assert [line for line in ran if not CONSTANT.fullmatch(who.sub(WHO, line))] == []
    said = [found.group() for found in (who.search(line) for line in ran) if found]
    assert len(said) == sent and all(_is_one_word(text) for text in said), "a name is one word to the shell, whatever is in it"


def _is_one_word(text):
    """Bare safe characters, or in single quotes with each inner one escaped the way every shell reads."""
    return re.fullmatch(r"[A-Za-z0-9@%+=:,./_-]+|'[^']*'(?:\"'\"'[^']*')*", text) is not None
