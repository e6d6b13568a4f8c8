"""The cell gate: every condition passes, fails, is n/a or was not recorded, and says why."""

from dataclasses import replace

import pytest

from core.domain.cell_gate import CellFacts, cell_gate, facts_of, gate_state

STREAM = {"slot": 0, "drafted": 60, "accepted": 45, "predicted_n": 129, "engine_tok_s": 50.0, "client_tok_s": 50.4, "cached_tokens": 0}
PLACEMENT = {"state": "resident", "layers_offloaded": 49, "layers_total": 49, "host_mib": 0.0, "n_cpu_moe": None}
GOOD = CellFacts(
    n_max=2, c=1, asked_tokens=129, drafted=180, streams=[STREAM] * 3, placement=PLACEMENT, fit="off", slots=1, context=4096, has_gpu=True,
    gpu_memory_mib={"before": 9000.0, "during": 9050.0, "after": 9000.0}, others_on_gpu=[], prompt_set_sha256="p", template_sha256="t",
)  # fmt: skip
OFF = replace(GOOD, n_max=0, drafted=0)
BESIDE = {"before": 9000.0, "during": 9900.0, "after": 9000.0}


def states(cell, other=OFF, **more):
    return {item.name: item.state for item in cell_gate(cell, other, prompt_set_sha256="p", **more)}


def reason(cell, name, other=OFF):
    return next(item.reason for item in cell_gate(cell, other, prompt_set_sha256="p") if item.name == name)


def test_a_good_cell_passes_every_condition():
    found = states(GOOD)
    assert found.pop("slots_agree") == "n/a"
    assert set(found.values()) == {"pass"} and len(found) == 9
    assert gate_state(cell_gate(GOOD, OFF)) == gate_state(cell_gate(OFF, GOOD)) == "pass"


def streams(**changes):
    return {"streams": [STREAM, {**STREAM, **changes}]}


@pytest.mark.parametrize(("name", "changes", "words"), [
    ("drafted", {"drafted": 0}, "Nothing was drafted"),
    ("drafted", {"n_max": 0, "drafted": 7}, "7 tokens were drafted"),
    ("not_cached", streams(cached_tokens=12), "12 prompt tokens"),
    ("placement", {"asked_cpu_moe": 14}, "14 layers"),
    ("placement", {"placement": {**PLACEMENT, "layers_offloaded": 40}}, "layers_offloaded"),
    ("same_size", {"slots": 4}, "4 slots"),
    ("same_size", {"context": 2048}, "2048 tokens"),
    ("gpu_memory", {"gpu_memory_mib": BESIDE}, "900 MiB"),
    ("prompts", {"prompt_set_sha256": "q"}, "not the one"),
    ("prompts", {"template_sha256": "u"}, "other arm"),
    ("books", {"streams": [{**STREAM, "client_tok_s": 45.0}]}, "10.0%"),
    ("alone", {"others_on_gpu": [{"name": "train.py"}]}, "train.py"),
    ("finished", streams(predicted_n=100), "1 of 2 requests"),
    ("slots_agree", {"c": 3, "streams": [STREAM, {**STREAM, "slot": 1}, {**STREAM, "slot": 2, "accepted": 12}]}, "Slot 2 accepts 20%"),
])  # fmt: skip
def test_a_condition_that_fails_says_why(name, changes, words):
    bad = replace(GOOD, **changes)
    assert states(bad)[name] == "fail"
    assert words in reason(bad, name)
    assert gate_state(cell_gate(bad, OFF, prompt_set_sha256="p")) == "fail"


@pytest.mark.parametrize(("name", "changes"), [
    ("drafted", {"drafted": None}), ("not_cached", streams(cached_tokens=None)), ("not_cached", {"streams": []}),
    ("placement", {"placement": None}),
    ("placement", {"placement": {"state": "unknown"}}), ("placement", {"fit": None}), ("same_size", {"slots": None}),
    ("gpu_memory", {"gpu_memory_mib": None}), ("gpu_memory", {"gpu_memory_mib": {"before": 1.0}}), ("prompts", {"template_sha256": None}),
    ("books", streams(client_tok_s=None)), ("alone", {"others_on_gpu": None}), ("finished", {"asked_tokens": None}),
    ("finished", {"streams": []}), ("slots_agree", {"c": 2}), ("gpu_memory", {"has_gpu": None, "gpu_memory_mib": None}),
])  # fmt: skip
def test_what_was_not_recorded_is_neither_pass_nor_fail(name, changes):
    cell = replace(GOOD, **changes)
    assert states(cell)[name] == "not_recorded"
    assert reason(cell, name)
    assert gate_state(cell_gate(cell, OFF)) == "not_recorded"


