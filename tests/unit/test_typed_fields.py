"""Sixty payloads through every field of every record that reaches a box: refused, or a plain value that is taken for no flag.

The fields are read from the records themselves: a new one is tried without anybody thinking of it.
"""

from __future__ import annotations

import re
import tomllib

import pytest
import tomli_w

from core.config import load_workloads
from core.domain.box import Box, BoxForm, Engine, ModelFile, Suite
from core.domain.engine_flags import FlagProblem, check, refused_in_command
from core.domain.forms import checked
from core.domain.recipe import digest
from core.domain.run import Proposal, SweepRequest
from core.errors import InvalidInput, PreflightRefused
from core.services.recipes import sweep_of_recipe
from core.services.runs import Asker
from core.services.specs import spec_of
from tests.fakes.payloads import MARK, PAYLOADS
from tests.services.conftest import HELP, PROBE

FORM = {"name": "b", "host": "h", "user": "u", "key_path": "/k", "engine": "/opt/llama-server", "models": "/models", "python": "python3"}
REQUEST = {"title": "t", "box_id": "b", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 1}
RECORDS = {
    "box form": (BoxForm, FORM),
    "locked box form": (BoxForm, {**FORM, "mode": "locked", "engine": "e", "models": ""}),
    "engine": (Engine, {"id": "e", "argv": ["/e"]}),
    "model": (ModelFile, {"name": "m", "path": "/m"}),
    "suite": (Suite, {"id": "s", "argv": ["/s"]}),
    "suite with a pattern": (Suite, {"id": "s", "argv": ["/s"], "by": "regex", "at": "passed ([0-9]+)"}),
    "run": (SweepRequest, REQUEST),
    "who asks": (Asker, {"by": "Ada"}),
}
FIELDS = [(name, field) for name, (record, _) in RECORDS.items() for field in record.model_fields]
WORKLOAD = load_workloads()["chat-short"]
REPORT = {**PROBE, "gpus": {"state": "none"}}
WORD = re.compile(r"\{model\}|-{0,2}[a-z][a-z-]*|\d+")


def shapes(record, field, payload):
    """The payload as it stands, behind something harmless, and inside lists and objects."""
    plain = [payload, f"/opt/{payload}", f"x{payload}", f"/opt/llama-server {payload}"]
    return plain + [[payload], ["/s", payload], {"id": payload}, [{"id": payload}]]


def texts_in(value):
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts_in(part)]
    return [text for part in value for text in texts_in(part)] if isinstance(value, list | tuple) else []


def taken(record, values):
    """The record; None where it was refused with a sentence for a field."""
    try:
        return checked(record, values)
    except InvalidInput as refused:
        assert all(text and "Traceback" not in text for text in refused.problems.values())
        return None


def test_there_are_sixty_different_ones():
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_what_a_field_takes_has_no_control_character_and_no_line_break(name, field):
    record, values = RECORDS[name]
    for payload in PAYLOADS:
        for shape in shapes(record, field, payload):
            made = taken(record, {**values, field: shape})
            for text in texts_in(getattr(made, field)) if made else []:
                assert text.isprintable(), f"{field}: {text!r}"


@pytest.mark.parametrize("field", ["host", "user", "python", "engine", "models", "key_path", "jump"])
def test_a_registration_takes_no_shell_word_where_it_becomes_part_of_a_command(field):
    for payload in PAYLOADS:
        for shape in shapes(BoxForm, field, payload)[:4]:
            made = taken(BoxForm, {**FORM, field: shape})
            value = getattr(made, field) if made else ""
            if field in ("host", "user", "python"):
                assert re.fullmatch(r"[A-Za-z0-9_./:\[\]$-]*", value) and not value.startswith("-"), payload
            elif field == "jump":
                assert re.fullmatch(r"[A-Za-z0-9_.:@\[\]$-]*", value) and not re.search(r"(?:^|@)-", value), payload
            elif field != "key_path":
                assert value == "" or value.startswith("/"), payload


