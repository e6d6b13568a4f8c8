"""A box that lies: another run's record, names that climb, endless output, HTML, absurd values. It harms its own run and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.domain.run import FINAL
from core.errors import BenchError
from core.ports.host import Completed
from core.remote.frames import framed, tail_of
from core.services import runs
from core.services.audit import list_audit
from core.services.follow import follow_once
from core.services.matrix import matrix_rows
from tests.fakes.event_lines import LOAD_LOG, EventLines

HTML = "<script>alert(1)</script>"


def followed(house, run_id, times=6):
    """Looks as the follower would; a refusal of the record is kept on the run."""
    for _ in range(times):
        try:
            follow_once(house, run_id)
        except BenchError as error:
            return error.message
    return ""


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_another_runs_record_is_not_taken_in(house, box, start):
    liar, victim = start(), start()
    follow_once(house, liar)
    forged = EventLines(victim)
    forged.whole_sweep(off=[1.0, 1.1, 1.2], steps={1: [99.0, 99.1, 99.2]})
    box.append_events(liar, forged.take())
    refused = followed(house, liar)
    assert house.store.runs.events(liar) == [] and matrix_rows(house, provenance="measured") == []
    assert house.store.runs.events(victim) == [], "the other run is untouched"
    assert "another run" in runs.get_run(house, liar)["problem"]["message"] or "another run" in refused


@pytest.mark.parametrize("server", ["../../x", "1/../../../etc/passwd", -1, 0, 10**9, None, True, {"a": 1}, "1\0"])
def test_names_that_climb_become_no_path(house, box, start, settings, server):
    run_id = start()
    follow_once(house, run_id)
    before = files_in(settings.local_dir.parent)
    lines = EventLines(run_id)
    lines.begin()
    lines.add("server_starting", server=server, n_max=0, c=1, argv=["x"])
    lines.add("server_ready", server=server, load_s=0.1, log_bytes=10, props={})
    box.append_events(run_id, lines.take())
    try:
        followed(house, run_id)
    except (TypeError, KeyError, ValueError):
        pass  # the run's worker keeps such a defect on the run
    new = {name for name in files_in(settings.local_dir.parent) - before if "wal" not in name}
    assert all(name.startswith("t.duckdb.d/") and ".." not in name and "passwd" not in name for name in new), new


def test_html_and_control_characters_in_what_a_box_says_stay_text(house, box, start):
    run_id = start()
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin(version=f"version: 1 ({HTML})\x1b]0;x\x07")
    lines.stage("baseline", "baseline", 0, 1, 1, [10.0, 10.1, 10.2])
    lines.end("failed", text=HTML)
    box.append_events(run_id, lines.take())
    box.append_log(run_id, "server-1.log", LOAD_LOG.encode() + HTML.encode() + b"\x00\xff\x1b[31m")
    box.finish(run_id)
    followed(house, run_id)
    view = runs.show_run(house, run_id)
    assert view["run"]["state"] in FINAL and view["run"]["problem"]["message"] == HTML


def test_an_endless_or_broken_answer_is_an_error_with_its_end_made_visible():
    endless = Completed(0, b"x" * 2_000_000, b"")
    with pytest.raises(BenchError) as refused:
        framed(endless, "probe")
    assert len(refused.value.message) < 5000
    assert "\x1b" not in tail_of(Completed(1, b"\x1b]0;owned\x07", b"")) and "\\x1b" in tail_of(Completed(1, b"\x1b]0;owned\x07", b""))
    for wrong in (b"@@draftledger [1]\n", b"@@draftledger {\n", b"@@draftledger " + b"[" * 50_000 + b"\n"):
        with pytest.raises(BenchError):
            framed(Completed(0, wrong, b""), "probe")


def test_a_secret_that_a_command_prints_does_not_reach_an_error():
    canary = "c4n4ry" * 5
    said = tail_of(Completed(1, f"LLAMA_API_KEY={canary}\n--api-key {canary}\nBearer {canary}".encode(), b""))
    assert canary not in said and said.count("***") == 3


def test_a_gap_or_a_changed_line_ends_the_reading_there(house, box, start):
    run_id = start()
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    good = lines.take()
    changed = json.loads(good.splitlines()[1])
    box.append_events(run_id, good.splitlines(keepends=True)[0] + json.dumps({**changed, "engine": {"id": "other"}}).encode() + b"\n")
    followed(house, run_id)
    assert [event["kind"] for event in house.store.runs.events(run_id)] in ([], ["run_started"])
    assert list_audit(house) == []


def test_a_line_longer_than_a_piece_is_read_whole_and_one_without_end_is_refused(house, box, start, monkeypatch):
    monkeypatch.setattr(box, "_read", lambda run_id, name, offset, limit, read=box._read: read(run_id, name, offset, min(limit, 512 << 10)))
    run_id = start()
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.add("stage_started", stage={"kind": "baseline", "name": "baseline", "n_max": 0, "c": 1, "repetitions": 3}, note="x" * (2 << 20))
    box.append_events(run_id, lines.take())
    followed(house, run_id)
    assert [event["kind"] for event in house.store.runs.events(run_id)][-1] == "stage_started"
    asked = len(box.reads)
    box.append_events(run_id, b"x" * (5 << 20))
    assert "longer than 4 MiB" in followed(house, run_id) or "longer than 4 MiB" in runs.get_run(house, run_id)["problem"]["message"]
    assert len(box.reads) - asked < 40, "it is not read for ever"


def test_depth_without_end_is_a_torn_line_and_no_heartbeat(house, box, start):
    run_id = start()
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    box.append_events(run_id, b"[" * 200_000 + b"\n" + lines.take())
    box.append_log(run_id, "heartbeat.json", b"[" * 200_000)
    followed(house, run_id)
    assert [event["kind"] for event in house.store.runs.events(run_id)][0] == "run_started"
    assert house.live[run_id].heartbeat == {}
