"""Event lines in other hands: number, link and hash are right, what stands in them is anything. Refused in words, and no page breaks."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.event_forms import check_events
from core.domain.event_lines import read_page
from core.domain.recipe import digest
from core.domain.run import FAILED, FINAL
from core.errors import OutputNotUnderstood
from core.services.follow import end_run, follow_once
from core.services.ingest import Context, batch_of
from core.services.matrix import matrix_rows
from core.services.outlines import run_outline
from core.services.run_report import run_report
from core.services.runs import get_run, list_runs, show_run
from tests.fakes.event_lines import EventLines

RUN = "f" * 32
SPEC = {"asked": {}}
WORDS = st.one_of(st.text(max_size=8), st.sampled_from(["ok", "", "0", "llama-server"]))
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=5,
)


def whole(run_id: str) -> list[dict]:
    lines = EventLines(run_id)
    lines.whole_sweep(off=[10.0, 10.1, 10.2], steps={1: [12.0, 12.1, 12.2], 2: [11.0, 11.1, 11.2]}, production_c=2)
    return [json.loads(line) for line in lines.take().splitlines()]


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Every place below an event, as a path of keys."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for key, inner in items for place in places(inner, (*path, key))]


def changed(event: dict, path: tuple, value: object, *, taken_out: bool) -> dict:
    event = json.loads(json.dumps(event))
    inner = event
    for key in path[:-1]:
        inner = inner[key]
    if taken_out:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return event


def linked(events: list[dict]) -> bytes:
    """The lines with their links and hashes made anew."""
    sha, out = "", []
    for event in events:
        bare = {**event, "prev": sha}
        bare.pop("sha", None)
        sha = digest(bare)
        out.append(json.dumps({**bare, "sha": sha}).encode())
    return b"\n".join(out) + b"\n"


EVENTS = whole(RUN)
OWN = {"seq", "prev", "sha"}
PLACES = [(at, path) for at, event in enumerate(EVENTS) for path in places(event) if path[0] not in OWN]
FORGED = st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING, st.booleans()), min_size=1, max_size=2)


def forged(events: list[dict], changes: list[tuple]) -> bytes:
    events = list(events)
    for (at, path), value, taken_out in changes:
        try:
            events[at] = changed(events[at], path, value, taken_out=taken_out)
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the place of the second away
    return linked(events)


def read_in(data: bytes) -> None:
    try:
        page = read_page(data, last_seq=0, last_sha="")
        check_events(page.events)
        batch_of(page, Context(SPEC, [], []), run_id=RUN, offset=0, logs={})
    except OutputNotUnderstood as told:
        assert told.message and told.hint


def fuzz(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, database=None, derandomize=examples < 10_000, suppress_health_check=list(HealthCheck))
    @given(FORGED)
    def once(changes: list[tuple]) -> None:
        read_in(forged(EVENTS, changes))

    once()


def test_whatever_stands_in_an_event_it_becomes_rows_or_words() -> None:
    fuzz(1600)


def through_the_app(house, box, start, examples: int) -> set[str]:
    """Forged runs, followed to their end and looked at on every page that shows runs; the states they ended in."""
    states = set()

    @settings(max_examples=examples, deadline=None, database=None, derandomize=examples < 1000, suppress_health_check=list(HealthCheck))
    @given(FORGED)
    def once(changes: list[tuple]) -> None:
        run_id = start()
        follow_once(house, run_id)
        box.append_events(run_id, forged(whole(run_id), changes))
        for _ in range(3):
            follow_once(house, run_id)
        states.add(get_run(house, run_id)["state"])
        if get_run(house, run_id)["state"] not in FINAL:
            end_run(house, run_id, FAILED, "the forged run says no end")
        assert show_run(house, run_id) and run_report(house, run_id) and list_runs(house)
        assert run_outline(house, get_run(house, run_id)) is not None
        matrix_rows(house)

    once()
    return states


def test_whatever_a_box_tells_no_page_breaks(house, box, start) -> None:
    assert through_the_app(house, box, start, 40) >= {"done", "failed"}


@pytest.mark.soak
def test_whatever_a_box_tells_no_page_breaks_for_long(house, box, start) -> None:
    through_the_app(house, box, start, 2000)


@pytest.mark.parametrize("field, odd", [("drafted", [1]), ("accepted", "2"), ("accepted", -1), ("tok_s", None)])
def test_counts_of_a_stage_that_are_none_are_refused_in_words(field: str, odd: object) -> None:
    done = next(event for event in EVENTS if event["kind"] == "stage_done")
    with pytest.raises(OutputNotUnderstood, match=field):
        check_events([changed(done, (field,), odd, taken_out=False)])


@pytest.mark.parametrize("odd", [b"1e999", b'"\\ud800"', b"[" * 900 + b"]" * 900])
def test_what_no_agent_could_have_hashed_is_refused_in_words(odd: bytes) -> None:
    line = linked(EVENTS[:1]).replace(b'"b"', odd)
    with pytest.raises(OutputNotUnderstood):
        read_page(line, last_seq=0, last_sha="")


@pytest.mark.soak
def test_whatever_stands_in_an_event_it_becomes_rows_or_words_for_long() -> None:
    fuzz(200_000)
