"""The whole job on a second box over real SSH: add it, confirm its key, check it, sweep there, bring every repetition home, stop it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from core.bootstrap import build
from core.config import ROOT, Settings
from core.domain.run import FINAL, new_run_id
from core.embedded.models import MODELS
from core.embedded.walk import walk
from core.errors import HostKeyChanged, RemoteError
from core.services import boxes, runs
from core.services.follow import follow_once
from core.services.matrix import matrix_rows
from tests.remote.box_engine import install_engine
from tests.remote.locked import LOCKED, LOCKED_IN_SOAK, STANDARD, lock
from tests.remote.sshd_box import SshdBox


@pytest.fixture(scope="module")
def second_box():
    with SshdBox() as box:
        yield box, install_engine(box)


@pytest.fixture
def services(tmp_path):
    opened = build(Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local", grace_s=1.0))
    yield opened
    opened.database.close()
    opened.jobs.close()


def form(box, installed, mode=STANDARD, **changes):
    folder = str(Path(installed.models["made-moe"]).parent)
    address = box.address()
    if mode == LOCKED:
        address = lock(box, {"llama-server": installed.server}, folder).address
        changes = {"mode": LOCKED, "engine": "llama-server", "models": "", **changes}
    return {
        "name": "gpu two",
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "key_path": str(address.key_path),
        "engine": installed.server,
        "models": folder,
        **changes,
    }


@pytest.fixture(params=LOCKED_IN_SOAK)
def registered(services, second_box, request):
    box, engine = second_box
    checked, key_line, fingerprint = boxes.read_host_key(services.house, form(box, engine, request.param))
    assert fingerprint == box.host_fingerprint()
    added = boxes.add_box(services.house, checked, key_line=key_line, fingerprint=fingerprint, who="Ada")
    boxes.check_box(services.house, added.box_id)
    return added


def ask(house, box_id, **changes):
    run_id = new_run_id()
    values = {
        "title": "MTP over SSH",
        "box_id": box_id,
        "engine_id": "llama-server",
        "model": "made-moe",
        "workload_id": "chat-short",
        "n_max": 1,
    }
    runs.start_run(house, run_id, {**values, **changes}, who="Ada")
    return run_id


def until(house, run_id, done, limit_s=120):
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end, runs.show_run(house, run_id)
        follow_once(house, run_id)
        time.sleep(0.1)


def test_a_sweep_on_a_second_box(services, second_box, registered):
    box, _ = second_box
    house = services.house
    report = boxes.check_box(house, registered.box_id)
    assert report["user"] == box.user and report["engines"][0]["version_text"].startswith("version: ")
    assert [model["name"] for model in report["models"]] == ["made-moe"] and report["gpus"]["state"] == "none"

    run_id = ask(house, registered.box_id)
    lineage: list[tuple[int, str]] = []
    until(house, run_id, lambda: lineage.extend(box.descendants()) or any("launcher.py" in line for _, line in lineage))
    assert any("launcher.py" in line for _, line in lineage), "the engine descends from that sshd"
    assert any(".pyz" in line for _, line in lineage), "so does the agent"
    until(house, run_id, lambda: runs.get_run(house, run_id)["state"] in FINAL)

    run = runs.get_run(house, run_id)
    assert run["state"] == "done", run["problem"]
    row = matrix_rows(house, provenance="measured")[0]
    assert row["box"] == registered.box_id
    assert row["cells"]["off"]["n"] >= 6 and 3 <= row["cells"]["1"]["n"] <= 8, "more repetitions where the box is noisy"
    preflight = runs.show_run(house, run_id)["preflight"]
    assert preflight["artifact"]["path"].startswith(str(box.home)), "engine and model stay on the box"
    expected_accepts(house, run_id)
    assert box.run_as_user(["ls", str(ROOT)]).returncode != 0, "that user cannot read the app's folder"
    assert not [line for _, line in box.descendants() if "launcher.py" in line], "nothing is left running"


def expected_accepts(house, run_id):
    """Counts equal an independent walk of the made model for some prompt end (the chat text ends in a letter the walk may start from)."""
    samples = [s for s in house.store.cells.samples(run_id, n_max=1) if s["status"] == "ok"]
    shape = MODELS["made-moe"]
    possible = {(w.drafted, w.accepted, w.steps) for end in range(256) for w in [walk(shape, n_max=1, prompt_end=end, length=129)]}
    assert samples and {(s["drafted"], s["accepted"], s["steps"]) for s in samples} <= possible


def test_stop_on_the_second_box_leaves_nothing(services, second_box, registered):
    box, _ = second_box
    house = services.house
    run_id = ask(house, registered.box_id, n_max=2, repetitions=8, workload_id="chat-long")
    until(house, run_id, lambda: any(e["kind"] == "sample" for e in house.store.runs.events(run_id)))
    runs.stop_run(house, run_id, who="Ada")
    until(house, run_id, lambda: runs.get_run(house, run_id)["state"] in FINAL)
    run = runs.get_run(house, run_id)
    last = house.store.runs.events(run_id)[-1]
    assert run["state"] == "cancelled" and last["kind"] == "run_finished" and last["body"]["outcome"] == "cancelled"
    assert "Ada" in last["body"]["reason"]["text"] and last["body"]["left"] == []
    assert not [line for _, line in box.descendants() if "launcher.py" in line or ".pyz" in line]


def test_a_cut_link_disturbs_nothing(services, second_box, registered):
    box, _ = second_box
    house = services.house
    run_id = ask(house, registered.box_id)
    until(house, run_id, lambda: len(house.store.runs.events(run_id)) > 3)
    box.drop_connections()
    end = time.monotonic() + 120
    while runs.get_run(house, run_id)["state"] not in FINAL and time.monotonic() < end:
        with contextlib.suppress(RemoteError):
            follow_once(house, run_id)
        time.sleep(0.1)
    assert runs.get_run(house, run_id)["state"] == "done"
    events = house.store.runs.events(run_id)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    repetitions = [s["repetition"] for s in house.store.cells.samples(run_id, n_max=1) if s["repetition"]]
    assert repetitions == list(range(1, len(repetitions) + 1)) and 3 <= len(repetitions) <= 8, "each once, none lost"


def test_a_changed_host_key_stops_everything_there(services, registered):
    with SshdBox() as other:
        house = services.house
        changed = registered.model_copy(update={"host": other.address().host, "port": other.address().port, "name": "moved"})
        house.store.boxes.put(changed, who="Ada", at=house.clock.now())
        with pytest.raises(HostKeyChanged) as refused:
            boxes.check_box(house, registered.box_id)
        assert registered.fingerprint in refused.value.message and other.host_fingerprint() in refused.value.message
        kept = house.store.boxes.latest_check(registered.box_id)
        assert kept["ok"] is False and kept["report"]["error"]["title"] == "Host key changed"


@pytest.mark.parametrize(
    "changes, words",
    [({"engine": "/nowhere/llama-server"}, "engine"), ({"python": "python9"}, "python9"), ({"models": "/nowhere"}, "made-moe")],
)
def test_a_wrong_registration_is_said_on_the_run(services, second_box, changes, words):
    box, engine = second_box
    house = services.house
    checked, key_line, fingerprint = boxes.read_host_key(house, form(box, engine, **changes))
    wrong = boxes.add_box(house, checked, key_line=key_line, fingerprint=fingerprint, who="Ada")
    house.store.boxes.add_check(wrong.box_id, {"models": [{"name": "made-moe"}]}, ok=True, at=house.clock.now())
    run_id = ask(house, wrong.box_id)
    until(house, run_id, lambda: runs.get_run(house, run_id)["state"] in FINAL, 30)
    problem = runs.get_run(house, run_id)["problem"]
    assert words in problem["message"] and problem["hint"]
