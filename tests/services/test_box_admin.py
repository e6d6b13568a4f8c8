"""What an admin does to a box: change, pin, remove; who may not, and what the log says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.config import load_workloads
from core.domain.box import Box, Engine, Suite
from core.domain.box_limits import Limits
from core.domain.roles import LADDER, Actor
from core.domain.run import SweepRequest
from core.errors import BoxBusy, InvalidInput, NotAllowed, NotFound
from core.services.audit import list_audit
from core.services.box_admin import edit_box, form_of, pin_key, read_shown_key, remove_box
from core.services.box_limits import set_limits
from core.services.boxes import add_box, list_boxes, read_host_key
from core.services.doctor import doctor
from core.services.runs import start_run
from core.services.specs import spec_of
from tests.services.conftest import PROBE

OLD, NEW = ("ssh-ed25519 AAAA", "SHA256:old"), ("ssh-ed25519 BBBB", "SHA256:new")
FORM = {"name": "gpu 1", "host": "h", "user": "bench", "key_path": "/k", "engine": "/opt/llama-server", "models": "/models"}


@pytest.fixture
def shown():
    """The key that the host shows; a test changes it."""
    return [OLD]


@pytest.fixture
def owned(house, shown):
    opened = replace(house, fetch_host_key=lambda host, port, through=None: shown[0])
    form, line, fingerprint = read_host_key(opened, FORM)
    add_box(opened, form, key_line=line, fingerprint=fingerprint, who="Ada")
    return opened


def the_box(house):
    return house.box("gpu-1")


def test_a_changed_registration_keeps_pin_id_and_suites_and_says_what_changed(owned):
    suite = Suite(id="s", argv=["/x"])
    owned.store.boxes.put(the_box(owned).model_copy(update={"suites": [suite]}), who="Ada", at=owned.clock.now())
    edit_box(owned, "gpu-1", {"host": "h2", "models": "/models/one.gguf"})
    box = the_box(owned)
    assert (box.host, box.fingerprint, box.suites, box.model_roots) == ("h2", OLD[1], [suite], [])
    assert [model.name for model in box.models] == ["one"]
    line = list_audit(owned)[0]
    assert line["action"] == "box.edit" and line["detail"] == {"changed": {"host": ["h", "h2"], "models": ["/models", "/models/one.gguf"]}}
    assert form_of(box)["models"] == "/models/one.gguf"
    assert [version["box"].host for version in owned.store.boxes.versions("gpu-1")] == ["h2", "h", "h"]


def test_a_new_key_is_pinned_only_if_it_is_the_one_shown_and_the_log_has_both(owned, shown):
    shown[0] = NEW
    assert read_shown_key(owned, "gpu-1") == NEW
    with pytest.raises(InvalidInput, match="not the one"):
        pin_key(owned, "gpu-1", key_line="ssh-ed25519 CCCC", fingerprint="SHA256:other", seen=OLD[1])
    with pytest.raises(InvalidInput, match="meanwhile"):
        pin_key(owned, "gpu-1", key_line=NEW[0], fingerprint=NEW[1], seen="SHA256:older")
    assert the_box(owned).fingerprint == OLD[1]
    pin_key(owned, "gpu-1", key_line=NEW[0], fingerprint=NEW[1], seen=OLD[1])
    assert (the_box(owned).host_key, the_box(owned).fingerprint) == NEW
    assert list_audit(owned)[0]["detail"] == {"of": "box", "before": OLD[1], "after": NEW[1]}


def test_a_removed_box_is_off_the_list_and_its_versions_stay(owned):
    remove_box(owned, "gpu-1")
    assert [row["box"].box_id for row in list_boxes(owned)] == ["this-machine"]
    assert [version["box"] is None for version in owned.store.boxes.versions("gpu-1")] == [True, False]
    assert list_audit(owned)[0]["action"] == "box.remove"
    with pytest.raises(NotFound):
        remove_box(owned, "gpu-1")


def test_this_machine_and_a_box_in_use_stay_as_they_are(owned, start):
    for act in (lambda: remove_box(owned, "this-machine"), lambda: edit_box(owned, "this-machine", {"host": "x"})):
        with pytest.raises(InvalidInput):
            act()
    owned.store.boxes.put(
        the_box(owned).model_copy(update={"engines": [Engine(id="embedded", argv=["/e"])]}), who="A", at=owned.clock.now()
    )
    owned.store.boxes.add_check("gpu-1", {"models": [{"name": "made-dense"}]}, ok=True, at=owned.clock.now())
    start(box_id="gpu-1")
    with pytest.raises(BoxBusy):
        remove_box(owned, "gpu-1")


@pytest.mark.parametrize("role", LADDER[:-1])
def test_only_admins_may(owned, role):
    other = owned.acting(Actor("k", "n", role, "page", is_named=True))
    for act in (
        lambda: edit_box(other, "gpu-1", {"host": "evil"}),
        lambda: read_shown_key(other, "gpu-1"),
        lambda: pin_key(other, "gpu-1", key_line=NEW[0], fingerprint=NEW[1], seen=OLD[1]),
        lambda: remove_box(other, "gpu-1"),
    ):
        with pytest.raises(NotAllowed):
            act()
    assert the_box(owned).host == "h"


def test_a_locked_box_is_registered_by_the_ids_of_its_owner(owned):
    form, line, fingerprint = read_host_key(owned, {**FORM, "name": "shared", "mode": "locked", "engine": "llama", "models": ""})
    box = add_box(owned, form, key_line=line, fingerprint=fingerprint, who="Ada")
    assert isinstance(box, Box) and (box.mode, box.engines[0].id, box.models, box.model_roots) == ("locked", "llama", [], [])
    for wrong in ("/opt/llama-server", "a b", "-x", "", "a\nb"):
        with pytest.raises(InvalidInput):
            read_host_key(owned, {**FORM, "name": "other", "mode": "locked", "engine": wrong, "models": ""})


def test_limits_are_an_admins_and_a_run_that_asks_for_more_is_refused_by_field(owned):
    for values, field in (({"n_max": 0}, "n_max"), ({"streams": "many"}, "streams"), ({"context": 1}, "context"), ({"gpus": 1}, "gpus")):
        with pytest.raises(InvalidInput) as refused:
            set_limits(owned, "gpu-1", values)
        assert list(refused.value.problems) == [field]
    set_limits(owned, "gpu-1", {"n_max": 2, "streams": 4, "context": 4096, "hours": 1})
    assert the_box(owned).allow()["limits"] == {"n_max": 2, "streams": 4, "context": 4096, "hours": 1}
    assert list_audit(owned)[0]["detail"] == {"limits": {"n_max": 2, "streams": 4, "context": 4096, "hours": 1}, "limits_before": {}}
    owned.store.boxes.add_check("gpu-1", {"models": [{"name": "m"}]}, ok=True, at=owned.clock.now())
    asked = {"title": "t", "box_id": "gpu-1", "engine_id": "llama-server", "model": "m", "workload_id": "chat-short"}
    with pytest.raises(InvalidInput) as refused:
        start_run(owned, "a" * 32, {**asked, "n_max": 3, "production_c": 8, "also_c": [2, 5], "context": 8192}, who="Ada")
    assert set(refused.value.problems) == {"n_max", "production_c", "also_c", "context"} and owned.store.runs.find() == []
    edit_box(owned, "gpu-1", {"host": "h2"})
    assert the_box(owned).limits.n_max == 2, "a changed address keeps them"
    assert start_run(owned, "a" * 32, {**asked, "n_max": 2, "production_c": 4}, who="Ada") is True
    set_limits(owned, "gpu-1", {})
    assert the_box(owned).allow()["limits"] == {}
    with pytest.raises(InvalidInput):
        set_limits(owned, "this-machine", {"n_max": 1})


def test_a_spec_never_lives_longer_than_its_box_allows():
    box = Box(box_id="b", name="b", kind="ssh", engines=[Engine(id="embedded", argv=["/e"])], limits=Limits(hours=1))
    request = SweepRequest(title="t", box_id="b", engine_id="embedded", model="made-dense", workload_id="chat-short", n_max=1)
    given = {
        "workload": load_workloads()["chat-short"],
        "report": {**PROBE, "gpus": {"state": "none"}},
        "who": "Ada",
        "head": "",
        "grace_s": 1.0,
    }
    for limits, seconds in ((Limits(hours=1), 3600), (Limits(hours=9), 7200), (Limits(), 7200)):
        limited = box.model_copy(update={"limits": limits})
        assert spec_of(run_id="a" * 32, request=request, box=limited, **given)["limits"]["lifetime_s"] == seconds


JUMP = ("ssh-ed25519 JJJJ", "SHA256:jump")


def test_a_jump_host_is_pinned_like_the_box_and_goes_with_its_address(owned, shown):
    edit_box(owned, "gpu-1", {"jump": "me@gate:2222"})
    box = the_box(owned)
    assert box.jump_address() == ("me", "gate", 2222) and (box.jump_host_key, box.fingerprint) == ("", OLD[1])
    assert [f["what"] for f in doctor(owned, ask_boxes=False, compare=False)["findings"] if "jump" in f["what"]]
    shown[0] = JUMP
    assert read_shown_key(owned, "gpu-1", of="jump") == JUMP
    pin_key(owned, "gpu-1", key_line=JUMP[0], fingerprint=JUMP[1], seen="", of="jump")
    box = the_box(owned)
    assert (box.jump_host_key, box.jump_fingerprint, box.fingerprint) == (*JUMP, OLD[1])
    assert list_audit(owned)[0]["detail"] == {"of": "jump", "before": "", "after": JUMP[1]}
    edit_box(owned, "gpu-1", {"user": "other", "jump": "gate"})
    assert (the_box(owned).jump_host_key, the_box(owned).jump_address()) == (JUMP[0], ("other", "gate", 22)), (
        "the pin stays: strict, as the box's"
    )
    edit_box(owned, "gpu-1", {"jump": ""})
    assert (the_box(owned).jump_host_key, the_box(owned).jump_address()) == ("", None)
    with pytest.raises(InvalidInput, match="no jump host to pin"):
        read_shown_key(owned, "gpu-1", of="jump")
    for wrong in ("-x", "a b", "me@", "h:0", "h:70000", "a@b@c", "ö@h"):
        with pytest.raises(InvalidInput):
            edit_box(owned, "gpu-1", {"jump": wrong})
