"""Boxes: what a check found, what went wrong, and the two steps of adding one."""

from __future__ import annotations

import dataclasses
import time

import pytest

from core.bootstrap import Services
from core.domain.box import Box, Engine
from core.domain.run import new_run_id
from core.errors import AccessRefused, BoxUnreachable, HostKeyChanged, PreflightRefused
from core.services.boxes import check_box
from core.services.house import House
from core.services.queue import queue_of
from core.services.runs import start_run
from core.ui import context
from tests.fakes.bench_box import ScriptedBox
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words

HTML = "<b>x</b>"
REQUEST = {"title": "t", "box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short"}
PROBE = {
    "engines": [{"id": "llama-server", "ok": True, "version_text": "version: 10473 (abc)\nbuilt", "help_text": "", "error": ""},
                {"id": "other", "ok": False, "version_text": "", "help_text": "", "error": "/opt/none: No such file or directory"}],
    "models": [{"name": HTML, "path": "/m", "size_bytes": 3 << 30, "mtime": 1.0, "error": "",
                "header": {"architecture": "qwen", "nextn_predict_layers": 1}}],
    "gpus": {"state": "unknown", "why": "nvidia-smi is not there", "list": []},
}  # fmt: skip
FORM = {
    "box-name": "gpu-1",
    "box-host": "gpu-1.lab",
    "box-user": "bench",
    "box-key-path": "/k",
    "box-engine": "/opt/s",
    "box-models": "/models",
}
KEY, PRINT = "ssh-ed25519 AAAA", "SHA256:abcdef"


@pytest.fixture
def scripted(services: Services, monkeypatch: pytest.MonkeyPatch) -> ScriptedBox:
    """Every box answers from memory; the host key is read without a network."""
    box = ScriptedBox(PROBE)
    changed = dataclasses.replace(services.house, open_box=lambda _: box, fetch_host_key=lambda host, port: (KEY, PRINT))
    monkeypatch.setattr(context, "build", lambda: dataclasses.replace(services, house=changed))
    return box


def _ssh_box(house: House) -> None:
    box = Box(box_id="gpu-1", name="gpu-1", kind="ssh", host="h", user="u", fingerprint=PRINT, engines=[Engine(id="e", argv=["/e"])])
    house.store.boxes.put(box, who="Ada", at=house.clock.now())


def _settle(at, services: Services, prefix: str):
    """Waits for the errand, then draws the page as its fragment would."""
    key = next(name for name in services.jobs._known if name.startswith(prefix))
    deadline = time.monotonic() + 10
    while services.jobs.state(key) == "running" and time.monotonic() < deadline:
        time.sleep(0.01)
    return at.run()


def _button(at, label):
    return next(button for button in at.button if button.label == label)


def _prints(at) -> list[str]:
    return [element.value for element in at.code if element.value.startswith("SHA256:")]


def test_this_machine_is_there_and_not_checked(open_page: OpenPage) -> None:
    at = open_page("boxes")
    assert not at.exception
    assert "this machine" in [element.value for element in at.subheader]
    assert "Never checked." in words(at)


def test_check_runs_beside_the_page_and_is_kept(open_page: OpenPage, services: Services, scripted: ScriptedBox) -> None:
    at = open_page("boxes")
    at.button(key="check-this-machine").click().run()
    at = _settle(at, services, "check-this-machine")
    assert not at.exception
    texts = [element.value for element in at.text]
    assert "llama-server: version: 10473 (abc)" in texts
    assert "other: cannot be used: /opt/none: No such file or directory" in texts
    assert f"{HTML}: 3.0 GiB, qwen, 1 MTP layer" in texts
    assert "unknown: nvidia-smi is not there" in texts
    assert "9.8 GiB free" in texts


