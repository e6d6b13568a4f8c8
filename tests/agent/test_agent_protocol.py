"""The whole protocol as the packed agent follows it against the scripted engine: visits, extra repetitions, stop reasons, what is told."""

from __future__ import annotations

import pytest

from core.agent.pricing import draft_ms, figures_of, per_position
from tests.agent.agent_box import Box
from tests.agent.test_agent_after import forced
from tests.agent.test_agent_sweep import names, of

NOISY = [1.0, 0.9, 1.05, 0.97, 1.04, 0.93, 1.02, 0.95, 1.03]  # of 9 requests: the first is the warm-up


def test_an_undecided_step_gets_more_repetitions_on_the_engine_that_is_up_then_on_the_other_arm(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 104}, pace_s=0.1, at={"1": {"wobble": [1.0, 0.962, 1.0, 1.0, 1.0, 1.0]}})
    events = box.sweep(plan={"n_max": 1})
    assert names(events) == ["baseline", "n=1", "n=1", "baseline", "baseline again"]
    started = of(events, "stage_started")
    assert [(e["server"], e["stage"]["repetitions"]) for e in started] == [(1, 3), (2, 3), (2, 2), (3, 2), (3, 3)]
    assert [v["undecided"] for v in of(events, "verdict")] == [False, True, True, False, False]
    again = [e for e in of(events, "sample") if e["stage"]["name"] == "n=1"]
    assert [(e["repetition"], e["counted"]) for e in again] == [(0, False), (1, True), (2, True), (3, True), (4, True), (5, True)]
    assert [e["prompt_ids"] for e in again[1:]] == [["p0"], ["p1"], ["p2"], ["p3"], ["p0"]], "extra repetitions take the next prompts"
    end = events[-1]
    assert (end["winner"], end["supports_keep"], end["production"]["verdict"], end["production"]["flips"]) == (1, True, "wins", False)
    box.assert_clean()


def test_no_difference_is_a_result_after_eight_a_side(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 101}, wobble=NOISY)
    events = box.sweep(plan={"n_max": 2})
    rates = {name: sum(len(e["tok_s"]) for e in of(events, "stage_done") if e["stage"]["name"] == name) for name in set(names(events))}
    assert rates == {"baseline": 8, "n=1": 8, "n=2": rates["n=2"], "baseline again": 8}
    assert (events[-1]["winner"], events[-1]["stop"]["code"], events[-1]["supports_keep"]) == (0, "no_gain", False)
    assert "8 against 8 repetitions" in of(events, "verdict")[-1]["stop"]["text"]


def test_block_order_never_goes_back_to_an_arm(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 104}, at={"1": {"wobble": NOISY}})
    events = box.sweep(plan={"n_max": 1, "order": "block"})
    assert names(events) == ["baseline", "n=1", "n=1", "baseline again"]
    assert [len(e["tok_s"]) for e in of(events, "stage_done")][:3] == [3, 3, 5]
    assert len(of(events, "server_starting")) == 3


def test_interleaved_order_measures_the_baseline_between_steps(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140, "2": 170})
    events = box.sweep(plan={"n_max": 2, "order": "interleaved"})
    assert names(events) == ["baseline", "n=1", "baseline between", "n=2", "baseline again"]
    assert events[-1]["drifted"] is False


def test_production_takes_one_the_winner_and_off(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140, "2": 170})
    events = box.sweep(plan={"n_max": 2, "production_c": 2})
    assert list(dict.fromkeys(names(events)))[-3:] == ["n=1 at c=2", "n=2 at c=2", "off at c=2"]
    found = events[-1]["production"]
    assert (found["n_max"], found["c"], found["single"]) == (2, 2, "wins")
    assert found["flips"] == (found["verdict"] != "wins") == bool(found["text"])


def test_the_marginal_rule_stops_with_its_figures(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140, "2": 150, "3": 500}, positions=[0.8, 0.1, 0.1])
    events = box.sweep()
    end = events[-1]
    assert (names(events)[-2:], end["winner"], end["stop"]["code"]) == (["n=2", "baseline again"], 2, "next_cannot_pay")
    assert "10 % of steps" in end["stop"]["text"]
    done = of(events, "stage_done")
    assert done[2]["per_position"] == pytest.approx([0.8, 0.1])
    assert done[2]["step_ms"] == pytest.approx([1000 * 2 / rate for rate in done[2]["tok_s"]])
    assert done[2]["d_ms"] == pytest.approx(2.0)
    assert (done[0]["step_ms"], done[0]["per_position"], done[0]["d_ms"]) == ([], [], None)


