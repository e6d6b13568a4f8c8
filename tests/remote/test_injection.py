"""Sixty payloads through every field that can reach a box: what the box ran is constant commands, and nothing of a payload happened."""

from __future__ import annotations

import json
import re

import pytest

from core.agent.flags import FlagProblem, check
from core.config import load_workloads
from core.domain.box import Box, BoxForm, Engine, ModelFile
from core.domain.forms import checked
from core.domain.run import SweepRequest
from core.errors import BenchError, InvalidInput
from core.remote.agent_box import AgentBox
from core.remote.ssh_host import SshHost
from core.services.specs import spec_of
from tests.remote import fake_agent
from tests.services.conftest import HELP, PROBE

MARK = "owned-by-a-payload"
DO = f"touch /tmp/{MARK}"
PAYLOADS = [
    f"; {DO}", f"& {DO}", f"&& {DO}", f"| {DO}", f"|| {DO}", f"`{DO}`", f"$({DO})", f"${{IFS}}{DO}", f"\n{DO}", f"\r\n{DO}\r\n",
    f"\0{DO}", f"' ; {DO} #", f'" ; {DO} #', f"'; {DO}; '", f'"; {DO}; "', f"\\'; {DO}", f"$'{DO}'", f"x$(echo;{DO})", f"<({DO})",
    f">({DO})", f"> /tmp/{MARK}", f">> /tmp/{MARK}", "< /etc/passwd", f"{{touch,/tmp/{MARK}}}", f"x; {DO} &", f"%0a{DO}", f"%3B{DO}",
    f"!{DO}", f"^x^{DO}", "~root", "$HOME", "${PATH}", "$0", "$$", "*", "?", "[a-z]*", "../../../../etc/passwd", "..\\..\\x",
    "/etc/shadow", "%2e%2e/%2e%2e", "....//", "C:\\x", "\\\\host\\share", "-rf", "--", "-", "--help", "--host 0.0.0.0", "--host=0.0.0.0",
    "-hf evil/model", "--slot-save-path /tmp", "--tools all", "--log-file /tmp/x", "-oProxyCommand=touch /tmp/x", "\u2028" + DO,
    "\u202e" + DO, "\x1b]0;x\x07", "\ufeff" + DO, "A" * 5000, "\ud800", "{model}", "{model:../x}", "%s%n%x", "{{7*7}}",
]  # fmt: skip
FORM = {"name": "b", "host": "h", "user": "u", "key_path": "/k", "engine": "/opt/llama-server", "models": "/models", "python": "python3"}
WORKLOAD = load_workloads()["chat-short"]
REQUEST = {"title": "t", "box_id": "b", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 1}
REPORT = {**PROBE, "gpus": {"state": "none"}}
CONSTANT = re.compile(
    r"\S*python3 (?:-c \S.* /\S+ /\S+|/\S+\.pyz --root /\S+ (?:probe|reap|(?:start|state) [0-9a-f]{32}|cancel [0-9a-f]{32} --who .*))",
    re.DOTALL,
)


def test_there_are_sixty_different_ones():
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60


class Logged(SshHost):
    """A real host that writes down every argument list it is given."""

    def __init__(self, address):
        super().__init__(address)
        self.ran = []

    def run(self, argv, *, deadline_s=30.0, stdin=b""):
        self.ran.append(list(argv))
        return super().run(argv, deadline_s=deadline_s, stdin=stdin)


def refused_or(work):
    """What the work gives; None where it was refused with a sentence."""
    try:
        return work()
    except BenchError:
        return None


@pytest.mark.parametrize("field", ["host", "user", "engine", "models", "python", "key_path", "name"])
def test_a_registration_takes_no_payload_where_it_could_become_a_command(field):
    for payload in PAYLOADS:
        form = refused_or(lambda payload=payload: checked(BoxForm, {**FORM, field: payload}))
        if form is None:
            continue
        value = getattr(form, field)
        if field in ("host", "user", "python"):
            assert re.fullmatch(r"[A-Za-z0-9_./:\[\]$-]+", value) and not value.startswith("-"), payload
        elif field in ("engine", "models"):
            assert value.startswith("/") and value.isprintable()