@pytest.mark.parametrize(
    "error",
    [
        BoxUnreachable("h:22: no answer in time.", hint="A run goes on by itself."),
        HostKeyChanged("h:22 shows SHA256:new, pinned is SHA256:old.", hint="Find out why."),
        AccessRefused("h:22: the box did not accept this user with this key.", hint="Check the user."),
        PreflightRefused("The box needs Python 3.8 or newer: `python3` was not found there.", hint="Install it."),
    ],
)
def test_a_box_that_cannot_be_used_says_why(open_page: OpenPage, house: House, scripted: ScriptedBox, monkeypatch, error) -> None:
    _ssh_box(house)

    def refuse():
        raise error

    monkeypatch.setattr(scripted, "probe", refuse)
    with pytest.raises(type(error)):
        check_box(dataclasses.replace(house, open_box=lambda _: scripted), "gpu-1")
    at = open_page("boxes")
    assert not at.exception
    assert error.title in words(at) and error.message in words(at) and error.hint in words(at)


def test_what_the_box_says_of_its_own_list_and_limits_stands_on_the_card(open_page: OpenPage, house: House, scripted: ScriptedBox) -> None:
    scripted.probe_answer |= {"allow_error": "allow.json on the box: hours is no whole number.", "limits": {"n_max": 4}}
    house = dataclasses.replace(house, open_box=lambda _: scripted)
    check_box(house, "this-machine")
    said = words(open_page("boxes"))
    assert "hours is no whole number" in said and "n_max at most 4" in said


def test_the_run_that_holds_a_box_is_a_door(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [1.0, 1.1, 1.2]}, state="running")
    at = open_page("boxes")
    assert any(link.proto.query_string == f"run={run_id}" for link in at.get("page_link"))


def test_every_problem_of_the_form_at_once(open_page: OpenPage, services: Services, scripted: ScriptedBox) -> None:
    at = open_page("boxes")
    at.text_input(key="box-host").set_value("-oProxyCommand=x")
    at.text_input(key="box-user").set_value(HTML)
    at.text_input(key="box-engine").set_value("llama-server; rm -rf /")
    at.text_input(key="box-name").set_value("n" * 10_000)
    at.text_input(key="box-python").set_value("-c evil")
    at.number_input(key="box-port").set_value(-1)
    _button(at, "Read host key").click().run()
    at = _settle(at, services, "host-key-")
    said = words(at)
    for sentence in (
        "Host has to be a host name or an address.",
        "User has to be a Unix user name.",
        "Engine path on the box has to be an absolute path on the box.",
        "Name is too long",
        "Python on the box has to be a command name",
        "Port has to be at least 1.",
        "Key file on this computer is needed.",
        "Models on the box is needed.",
    ):
        assert sentence in said
    assert at.text_input(key="box-name").value == "n" * 10_000
    assert len(services.house.store.boxes.all()) == 1


def test_a_box_is_added_only_after_its_fingerprint_is_confirmed(
    open_page: OpenPage, services: Services, house: House, scripted: ScriptedBox
) -> None:
    at = open_page("boxes", person="Ada")
    for key, value in FORM.items():
        at.text_input(key=key).set_value(value)
    _button(at, "Read host key").click().run()
    at = _settle(at, services, "host-key-")
    assert PRINT in [element.value for element in at.code]
    assert _button(at, "Add box").disabled
    assert len(house.store.boxes.all()) == 1
    at.checkbox(key="fingerprint-is-same").set_value(True).run()
    _button(at, "Add box").click().run()
    assert not at.exception
    box = house.box("gpu-1")
    assert (box.host_key, box.fingerprint, box.model_roots) == (KEY, PRINT, ["/models"])
    at = _settle(at, services, "check-gpu-1")
    assert house.store.boxes.latest_check("gpu-1")["ok"]
    assert "Add box" not in [button.label for button in at.button]


def test_a_host_without_answer_is_told_and_the_form_kept(
    open_page: OpenPage, services: Services, scripted: ScriptedBox, monkeypatch
) -> None:
    def silent(host, port):
        raise BoxUnreachable(f"{host}:{port}: the port refused the connection.")

    opened = context.build()
    monkeypatch.setattr(
        context, "build", lambda: dataclasses.replace(opened, house=dataclasses.replace(opened.house, fetch_host_key=silent))
    )
    at = open_page("boxes")
    for key, value in FORM.items():
        at.text_input(key=key).set_value(value)
    _button(at, "Read host key").click().run()
    at = _settle(at, services, "host-key-")
    assert "gpu-1.lab:22: the port refused the connection." in words(at)
    assert at.text_input(key="box-host").value == "gpu-1.lab"