def test_an_engine_without_room_for_the_head_stops_for_memory(box: Box) -> None:
    words = "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 900.00 MiB on device 0: cudaMalloc failed: out of memory"
    box.script(speeds={"0": 100, "1": 140}, at={"2": {"die_loading": True, "last_words": words}})
    events = box.sweep()
    end = events[-1]
    assert (end["outcome"], end["winner"], end["stop"]["code"]) == ("done", 1, "memory")
    assert "cudaMalloc failed" in end["stop"]["text"]
    assert of(events, "stage_done")[2]["code"] == "out_of_memory"


def test_a_time_budget_ends_the_climb_and_the_forced_pass_and_not_the_run(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140, "2": 170, "3": 200})
    events = box.sweep(plan={"budget_s": 0.01}, forced=forced(1))
    assert names(events) == ["baseline", "n=1", "baseline again"]
    end = events[-1]
    assert (end["outcome"], end["winner"], end["stop"]["code"], end["drifted"]) == ("done", 1, "time_budget", False)
    assert of(events, "forced_fit")[0]["left_out"] == [{"n_max": 1, "point": "all"}, {"n_max": 1, "point": "none"}]


def test_a_baseline_that_moved_supports_no_keep(box: Box) -> None:
    # every start of an engine is a tenth slower than the one before
    box.script(speeds={"0": 100, "1": 140}, slower_by_start=0.1)
    events = box.sweep(plan={"n_max": 1})
    end = events[-1]
    assert (end["winner"], end["drifted"], end["supports_keep"], end["production"]["verdict"]) == (1, True, False, "wins")


def test_the_pilot_says_what_a_difference_costs(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140})
    first, *others = of(box.sweep(plan={"n_max": 1}), "verdict")
    assert first["noise"]["repetitions"] == 3
    assert first["noise"]["minutes"]["3"] > 0
    assert "needs 3 repetitions a side" in first["noise"]["text"]
    assert {v["noise"] for v in others} == {None}


@pytest.mark.parametrize(("key", "value"), [("order", "random"), ("order", 3), ("budget_s", -1), ("budget_s", "soon"), ("budget_s", None)])
def test_a_plan_with_a_wrong_order_or_budget_is_refused(box: Box, key: str, value: object) -> None:
    assert box.begin(plan={key: value})["answer"] == "refused"


def sample(before: str = "", after: str = "", line_before: str = "", line: str = "") -> dict[str, object]:
    timings = {"predicted_ms": 70.0, "predicted_n": 9}
    return {
        "n_max": 1, "c": 1, "accepted": 3, "streams": [{"timings": timings}], "metrics_before": before, "metrics_after": after,
        "statistics_before": line_before, "statistics_line": line,
    }  # fmt: skip


def metrics(drafts: int, *counts: int) -> str:
    rows = [f"llamacpp:spec_decode_num_drafts_total {drafts}"]
    rows += [f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{at}"}} {count}' for at, count in enumerate(counts)]
    return "\n".join(rows)


LINE = "statistics draft-mtp: #calls(b,g,a) = 1 {calls} {calls}, #acc rate/pos = (0.900, 0.500), dur(b,g,a) = 0.010, {ms}, 0.100 ms"


def test_figures_come_from_differences_and_stay_empty_where_nothing_is_printed() -> None:
    one = sample(metrics(10, 9, 5), metrics(30, 25, 9), LINE.format(calls=10, ms=20.0), LINE.format(calls=30, ms=80.0))
    found = figures_of([one, one])
    assert found == {"step_ms": [14.0, 14.0], "per_position": pytest.approx([0.8, 0.2]), "d_ms": pytest.approx(3.0)}
    assert per_position([sample(line=LINE.format(calls=1, ms=1.0))]) == [0.9, 0.5]
    assert figures_of([]) == {"step_ms": [], "per_position": [], "d_ms": None}
    assert draft_ms([sample(line="statistics draft-mtp: #calls(b,g,a) = 1 5 5")]) is None
    assert figures_of([{**one, "accepted": None}])["step_ms"] == []
    assert figures_of([{**one, "c": 2}])["per_position"] == []