def test_without_the_other_arm_the_comparison_is_not_recorded():
    assert states(GOOD, None)["same_size"] == "not_recorded"


def test_on_a_box_without_a_gpu_its_conditions_do_not_apply_and_count_as_pass():
    host = {**PLACEMENT, "state": "host-only"}
    cell = replace(GOOD, has_gpu=False, gpu_memory_mib=None, others_on_gpu=None, placement=host, fit=None)
    found = states(cell, replace(cell, n_max=0, drafted=0))
    assert (found["gpu_memory"], found["alone"], found["placement"]) == ("n/a", "n/a", "pass")
    assert gate_state(cell_gate(cell, replace(cell, n_max=0, drafted=None))) == "pass"


def test_a_slot_with_little_proposed_says_nothing():
    few = {**STREAM, "slot": 1, "drafted": 10, "accepted": 0}
    assert states(replace(GOOD, c=2, streams=[STREAM, few]))["slots_agree"] == "not_recorded"
    assert states(replace(GOOD, c=2, streams=[STREAM, {**STREAM, "slot": 1, "accepted": 40}]))["slots_agree"] == "pass"


def test_facts_come_from_what_a_run_stores():
    timings = {"predicted_n": 129, "predicted_ms": 2560.0, "draft_n": 60, "draft_n_accepted": 45}
    stream = {"timings": timings, "client_tok_s": 50.4, "cached_tokens": 0}
    spec = {
        "request": {"max_tokens": 129}, "prompt_set_sha256": "p", "asked": {"n_cpu_moe": None},
        "arms": [{"n_max": 2, "c": 1, "args": ["-m", "{model}", "--fit", "off"]}],
    }  # fmt: skip
    ready = {"props": {"total_slots": 1, "n_ctx": 4096, "chat_template_sha256": "t"}}
    sample = {"n_max": 2, "c": 1, "drafted": 60, "streams": [stream]}
    cell = facts_of(
        [sample, sample], ready=ready, placement=PLACEMENT, preflight={"gpus": {"state": "none"}, "others_on_gpu": "n/a"}, spec=spec
    )
    assert (cell.drafted, cell.fit, cell.slots, cell.has_gpu, cell.others_on_gpu) == (120, "off", 1, False, None)
    assert cell.streams[0]["engine_tok_s"] == pytest.approx(50.0)
    assert gate_state(cell_gate(cell, replace(cell, n_max=0, drafted=0), prompt_set_sha256="p")) == "pass"
    bare = facts_of(
        [{"n_max": 0, "c": 1, "drafted": None, "streams": [{"timings": None}]}], ready={}, placement=None, preflight={}, spec={}
    )
    assert gate_state(cell_gate(bare)) == "not_recorded" and bare.has_gpu is None


@pytest.mark.parametrize("odd", [[None], "many", True, {"n": 1}])
def test_what_is_told_and_is_no_number_is_unknown(odd):
    timings = dict.fromkeys(("predicted_n", "predicted_ms", "draft_n", "draft_n_accepted"), odd)
    sample = {"n_max": 2, "c": 1, "drafted": odd, "gpu_memory_mib": dict.fromkeys(("before", "during", "after"), odd),
              "streams": [{"timings": timings, "client_tok_s": odd, "cached_tokens": odd, "slot": odd}, {"timings": odd}]}  # fmt: skip
    props = {"total_slots": odd, "n_ctx": odd}
    cell = facts_of([sample], ready={"props": props}, placement=None, preflight={"gpus": {"state": odd}}, spec={})
    assert {value for stream in cell.streams for value in stream.values()} == {None}
    assert (cell.drafted, cell.gpu_memory_mib, cell.slots, cell.context, cell.has_gpu) == (None,) * 5
    assert gate_state(cell_gate(cell)) == "not_recorded"
    assert facts_of([sample], ready={"props": odd}, placement=None, preflight={"gpus": odd}, spec={}).slots is None