@pytest.mark.parametrize(
    "engine", ["/opt/llama-server --host 0.0.0.0", "/opt/llama-server -hf evil/model", "/opt/llama-server\n--tools", "--log-file /tmp/x"]
)
def test_an_engine_is_registered_without_flags_and_told_why(engine):
    with pytest.raises(InvalidInput) as refused:
        checked(BoxForm, {**FORM, "engine": engine})
    assert set(refused.value.problems) == {"engine"}
    if " -" in engine and engine.startswith("/"):
        assert engine.split()[1] in refused.value.problems["engine"]


@pytest.mark.parametrize("flag", ["--host", "-hf", "--slot-save-path", "--tools", "--log-file", "--log_file=/x", "--HOST", "--rpc"])
def test_an_engines_own_command_carries_no_flag_of_the_denylist(flag):
    with pytest.raises(InvalidInput) as refused:
        checked(Engine, {"id": "e", "argv": ["/opt/llama-server", "--flash-attn", "on", flag, "x"]})
    assert "listens, writes, downloads or executes" in refused.value.problems["argv"]
    assert refused_in_command(["/opt/llama-server", "--flash-attn", "on"]) == ""
    assert refused_in_command(["-x"]) and refused_in_command(["/e", "a\nb"]) and refused_in_command([" "])


NUMBERS = ("n_max", "context", "n_gpu_layers", "n_cpu_moe", "repetitions", "production_c", "order", "budget_min", "also_c", "forced")
NUMBERS += ("suite_runs", "attempt", "first_n", "recipe_id", "repeat_of", "segment_of")
WORDS = ("title", "box_id", "engine_id", "model", "workload_id", "suites", "worksheet_id")


def test_every_field_of_a_run_is_a_number_a_choice_or_a_word():
    assert {*NUMBERS, *WORDS} == set(SweepRequest.model_fields)


@pytest.mark.parametrize("field", NUMBERS)
def test_numbers_choices_and_ids_take_no_text(field):
    for payload in PAYLOADS:
        for shape in (payload, [payload]):
            with pytest.raises(InvalidInput):
                checked(SweepRequest, {**REQUEST, field: shape})


def spec_for(request):
    """The spec as it would travel, from a box that has whatever was asked for."""
    suites = [Suite(id=name, argv=["/s"]) for name in request.suites]
    box = Box(box_id="b", name="b", kind="ssh", engines=[Engine(id="embedded", argv=["/e"])], models=[], suites=suites)
    report = {
        **REPORT,
        "models": [{**REPORT["models"][0], "name": request.model}],
        "engines": [{**REPORT["engines"][0], "id": request.engine_id}],
    }
    return spec_of(run_id="a" * 32, request=request, box=box, workload=WORKLOAD, report=report, who="Ada", head="", grace_s=1.0)


@pytest.mark.parametrize("field", WORDS)
def test_a_request_never_puts_its_words_into_an_argument_list(field):
    """Model, engine and suites travel as ids that the box looks up; the arguments hold `{model}` and numbers."""
    seen = 0
    for payload in PAYLOADS:
        request = taken(SweepRequest, {**REQUEST, field: [payload] if field == "suites" else payload})
        if request is not None:
            seen += 1
            for arm in spec_for(request)["arms"]:
                assert all(WORD.fullmatch(word) for word in arm["args"]), arm
                check(arm["args"], HELP)
    assert seen, "words of any kind are allowed here, and stay words"


