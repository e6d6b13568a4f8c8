"""The queue of a box: one run at a time, in order, with its place told; strangers are waited for, never ended."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from core.bootstrap import SystemClock, build
from core.domain.roles import RUNNER, VIEWER, Actor
from core.domain.run import CANCELLED, DONE, new_run_id
from core.errors import BoxBusy, NotAllowed
from core.services import runs
from core.services.boxes import list_boxes
from core.services.follow import follow_once
from core.services.lease import LASTS
from core.services.queue import EARLIER, FIRST, LATER, ahead_of, move_in_queue, queue_of
from tests.fakes.event_lines import EventLines
from tests.services.conftest import REQUEST


def a_whole_run(house, box, run_id: str) -> None:
    lines = EventLines(run_id)
    lines.whole_sweep(off=[10.0, 10.1, 10.2], steps={1: [12.0, 12.1, 12.2], 2: [13.0, 13.1, 13.2]})
    box.append_events(run_id, lines.take())
    box.finish(run_id)
    follow_once(house, run_id)
    assert runs.get_run(house, run_id)["state"] == DONE


def state(house, run_id: str) -> tuple[str, str]:
    run = runs.get_run(house, run_id)
    return run["state"], run["note"]


def test_runs_wait_in_order_and_the_next_starts_when_the_box_is_free(house, box, start):
    first, second, third = start(), start(title="b"), start(title="c")
    assert [run["run_id"] for run in queue_of(house, "this-machine")] == [first, second, third]
    for run_id in (third, second, first):
        follow_once(house, run_id)
    assert box.starts == [first]
    assert state(house, second) == ("queued", f"Waiting: number 1 in the queue, behind r-{first[:4]} (Ada).")
    assert state(house, third) == ("queued", f"Waiting: number 2 in the queue, behind r-{first[:4]} (Ada) and 1 more.")
    (entry,) = list_boxes(house)
    assert entry["run"]["run_id"] == first and [run["run_id"] for run in entry["queue"]] == [second, third]
    a_whole_run(house, box, first)
    for run_id in (third, second):
        follow_once(house, run_id)
    assert box.starts == [first, second] and state(house, third)[0] == "queued"
    assert [run["run_id"] for run in ahead_of(house, runs.get_run(house, third))] == [second]


def test_a_waiting_run_is_cancelled_without_a_word_to_the_box(house, box, start):
    first, second, third = start(), start(title="b"), start(title="c")
    follow_once(house, first)
    calls = box.calls
    runs.stop_run(house, second, who="Bo")
    follow_once(house, second)
    assert state(house, second) == (CANCELLED, "Stopped by Bo before it started.")
    assert box.calls == calls and box.cancels == [] and second not in box.submitted
    follow_once(house, third)
    assert "number 1 in the queue" in state(house, third)[1]


def test_the_order_of_waiting_runs_can_be_changed_and_is_written_down(house, box, start, settings):
    on_it, *waiting = [start(title=str(number)) for number in range(4)]
    follow_once(house, on_it)
    second, third, fourth = waiting
    runner = house.acting(Actor("local:bo", "Bo", RUNNER, "page"))

    def line() -> list[str]:
        return [run["run_id"] for run in queue_of(house, "this-machine")]

    move_in_queue(runner, fourth, FIRST)
    assert line() == [on_it, fourth, second, third]
    move_in_queue(runner, third, EARLIER)
    move_in_queue(runner, fourth, LATER)
    assert line() == [on_it, third, fourth, second]
    move_in_queue(runner, second, LATER)
    late = start(title="late")
    assert line() == [on_it, third, fourth, second, late], "who asks now stands behind everybody"
    acts = [row for row in house.store.audit.newest() if row["action"] == "run.order"]
    assert [(row["object"], row["detail"]["before"], row["detail"]["after"], row["name"]) for row in reversed(acts)] == [
        (fourth, 3, 1, "Bo"), (third, 3, 2, "Bo"), (fourth, 1, 2, "Bo"),
    ], "a move to where it stands is none"  # fmt: skip
    with pytest.raises(BoxBusy, match="waits no more"):
        move_in_queue(runner, on_it, FIRST)
    with pytest.raises(NotAllowed):
        move_in_queue(house.acting(Actor("local:vi", "Vi", VIEWER, "page")), late, FIRST)
    a_whole_run(house, box, on_it)
    for run_id in (second, fourth, third):
        follow_once(house, run_id)
    assert box.starts == [on_it, third] and "number 1 in the queue" in state(house, fourth)[1]
    assert house.upkeep.compare()["equal"]


def test_a_stranger_on_the_box_is_named_waited_for_and_left_alone(house, box, start):
    box.busy_with = "f" * 32
    run_id = start()
    for _ in range(3):
        follow_once(house, run_id)
    assert state(house, run_id) == ("queued", "Waiting: this-machine is held by run r-ffff, which was not started from here.")
    assert box.cancels == [] and len(house.store.boxes._db.rows("SELECT 1 FROM box_checks")) == 1, (
        "the box is not checked anew at each look"
    )
    box.busy_with = ""
    follow_once(house, run_id)
    assert state(house, run_id)[0] == "running" and box.starts == [run_id]


def test_b08_many_starts_at_once_make_one_runner_and_an_order(house, box):
    ids = [new_run_id() for _ in range(8)]
    gate = threading.Barrier(len(ids))

    def ask(run_id: str) -> None:
        gate.wait()
        runs.start_run(house, run_id, {**REQUEST, "title": run_id}, who="Ada")

    threads = [threading.Thread(target=ask, args=(run_id,)) for run_id in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    line = queue_of(house, "this-machine")
    assert sorted(run["run_id"] for run in line) == sorted(ids)
    assert [run["state"] for run in line] == ["preparing", *["queued"] * 7]
    for run_id in ids:
        follow_once(house, run_id)
    assert box.starts == [line[0]["run_id"]]


def test_a13_two_ingesters_at_once_store_every_event_once(house, box, start):
    run_id = start()
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.whole_sweep(off=[10.0, 10.1, 10.2], steps={n: [10.0 + n] * 3 for n in range(1, 9)})
    whole = lines.take()
    cuts = [0, *sorted({whole.index(b"\n", place) + 1 for place in range(1, len(whole) - 1, len(whole) // 20)}), len(whole)]
    problems: list[BaseException] = []
    gate = threading.Barrier(2)

    def follow() -> None:
        try:
            for _ in cuts:
                gate.wait(30)
                follow_once(house, run_id)
        except BaseException as problem:  # noqa: BLE001 - shown by the test
            problems.append(problem)

    def feed(start_at: int, end: int) -> None:
        box.append_events(run_id, whole[start_at:end])

    pieces = list(zip(cuts, cuts[1:], strict=False))
    threads = [threading.Thread(target=follow) for _ in range(2)]
    for piece in pieces:
        feed(*piece)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    events = house.store.runs.events(run_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)) and runs.get_run(house, run_id)["state"] == DONE
    assert house.archive.folder.joinpath("ledger", f"{run_id}.jsonl").read_bytes() == whole
    assert house.upkeep.compare()["equal"]


class HalfOfIt:
    """The same box as another worker sees it: `until` bytes of the events, and its logs only when it is let go."""

    def __init__(self, box, *, until: int | None = None, at_a_log: threading.Event | None = None) -> None:
        self._box, self._until, self._at_a_log, self.go_on = box, until, at_a_log, threading.Event()

    def __getattr__(self, name: str):
        return getattr(self._box, name)

    def read_events(self, run_id: str, offset: int, limit: int = 1 << 20) -> bytes:
        return self._box.read_events(run_id, offset, limit)[: None if self._until is None else max(0, self._until - offset)]

    def read_log(self, *words, **more) -> bytes:
        if self._at_a_log is not None:
            self._at_a_log.set()
            assert self.go_on.wait(30)
        return self._box.read_log(*words, **more)


class Later(SystemClock):
    def now(self):
        return super().now() + LASTS + timedelta(seconds=1)


def test_a13_of_two_workers_the_second_writes_nothing_and_a_late_one_neither(house, box, start):
    run_id = start()
    follow_once(house, run_id)
    whole, cut = EventLines(run_id).sweep_in_two()
    box.append_events(run_id, whole)
    box.finish(run_id)
    at_a_log = threading.Event()
    slow, problems = HalfOfIt(box, at_a_log=at_a_log), []

    def work() -> None:
        try:
            follow_once(replace(house, open_box=lambda _: slow), run_id)
        except BaseException as problem:  # noqa: BLE001 - shown by the test
            problems.append(problem)

    def taken() -> tuple[int, int]:
        return len(house.store.runs.events(run_id)), house.archive.ledger_size(run_id)

    first = threading.Thread(target=work)
    first.start()
    assert at_a_log.wait(30), "the first has read the whole page and is about to write it"
    assert follow_once(house, run_id) is False and taken() == (0, 0), "the lease is the first one's"
    follow_once(replace(house, open_box=lambda _: HalfOfIt(box, until=cut), clock=Later()), run_id)
    half = whole[:cut].count(b"\n")
    assert taken() == (half, cut), "the lease ran out: the second took over"
    slow.go_on.set()
    first.join(30)
    assert problems == [] and len(house.store.runs.events(run_id)) == half, "the first came too late and wrote no row"
    follow_once(house, run_id)
    assert runs.get_run(house, run_id)["state"] == DONE
    assert [event["seq"] for event in house.store.runs.events(run_id)] == list(range(1, whole.count(b"\n") + 1))
    assert house.archive.folder.joinpath("ledger", f"{run_id}.jsonl").read_bytes() == whole
    assert house.upkeep.compare()["equal"]


def test_a13_a_lease_does_not_outlive_the_process_that_held_it(house, settings, start):
    run_id, now = start(), house.clock.now()
    assert house.store.runs.take_lease(run_id, "first", now=now, until=now + LASTS)
    assert not house.store.runs.take_lease(run_id, "second", now=now, until=now + LASTS)
    house.upkeep._database.close()
    again = build(settings)
    try:
        assert again.house.store.runs.take_lease(run_id, "second", now=now, until=now + LASTS)
    finally:
        again.database.close()
        again.jobs.close()
