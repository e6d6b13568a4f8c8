"""One table per diagnosis rule, in the order in which they are asked; and every failure mode seen and not seen."""

import pytest

from core.domain.diagnosis import (
    NOT_RECORDED,
    RULED_OUT,
    SEEN,
    Sight,
    cache_reuse,
    diagnose,
    heat,
    kind_of_speed,
    residency,
    verify_traffic,
)
from core.domain.failure_modes import MODES, failure_modes

LOSES = {"verdict": "loses", "speedup": 0.86, "step_in_h": 4.02}


@pytest.mark.parametrize(
    "known, state, words",
    [
        ({"accept_share": 0.82, "placement": "spilled", "host_share": 0.41}, SEEN, "82% accepted, yet a step costs 4.0 plain steps; 41%"),
        ({"accept_share": 0.82, "placement": "resident"}, SEEN, "no spill was read back"),
        ({"accept_share": 0.82, "placement": "unknown"}, SEEN, "placement is unknown"),
        ({"accept_share": 0.30, "placement": "spilled"}, RULED_OUT, "30% accepted is not high"),
        ({"accept_share": None}, NOT_RECORDED, "was not recorded"),
        ({"accept_share": 0.9, "step_in_h": None}, NOT_RECORDED, "was not recorded"),
    ],
)
def test_spill_and_verify(known, state, words):
    found = verify_traffic(Sight(3, **{**LOSES, **known}))
    assert found.state == state and words in found.evidence
    assert "better draft cannot help" in verify_traffic(Sight(3, **LOSES, accept_share=0.82, placement="spilled")).advice


@pytest.mark.parametrize(
    "known, state, words",
    [
        ({"drifted": True}, SEEN, "baseline moved"),
        ({"throttled": ("SW power cap",)}, SEEN, "throttled: SW power cap"),
        ({"temperature_c": (70.0, 88.0)}, SEEN, "70 → 88 °C"),
        ({"clock_mhz": (1980.0, 1700.0)}, SEEN, "fell from 1980 to 1700 MHz"),
        ({"temperature_c": (50.0, 61.0), "clock_mhz": (1980.0, 1975.0), "throttled": ()}, RULED_OUT, "nothing throttled"),
        ({"drifted": False}, NOT_RECORDED, "the baseline did not drift"),
        ({}, NOT_RECORDED, "drift was not judged"),
    ],
)
def test_heat(known, state, words):
    found = heat(Sight(3, **LOSES, **known))
    assert found.state == state and words in found.evidence


@pytest.mark.parametrize(
    "n, share, state",
    [(3, 0.31, SEEN), (1, 0.31, SEEN), (3, 0.5, RULED_OUT), (3, 0.9, RULED_OUT), (3, None, NOT_RECORDED)],
)
def test_low_acceptance_asks_for_n1_and_residency_never_for_a_new_draft(n, share, state):
    found = residency(Sight(n, **LOSES, accept_share=share, placement="spilled"))
    assert found.state == state and ("n_max 1" in found.advice) is (state == SEEN and n > 1)
    assert "train" not in found.advice


@pytest.mark.parametrize(
    "known, state, words",
    [
        ({"verdict": "wins", "speedup": 1.2, "production": "loses", "production_c": 4}, SEEN, "wins at one stream, loses at c=4"),
        ({"verdict": "wins", "speedup": 1.2, "production": "no-difference", "production_c": 4}, SEEN, "no difference at c=4"),
        ({"verdict": "wins", "speedup": 1.2, "reply_ms": (900.0, 950.0)}, SEEN, "a whole reply takes 950 instead of 900 ms"),
        ({"verdict": "loses", "production": "loses", "production_c": 4}, RULED_OUT, "the same: loses"),
        ({"verdict": "loses"}, NOT_RECORDED, "was not measured"),
    ],
)
def test_kind_of_speed(known, state, words):
    found = kind_of_speed(Sight(1, **known))
    assert found.state == state and words in found.evidence


@pytest.mark.parametrize(
    "known, state, words",
    [
        ({"cached_tokens": 40}, SEEN, "40 prompt tokens"),
        ({"cached_tokens": 0, "kv_types": ("q8_0", "f16")}, SEEN, "KV kept as q8_0"),
        ({"cached_tokens": 0, "kv_types": ("f16", "f16")}, RULED_OUT, "KV f16"),
        ({"cached_tokens": 0}, RULED_OUT, "KV type not recorded"),
        ({}, NOT_RECORDED, "not recorded"),
    ],
)
def test_cache_reuse(known, state, words):
    found = cache_reuse(Sight(1, **LOSES, **known))
    assert found.state == state and words in found.evidence


@pytest.mark.parametrize(
    "sight, is_diagnosed",
    [
        (Sight(3, verdict="loses"), True),
        (Sight(3, verdict="no-difference"), True),
        (Sight(1, verdict="wins"), False),
        (Sight(1, verdict="wins", drifted=True), True),
        (Sight(1, verdict="wins", production="loses"), True),
        (Sight(1, verdict="wins", cached_tokens=3), True),
        (Sight(1, verdict="wins", faults=("400 accepted of 300",)), True),
        (Sight(0, drifted=True), False),
    ],
)
def test_losing_and_odd_cells_are_diagnosed_in_a_fixed_order(sight, is_diagnosed):
    order = ["verify", "heat", "residency", "speed", "cache"] if is_diagnosed else []
    assert [finding.code for finding in diagnose(sight)] == order


CLEAN = Sight(
    2, verdict="wins", speedup=1.5, accept_share=0.8, draft_share=0.1, placement="resident", is_moe=False, drifted=False,
    ttft_ms=(80.0, 81.0), prefill_tok_per_s=(400.0, 399.0), reply_ms=(900.0, 600.0), measured_n=(1, 2), production="wins", production_c=4,
    suite_runs=(2, 2),
)  # fmt: skip


@pytest.mark.parametrize(
    "code, known, words",
    [
        ("copied_length", {"measured_n": (2,), "placement": "spilled"}, "without n_max 1"),
        ("no_acceptance", {"accept_share": None}, "not known"),
        ("across_spill", {"placement": "spilled", "host_share": 0.41}, "(41% of the weights)"),
        ("contending", {"draft_share": 0.55}, "55% of a step"),
        ("no_suite", {"suite_runs": (1, 2)}, "1 with speculation off, 2 on"),
        ("cold_mixed", {"cold_counted": 1}, "1 counted"),
        ("one_stream", {"production": None}, "serves at c=4"),
        ("slow_prefill", {"ttft_ms": (80.0, 120.0)}, "80 → 120 ms"),
        ("slow_prefill", {"prefill_tok_per_s": (400.0, 300.0)}, "400 → 300 tok/s"),
        ("drift", {"drifted": True}, "moved"),
        ("reply", {"reply_ms": (900.0, 850.0)}, "a whole reply 1.06×"),
    ],
)
def test_every_failure_mode_is_named_when_seen(code, known, words):
    found = {finding.code: finding for finding in failure_modes(Sight(**{**CLEAN.__dict__, **known}))}
    assert words in found[code].evidence and found[code].advice


def test_a_clean_cell_and_a_baseline_show_none_and_every_mode_has_a_case():
    assert failure_modes(CLEAN) == [] and failure_modes(Sight(0, accept_share=None)) == []
    assert len({code for code, *_ in MODES}) == len(MODES) == 10