def test_limits_are_typed_below_the_box_and_a_wrong_one_is_told(open_page: OpenPage, house: House) -> None:
    box = Box(box_id="gpu-1", name="gpu-1", kind="ssh", host="h", user="u", engines=[Engine(id="e", argv=["/e"])])
    house.store.boxes.put(box, who="Ada", at=house.clock.now())
    at = open_page("boxes", person="Ada")
    at.number_input(key="limit-gpu-1-n_max").set_value(99)
    _button(at, "Save limits").click().run()
    assert "Draft length has to be at most 16." in words(at) and house.box("gpu-1").limits.n_max is None
    assert at.number_input(key="limit-gpu-1-n_max").value == 99
    at.number_input(key="limit-gpu-1-n_max").set_value(4)
    at.number_input(key="limit-gpu-1-streams").set_value(8)
    _button(at, "Save limits").click().run()
    assert not at.exception and house.box("gpu-1").limits.set_ones() == {"n_max": 4, "streams": 8}


def test_waiting_runs_change_places_on_the_card(open_page: OpenPage, house: House, scripted: ScriptedBox) -> None:
    start_run(house, new_run_id(), REQUEST, who="Ada")
    first, second = new_run_id(), new_run_id()
    for number, run_id in enumerate((first, second)):
        start_run(house, run_id, {**REQUEST, "title": str(number)}, who="Bo")
    at = open_page("boxes", person="Ada")
    assert at.button(key=f"first-{first}").disabled and at.button(key=f"later-{second}").disabled
    at.button(key=f"earlier-{second}").click().run()
    assert not at.exception
    assert [run["run_id"] for run in queue_of(house, "this-machine")][1:] == [second, first]
    assert at.button(key=f"first-{second}").disabled and not at.button(key=f"earlier-{first}").disabled


def test_behind_a_jump_host_both_fingerprints_are_confirmed_one_after_the_other(
    open_page: OpenPage, services: Services, house: House, scripted: ScriptedBox, monkeypatch
) -> None:
    asked: list[tuple[str, int, bool]] = []

    def shown(host, port, through=None):
        asked.append((host, port, through is not None))
        if through is not None:
            assert (through.jump_host_key, through.jump) == ("ssh-rsa JUMP", "me@gate:2222")
        return (KEY, PRINT) if through is not None else ("ssh-rsa JUMP", "SHA256:jump")

    opened = context.build()
    monkeypatch.setattr(
        context, "build", lambda: dataclasses.replace(opened, house=dataclasses.replace(opened.house, fetch_host_key=shown))
    )
    at = open_page("boxes", person="Ada")
    for key, value in {**FORM, "box-jump": "me@gate:2222"}.items():
        at.text_input(key=key).set_value(value)
    _button(at, "Read host key").click().run()
    at = _settle(at, services, "jump-key-")
    assert _prints(at) == ["SHA256:jump"] and asked == [("gate", 2222, False)]
    assert _button(at, "Go on to the box").disabled
    at.checkbox(key="jump-is-same").set_value(True).run()
    _button(at, "Go on to the box").click().run()
    at = _settle(at, services, "host-key-")
    assert _prints(at) == ["SHA256:jump", PRINT] and asked[1:] == [("gpu-1.lab", 22, True)]
    at.checkbox(key="fingerprint-is-same").set_value(True).run()
    _button(at, "Add box").click().run()
    assert not at.exception
    box = house.box("gpu-1")
    assert (box.host_key, box.jump_host_key, box.jump_fingerprint) == (KEY, "ssh-rsa JUMP", "SHA256:jump")
    at = _settle(at, services, "check-gpu-1")
    assert "bench@gpu-1.lab:22 through me@gate:2222" in words(at)


def test_a_jump_host_that_is_no_address_is_told(open_page: OpenPage, services: Services, scripted: ScriptedBox) -> None:
    at = open_page("boxes", person="Ada")
    for key, value in {**FORM, "box-jump": "-oProxyCommand=x"}.items():
        at.text_input(key=key).set_value(value)
    _button(at, "Read host key").click().run()
    at = _settle(at, services, "jump-key-")
    assert "Jump host, if the box is behind one has to be user@host:port" in words(at)
    assert at.text_input(key="box-jump").value == "-oProxyCommand=x"