def test_the_app_refuses_a_command_before_it_travels():
    """The agent's own table, asked by the app: a build whose help does not know a flag is refused here, and nothing is sent."""
    request = checked(SweepRequest, REQUEST)
    box = Box(box_id="b", name="b", kind="ssh", engines=[Engine(id="embedded", argv=["/e"])])
    lacking = HELP.replace("-np,   --parallel N    slots\n", "")
    report = {**REPORT, "engines": [{**REPORT["engines"][0], "help_text": lacking}]}
    with pytest.raises(PreflightRefused, match="-np is not known.*Nothing was sent"):
        spec_of(run_id="a" * 32, request=request, box=box, workload=WORKLOAD, report=report, who="Ada", head="", grace_s=1.0)


DANGEROUS = [
    "--host", "-hf", "--slot-save-path", "--tools", "--log-file", "--port", "--api-key", "--hf-repo", "--ssl-key-file", "--rpc",
    "--lora", "--media-path", "--prompt-cache", "--models-dir", "--mmproj-url", "-mu", "--path", "--grammar-file",
]  # fmt: skip


@pytest.mark.parametrize("flag", DANGEROUS)
def test_flags_that_listen_write_download_or_execute_are_refused_though_the_help_names_them(flag):
    helped = HELP + f"\n{flag} VALUE  text\n{flag.replace('-', '_', 3)} VALUE\n"
    for words in ([flag, "x"], [f"{flag}=x"], [flag.upper(), "x"], ["-c", "4096", flag, "x"], ["-c", flag]):
        with pytest.raises(FlagProblem):
            check(words, helped)


def test_a_value_is_a_plain_word_or_refused():
    """Argument lists, never a shell: a value may hold odd characters, but no path, no control character, and no dash in front."""
    passed = []
    for payload in PAYLOADS:
        try:
            check(["-c", payload], HELP)
            passed.append(payload)
        except FlagProblem:
            continue
    assert 5 < len(passed) < len(PAYLOADS) - 20
    for payload in passed:
        assert "/" not in payload and payload.isprintable() and (not payload.startswith("-") or payload in HELP)


def recipe_text(sweep, **more):
    recipe = {"kind": "llama.cpp"}
    return tomli_w.dumps({"format": 1, "recipe_id": digest(recipe), "sweep": sweep, "recipe": recipe, "unset": [], **more}).encode()


@pytest.mark.parametrize("field", sorted(Proposal.model_fields))
def test_a_recipe_file_brings_in_what_the_form_would_take_and_no_more(field):
    for payload in PAYLOADS:
        if payload.encode("utf-8", "replace").decode() != payload:
            continue  # no UTF-8 file can hold it
        for shape in (payload, [payload]):
            data = recipe_text({**REQUEST, field: shape})
            assert tomllib.loads(data.decode())["sweep"][field] == shape
            own = {} if field == "recipe_id" else {field: shape}  # the file's own recipe_id counts, whatever [sweep] says
            by_form = taken(Proposal, {**REQUEST, **own, "recipe_id": digest({"kind": "llama.cpp"})})
            found, problems = None, {}
            try:
                found = sweep_of_recipe(data)
            except InvalidInput as refused:
                problems = refused.problems
            assert found == (by_form.model_dump() if by_form else None)
            assert found is not None or any(key.startswith(f"sweep.{field}") for key in problems)


@pytest.mark.parametrize("key", ["args", "argv", "flags", "extra_args", "env", "environment", "host", "port", "command", "model_roots"])
def test_a_recipe_file_with_flags_of_its_own_is_refused_by_name(key):
    with pytest.raises(InvalidInput) as refused:
        sweep_of_recipe(recipe_text({**REQUEST, key: ["--host", "0.0.0.0"]}))
    assert list(refused.value.problems) == [f"sweep.{key}"]


def test_the_command_in_a_recipe_file_is_a_note_and_never_run():
    found = sweep_of_recipe(recipe_text(REQUEST, command={"argv": ["/bin/sh", "-c", f"touch /tmp/{MARK}", "--host", "0.0.0.0"]}))
    spec = spec_for(checked(SweepRequest, found))
    assert MARK not in str(spec) and not any("0.0.0.0" in arm["args"] for arm in spec["arms"])