@pytest.mark.parametrize("field", ["title", "model", "engine_id", "workload_id", "box_id"])
def test_a_request_never_puts_its_words_into_an_argument_list(field):
    """Model and engine travel as ids that the box looks up; the arguments hold `{model}` and numbers."""
    for payload in PAYLOADS:
        request = refused_or(lambda payload=payload: checked(SweepRequest, {**REQUEST, field: payload}))
        if request is None:
            continue
        box = Box(
            box_id="b", name="b", kind="ssh", engines=[Engine(id="embedded", argv=["/e"])], models=[ModelFile(name="made-dense", path="/m")]
        )
        report = {
            **REPORT,
            "models": [{**REPORT["models"][0], "name": request.model}],
            "engines": [{**REPORT["engines"][0], "id": request.engine_id}],
        }
        spec = spec_of(run_id="a" * 32, request=request, box=box, workload=WORKLOAD, report=report, who="Ada", head="", grace_s=1.0)
        for arm in spec["arms"]:
            assert all(re.fullmatch(r"\{model\}|-{0,2}[a-z][a-z-]*|\d+", word) for word in arm["args"]), arm
            check(arm["args"], HELP)


@pytest.mark.parametrize("field", ["n_max", "context", "n_gpu_layers", "n_cpu_moe", "repetitions", "production_c", "order"])
def test_numbers_and_choices_take_no_text(field):
    for payload in PAYLOADS:
        with pytest.raises(InvalidInput):
            checked(SweepRequest, {**REQUEST, field: payload})


DANGEROUS = [
    "--host", "-hf", "--slot-save-path", "--tools", "--log-file", "--port", "--api-key", "--hf-repo", "--ssl-key-file", "--rpc",
    "--lora", "--media-path", "--prompt-cache", "--models-dir", "--mmproj-url", "-mu", "--path", "--grammar-file",
]  # fmt: skip


@pytest.mark.parametrize("flag", DANGEROUS)
def test_flags_that_listen_write_download_or_execute_are_refused_though_the_help_names_them(flag):
    helped = HELP + f"\n{flag} VALUE  text\n{flag.replace('-', '_', 3)} VALUE\n"
    for words in ([flag, "x"], [f"{flag}=x"], [flag.upper(), "x"], ["-c", "4096", flag, "x"]):
        with pytest.raises(FlagProblem):
            check(words, helped)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_a_value_is_a_plain_word_or_refused(payload):
    """Argument lists, never a shell: a value may hold odd characters, but no path, no NUL, and no dash in front."""
    try:
        check(["-c", payload], HELP)
    except FlagProblem:
        return
    assert "/" not in payload and "\0" not in payload and (not payload.startswith("-") or payload in HELP)


def test_the_box_itself_ran_constant_commands_only(box):
    """Every payload as run id, as file name and as who asks to stop, against a real sshd; then its files and its log are looked at."""
    logged = Logged(box.address())
    asked = AgentBox(logged, root=str(box.home / "injected"), python=["python3"], allow={"engines": []}, bundle=fake_agent.build)
    assert asked.submit("a" * 32, {"x": 1})["answer"] == "started"
    sent = 0
    for payload in PAYLOADS:
        for work in (
            lambda payload=payload: asked.state(payload),
            lambda payload=payload: asked.submit(payload, {"x": payload}),
            lambda payload=payload: asked.read_events(payload, 0),
            lambda payload=payload: asked.read_log("a" * 32, payload, 0),
            lambda payload=payload: asked.log_size("a" * 32, payload),
            lambda payload=payload: asked.cancel("a" * 32, payload),
        ):
            sent += refused_or(work) is not None
    assert 10 < sent < len(PAYLOADS), "only who asks to stop may hold odd characters"
    assert asked.submit("b" * 32, {"note": "".join(PAYLOADS).encode("utf-8", "replace").decode()})["answer"] == "started"
    for argv in logged.ran:
        assert CONSTANT.fullmatch(" ".join(argv)) and len(argv) <= 8, argv
    assert {path.name for path in (box.home / "injected" / "runs").iterdir()} == {"a" * 32, "b" * 32}
    found = logged.run(["find", "/tmp", "-maxdepth", "1", "-name", MARK])
    assert found.out == b""
    kept = json.loads((box.home / "injected" / "runs" / ("b" * 32) / "spec.json").read_text())
    assert MARK in kept["note"]
    logged.close()
