"""A real log of the embedded engine (made MoE model with an MTP head, two requests of 40 tokens, CPU only): the counts are known."""

from __future__ import annotations

from pathlib import Path

from core.formats.load_log import read_placement
from core.formats.reader import read
from core.formats.statistics import difference, read_statistics
from tests.formats.compare import case_differences

LOG = Path(__file__).with_name("lab_mtp_server.log").read_text(encoding="utf-8")


def test_a_real_log_reads_to_its_counts() -> None:
    reading = read(LOG.encode())
    expected = {
        "kind": "load_log",
        "status": "loaded",
        "blocks": 1,
        "kv_block_mib": [8.0, 2.0],
        "compute_block_mib": [10.52, 6.7],
        "mapped_span_mib": {"CPU_Mapped": 105.2},
        "host_mib": None,
        "spilled": True,
        "spec_active": True,
        "spec_type": "draft-mtp",
        "n_max": 2,
        "requests": 2,
        "predicted_n": 80,
        "accepted": 50,
        "drafted": 56,
        "steps": 28,
        "a": 2.786,
        "since_start_accepted": 50,
        "fit": True,
        "host_self_first_mib": 123,
        "host_self_last_mib": 113,
        "model_path": "/models/made-moe.gguf",
    }
    assert case_differences(expected, reading.as_json()) == []
    assert reading.warnings == []
    assert abs(reading.values["D_ms"] + reading.values["V_ms"] - reading.values["step_ms"]) < 1e-5


def test_the_placement_of_a_machine_without_a_gpu_is_host_only() -> None:
    placement = read_placement(LOG.splitlines())
    assert (placement.host_only, placement.device_mib, placement.kv_mib, placement.layers_total) == (True, {}, 10.0, None)


def test_the_second_request_is_a_difference() -> None:
    first, second = read_statistics(LOG.splitlines())
    delta = difference(first, second)
    assert delta is not None
    assert (delta.calls_b, delta.calls_g, delta.acc_tokens, delta.gen_tokens) == (1, 14, 25, 28)
    assert delta.D_ms is not None and abs(delta.D_ms - (second.dur_g - first.dur_g) / 14) < 1e-9  # type: ignore[operator]
