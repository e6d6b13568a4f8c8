"""Following a run: every repetition once, whatever is cut, repeated or lost between box and store."""

from __future__ import annotations

import pytest

from core.errors import BoxBusy, BoxUnreachable, InvalidInput, NotFound, OutputNotUnderstood
from core.services import follow, runs
from core.services.matrix import matrix_rows
from core.services.receipts import receipt
from tests.fakes.event_lines import LOAD_LOG, EventLines


def play(box, run_id, **sweep):
    lines = EventLines(run_id)
    lines.whole_sweep(**(sweep or {"off": [10, 10.1, 10.2], "steps": {1: [14, 14.1, 14.2], 2: [9, 9.1, 9.2]}}))
    for server in (1, 2, 3, 20, 21, 22):
        box.append_log(run_id, f"server-{server}.log", LOAD_LOG.encode())
    return lines


def state(house, run_id):
    return runs.get_run(house, run_id)["state"]


def test_a_sweep_comes_home_whole(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    assert box.starts == [run_id] and state(house, run_id) == "running"
    box.append_events(run_id, play(box, run_id).take())
    box.finish(run_id)
    follow.follow_once(house, run_id)
    assert state(house, run_id) == "done"
    samples = house.store.cells.samples(run_id)
    assert len(samples) == 4 * 4 and [s["seq"] for s in samples] == sorted({s["seq"] for s in samples})
    row = matrix_rows(house, provenance="measured")[0]
    assert row["cells"]["off"]["n"] == 6 and row["cells"]["1"]["n"] == 3, "the baseline is all its warm samples; cold ones do not count"
    assert row["cells"]["1"]["tok_s"] == 14.1 and row["cells"]["1"]["verdict"] == "wins"
    assert row["cells"]["2"]["verdict"] == "loses" and row["cells"]["3"]["status"] == "not_run" and row["cells"]["3"]["tok_s"] is None
    assert row["cells"]["1"]["accept_denominator"] == "of 192 proposed" and row["cells"]["1"]["accept_share"] == 1.0
    assert {f["name"] for f in house.store.runs.raw_files(run_id)} == {"server-1.log", "server-2.log", "server-3.log", "server-20.log"}
    assert runs.read_raw(house, run_id, "server-2.log") == LOAD_LOG.encode()


def test_the_receipt_opens_to_samples_recipe_and_price(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    box.append_events(run_id, play(box, run_id).take())
    follow.follow_once(house, run_id)
    found = receipt(house, f"{run_id}-1-1")
    assert [s["temperature"] for s in found["samples"]] == ["cold", "warm", "warm", "warm"]
    assert found["price"]["a"] == 2.0 and round(found["price"]["h_ms"], 2) == round(1000 / 10.1, 2)
    assert set(found["recipe_differences"]) == {"n_max", "speculation"}
    assert found["servers"][0]["argv"] == ["llama-server", "-m", "/m.gguf"]
    assert found["servers"][0]["placement"]["state"] == "host-only"
    with pytest.raises(NotFound):
        receipt(house, f"{run_id}-9-1")


def test_torn_and_repeated_reads_store_each_event_once(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    data = play(box, run_id).take()
    for cut in range(0, len(data), 701):
        box.append_events(run_id, data[cut : cut + 701])
        follow.follow_once(house, run_id)
        if runs.get_run(house, run_id)["state"] == "running":
            follow.follow_once(house, run_id)
    assert state(house, run_id) == "done"
    events = house.store.runs.events(run_id)
    assert [e["seq"] for e in events] == list(range(1, data.count(b"\n") + 1))
    assert (house.archive.folder / "ledger" / f"{run_id}.jsonl").read_bytes() == data


def test_killed_between_ledger_and_store_repeats_nothing(house, box, start, monkeypatch):
    run_id = start()
    follow.follow_once(house, run_id)
    data = play(box, run_id).take()
    box.append_events(run_id, data)

    def dies(batch):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(house.store.runs), "ingest", lambda self, batch: dies(batch))
        with pytest.raises(KeyboardInterrupt):
            follow.follow_once(house, run_id)
    follow.follow_once(house, run_id)
    assert state(house, run_id) == "done" and len(house.store.cells.samples(run_id)) == 16
    assert (house.archive.folder / "ledger" / f"{run_id}.jsonl").read_bytes() == data


def test_out_of_reach_never_ends_a_run(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    box.unreachable = True
    for _ in range(5):
        with pytest.raises(BoxUnreachable):
            follow.follow_once(house, run_id)
    assert state(house, run_id) == "running"
    box.unreachable = False
    box.append_events(run_id, play(box, run_id).take())
    follow.follow_once(house, run_id)
    assert state(house, run_id) == "done"


def test_a_lost_answer_to_start_makes_one_run(house, box, start):
    run_id = start()
    real = box.submit

    def once_lost(*args):
        box.submit = real
        real(*args)
        raise BoxUnreachable("the answer was lost")

    box.submit = once_lost
    with pytest.raises(BoxUnreachable):
        follow.follow_once(house, run_id)
    follow.follow_once(house, run_id)
    assert box.starts == [run_id] and state(house, run_id) == "running"


@pytest.mark.parametrize("place", [0, 3, 10])
def test_a_changed_or_missing_line_is_not_taken(house, box, start, place):
    run_id = start()
    follow.follow_once(house, run_id)
    rows = play(box, run_id).take().splitlines(keepends=True)
    box.append_events(run_id, b"".join(rows[:place] + rows[place + 1 :]))
    before = len(house.store.runs.events(run_id))
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "failed" and "does not follow" in run["problem"]["message"]
    assert run["note"].startswith("Quarantined: ") and box.cancels == [(run_id, "the app")], "nothing is left running for nothing"
    assert len(house.store.runs.events(run_id)) == before


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"events": 7}, "the box counted 7 events"),
        ({"samples": 2}, "the box counted 2 repetitions"),
        ({"events": None}, "counted None events"),
    ],
)
def test_a_run_is_complete_only_if_the_agents_own_count_agrees(house, box, start, told, why):
    run_id = start()
    follow.follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, [10.0, 10.1, 10.2])
    lines.end(**told)
    box.append_events(run_id, lines.take())
    box.finish(run_id)
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "failed" and why in run["note"] and run["problem"]["title"] == "Not complete"
    assert len(house.store.cells.samples(run_id)) == 4, "what came is kept"


