"""Each warning is raised, alone, by changing one number of an input that reads without any."""

from __future__ import annotations

import pytest

from core.formats.reader import read
from tests.formats.compare import CASES, EXPECTED
from tests.formats.test_wordings import SAMPLES

# input · the text to change · what it becomes · a piece of the sentence
CHANGES = [
    ("S05", "1893 accepted", "5893 accepted", "More draft tokens accepted (5893) than drafted"),
    ("S05", "rate = 0.37921", "rate = 0.47921", "is not accepted over drafted"),
    ("S05", "2310 tokens", "1310 tokens", "than tokens generated after the first"),
    ("S05", "91204.66 ms", "81204.66 ms", "agrees with neither"),
    ("S05", "91204.66 ms", "0.00 ms", "printed as 0 ms"),
    ("S05", "112809.46 ms", "113809.46 ms", "do not add up to the total time"),
    ("S05", "5700 tokens", "5900 tokens", "tokens do not add up to the total"),
    ("S05", "#acc tokens = 3011", "#acc tokens = 9011", "statistics mtp: more tokens accepted"),
    ("S05", "#acc drafts = 655", "#acc drafts = 955", "statistics mtp: more drafts accepted"),
    ("S05", "2 700 655,", "2 600 655,", "statistics mtp: more drafts verified"),
    ("S05", "#acc tokens = 3011", "#acc tokens = 1011", "count fewer accepted tokens since the start"),
    ("S09", "0.439", "0.739", "rises"),
    ("S09", "mean len =  4.06", "mean len =  4.66", "the mean length less one"),
    ("S19", "#mean acc len = 18.27", "#mean acc len = 12.27", "do not add up to the mean length"),
    ("S13", "426/553", "726/553", "more tokens accepted"),
    ("S13", "77.03%", "78.03%", "the printed rate"),
    ("S13", "3.30", "3.60", "is not 1 + accepted over rounds"),
    ("S13", "65.9%", "95.9%", "rises"),
    ("S13", "66.42", "67.42", "does not follow from 612 tokens"),
    ("S15", "acc= 112", "acc= 142", "More draft tokens accepted (142)"),
    ("S15", "rate=0.800", "rate=0.700", "is not accepted over drafted"),
    ("S15", "pred= 160 draft= 140", "pred= 110 draft= 140", "than tokens generated after the first"),
    ("S15", "draft=1091", "draft=1191", "is not the sum over the requests"),
    ("S01", "n_accept  = 45", "n_accept  = 145", "More draft tokens accepted (145)"),
    ("S01", "43.269%", "53.269%", "is not accepted over drafted"),
    ("S01", "generated 97 tokens", "generated 40 tokens", "than tokens decoded after the first"),
    ("S01", "141.720 seconds", "151.720 seconds", "does not follow from 97 tokens"),
    ("V01", "tokens: 27130", "tokens: 57130", "More draft tokens accepted (57130)"),
    ("V01", "rate: 0.647", "rate: 0.747", "is not accepted over drafted"),
    ("V01", "efficiency: 0.621", "efficiency: 0.721", "is not emitted over possible tokens"),
    ("V03", "Accepted: 267", "Accepted: 667", "More draft tokens accepted (667)"),
    ("V03", "rate: 63.6%", "rate: 73.6%", "is not accepted over drafted"),
    ("V03", "0.629", "0.929", "rises"),
    ("V03", "length: 2.91", "length: 3.31", "the mean length less one"),
    ("V05", "2441.26", "2541.26", "output token rate"),
    ("V05", "3.82", "4.82", "request rate"),
    ("B03", '"avg_ns": 813764180', '"avg_ns": 913764180', "does not follow from 64 tokens"),
    ("B01", "± 9.87", "± 5987.0", "more than twice the rate"),
    ("B09", "0.982", "0.682", "TG rate"),
    ("B11", "3.318", "4.318", "TG rate"),
    ("L03", "offloaded 0/41", "offloaded 60/41", "More layers offloaded"),
    ("L16", "1340.33 MiB, c", "1440.33 MiB, c", "The KV lines add up to 1340.32"),
    ("L03", "K (f16):  300.00", "K (f16):  200.00", "The parts of the KV cache"),
    ("L22", "(13222 = 11942", "(13222 = 10942", "breakdown of CUDA0 does not add up"),
    ("L16", "187651940352", "287651940352", "do not agree"),
    ("metrics of llama.cpp", "accepted_tokens_total 120", "accepted_tokens_total 220", "More draft tokens accepted (220)"),
    ("metrics of llama.cpp", "num_drafts_total 80", "num_drafts_total 180", "More drafts (180)"),
    ("metrics of llama.cpp", '"1"} 48', '"1"} 58', "by position do not add up"),
    ("timings in a stream", '"draft_n_accepted":20', '"draft_n_accepted":35', "More draft tokens accepted (35)"),
    ("timings in a stream", '"predicted_n":41', '"predicted_n":14', "than tokens generated after the first"),
    ("timings in a stream", '"predicted_ms":400.0', '"predicted_ms":0.0', "printed as 0 ms"),
    ("timings in a stream", '"predicted_per_second":102.5', '"predicted_per_second":92.5', "agrees with neither"),
    ("sglang, 2026", "accept len: 2.63", "accept len: 0.63", "below 1"),
    ("sglang, 2026", "accept rate: 0.54", "accept rate: 1.54", "above 1"),
    ("speed bench, saved run", '"accepted": 300', '"accepted": 500', "more tokens accepted"),
    ("speed bench, saved run", '"accept_rate": 0.75', '"accept_rate": 75.0', "is above 1"),
    ("speed bench, comparison", "1.90x", "1.50x", "decode_speedup 1.5 is not"),
    ("vllm bench with speculation", "1200      ", "2200      ", "More draft tokens accepted (2200)"),
    ("vllm bench with speculation", "75.00", "85.00", "is not accepted over drafted"),
    ("vllm bench with speculation", "60.00", "95.00", "rises"),
    ("vllm bench with speculation", "2.50 ", "2.80 ", "do not add up to the mean length"),
]


def text_of(name: str) -> str:
    """A sample input or a wording, by name."""
    return SAMPLES[name][0] if name in SAMPLES else (CASES / EXPECTED[name]["file"]).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "old", "new", "sentence"), CHANGES, ids=[f"{name}: {new}" for name, _, new, _ in CHANGES])
def test_one_changed_number_raises_one_warning(name: str, old: str, new: str, sentence: str) -> None:
    text = text_of(name)
    assert text.count(old) >= 1
    assert read(text.encode()).warnings == []
    warnings = read(text.replace(old, new, 1).encode()).warnings
    assert len(warnings) == 1
    assert sentence in warnings[0]


def test_a_wrong_request_does_not_hide_a_right_one() -> None:
    text = text_of("S05")
    reading = read((text + text.replace("task 311", "task 312").replace("1893 accepted", "5893 accepted")).encode())
    assert reading.values["requests"] == 2
    assert len(reading.warnings) == 1


def test_more_drafted_than_the_steps_can_hold_is_told() -> None:
    text = text_of("S19").replace("190 accepted /   190 generated", "190 accepted /   9190 generated").replace("= 1.00000", "= 0.02067")
    assert any("positions can hold" in warning for warning in read(text.encode()).warnings)