def test_agent_gone_without_a_word_is_lost_and_keeps_its_samples(house, box, start, monkeypatch):
    monkeypatch.setattr(follow, "STILL_S", 0.0)
    run_id = start()
    follow.follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, [10, 10.1, 10.2])
    box.append_events(run_id, lines.take())
    follow.follow_once(house, run_id)
    assert state(house, run_id) == "running"
    box.lose_agent(run_id)
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "lost" and run["problem"]["title"] == "The agent is gone"
    assert len(house.store.cells.samples(run_id)) == 4


def test_stop_is_carried_to_the_box_and_ends_with_its_word(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    runs.stop_run(house, run_id, who="Ada")
    runs.stop_run(house, run_id, who="Bob")
    follow.follow_once(house, run_id)
    assert box.cancels == [(run_id, "Ada")] and state(house, run_id) == "stopping"
    lines = EventLines(run_id)
    lines.begin()
    lines.end("cancelled", text="Stopped by Ada.")
    box.append_events(run_id, lines.take())
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "cancelled" and run["note"] == "Stopped by Ada."


def test_stop_before_the_start_never_reaches_the_box(house, box, start):
    run_id = start()
    runs.stop_run(house, run_id, who="Ada")
    follow.follow_once(house, run_id)
    assert state(house, run_id) == "cancelled" and box.starts == []


def test_stop_while_unreachable_is_sent_on_return(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    box.unreachable = True
    runs.stop_run(house, run_id, who="Ada")
    with pytest.raises(BoxUnreachable):
        follow.follow_once(house, run_id)
    assert state(house, run_id) == "stopping"
    box.unreachable = False
    follow.follow_once(house, run_id)
    assert box.cancels == [(run_id, "Ada")]


def test_a_second_click_and_a_second_run(house, start):
    run_id = start()
    again = runs.start_run(house, run_id, {**runs.get_run(house, run_id)["request"]}, who="Ada")
    assert again is False and len(runs.list_runs(house)) == 1
    house.store.worksheets.insert({"worksheet_id": "w-1", "title": "t", "body": {}, "created_by": "Ada", "created_at": house.clock.now()})
    first = start(worksheet_id="w-1")
    with pytest.raises(BoxBusy) as busy:
        start(worksheet_id="w-1")
    assert first[:4] in busy.value.message and len(runs.list_runs(house)) == 2, "one worksheet, one sweep, however many tabs"


@pytest.mark.parametrize(
    "probe, words",
    [
        ({"engines": []}, "no engine"),
        ({"engines": [{"id": "embedded", "error": "No such file", "help_text": "", "version_text": ""}]}, "No such file"),
        ({"engines": [{"id": "embedded", "error": None, "help_text": "-x  thing", "version_text": ""}]}, "does not look like llama-server"),
        (
            {"engines": [{"id": "embedded", "error": None, "help_text": "-m, --model F  model", "version_text": ""}]},
            "no multi-token prediction",
        ),
        ({"models": []}, "no model"),
        (
            {"models": [{"name": "made-dense", "error": None, "header": {"architecture": "llama", "nextn_predict_layers": 0}}]},
            "no multi-token",
        ),
    ],
)
def test_what_the_box_cannot_do_is_said_and_nothing_starts(house, box, start, probe, words):
    box.probe_answer.update(probe)
    run_id = start()
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "failed" and words in run["problem"]["message"] and run["problem"]["hint"]
    assert box.starts == []


def test_busy_and_refused_boxes_say_so(house, box, start):
    box.busy_with = "f" * 32
    run_id = start()
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "queued" and "held by run r-ffff" in run["note"] and "not started from here" in run["note"]
    box.busy_with, box.refuse = "", "less than 200 MiB free"
    follow.follow_once(house, run_id)
    assert "less than 200 MiB free" in runs.get_run(house, run_id)["problem"]["message"]


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"n_max": 0}, "n_max"),
        ({"n_max": -3}, "n_max"),
        ({"n_max": 10**9}, "n_max"),
        ({"repetitions": 1}, "repetitions"),
        ({"title": ""}, "title"),
        ({"title": "x" * 10_000}, "title"),
        ({"production_c": "many"}, "production_c"),
        ({"title": "a\nb"}, "title"),
        ({"other": 1}, "other"),
    ],
)
def test_absurd_requests_name_the_field(house, start, changes, field):
    with pytest.raises(InvalidInput) as refused:
        start(**changes)
    assert field in refused.value.problems and runs.list_runs(house) == []


def test_failed_and_invalid_repetitions_stay_with_their_reason(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, [10, 10.1, 10.2])
    stage = {"kind": "step", "n_max": 1, "c": 1, "repetitions": 3, "name": "n=1"}
    lines.add("stage_started", stage=stage, server=2)
    lines.add("server_starting", server=2, n_max=1, c=1, argv=["e"])
    lines.add("server_ready", server=2, load_s=0.1, log_bytes=0, props={})
    lines.sample(stage, 2, 1, None, status="failed", reason="the engine died")
    lines.sample(stage, 2, 2, 12.0, status="invalid", reason="nothing was drafted")
    lines.end("failed", text="n=1 could not be measured")
    box.append_events(run_id, lines.take())
    follow.follow_once(house, run_id)
    row = matrix_rows(house, provenance="measured")[0]
    cell = row["cells"]["1"]
    assert (cell["status"], cell["tok_s"], cell["speedup"], cell["n"]) == ("failed", None, None, 0)
    assert cell["why"] in ("the engine died", "nothing was drafted")
    assert [s["reason"] for s in house.store.cells.samples(run_id, n_max=1)] == ["the engine died", "nothing was drafted"]


def test_an_ended_journal_is_not_read_again(house, box, start):
    run_id = start()
    follow.follow_once(house, run_id)
    box.append_events(run_id, play(box, run_id).take())
    follow.follow_once(house, run_id)
    reads = len(box.reads)
    assert follow.follow_once(house, run_id) is False and len(box.reads) == reads


def test_events_longer_than_any_line_are_refused():
    from core.domain.event_lines import MAX_LINE, read_page

    with pytest.raises(OutputNotUnderstood):
        read_page(b"x" * (MAX_LINE + 1), last_seq=0, last_sha="")


@pytest.mark.parametrize("rebooted, title", [(True, "The box restarted"), (False, "The agent is gone")])
def test_b01_an_interrupted_run_is_told_from_a_killed_one(house, box, start, monkeypatch, rebooted, title):
    monkeypatch.setattr(follow, "STILL_S", 0.0)
    run_id = start()
    follow.follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    box.append_events(run_id, lines.take())
    follow.follow_once(house, run_id)
    box.lose_agent(run_id)
    real = box.state
    box.state = lambda asked: {**real(asked), "rebooted": rebooted}

    def closes(asked, who):
        lines.end("cancelled", text="Stopped by the app.")
        box.append_events(asked, lines.take())
        return {"answer": "reaped", "left": []}

    box.cancel = closes
    follow.follow_once(house, run_id)
    run = runs.get_run(house, run_id)
    assert (run["state"], run["problem"]["title"]) == ("lost", title) and "run again by itself" in run["note"]
    assert box.starts == [run_id]
    stored = house.store.runs.events(run_id)
    assert stored[-1]["kind"] == "run_finished", "what the box wrote when it cleared up is held here too"
    assert stored[-1]["seq"] == box._files[(run_id, "events.jsonl")].count(b"\n")


@pytest.mark.parametrize("text, became", [("Every stage was measured.", "done"), ("Stopped by the app.", "lost")])
def test_killed_between_the_last_event_and_the_end_of_the_run_closes_it_at_the_next_look(house, box, start, monkeypatch, text, became):
    run_id = start()
    follow.follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, [10, 10.1, 10.2])
    lines.end("done" if became == "done" else "cancelled", text=text)
    box.append_events(run_id, lines.take())
    box.finish(run_id)
    with monkeypatch.context() as cut:
        cut.setattr(follow, "_finish", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            follow.follow_once(house, run_id)
    assert state(house, run_id) == "running"
    follow.follow_once(house, run_id)
    assert state(house, run_id) == became and len(house.store.cells.samples(run_id)) == 4
    assert house.store.runs.raw_files(run_id) == [] or became == "done"


def test_a_stop_that_the_box_could_not_take_is_carried_again(house, box, start, monkeypatch):
    run_id = start()
    follow.follow_once(house, run_id)
    runs.stop_run(house, run_id, who="Bo")
    real = box.cancel
    monkeypatch.setattr(box, "cancel", lambda run_id, who: {"answer": "refused", "why": "[Errno 28] No space left on device"})
    follow.follow_once(house, run_id)
    monkeypatch.setattr(box, "cancel", real)
    for _ in range(3):
        follow.follow_once(house, run_id)
    assert box.cancels == [(run_id, "Bo")], "until it is taken, and then no more"
