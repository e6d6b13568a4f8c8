"""Wordings of other years, engines and tools than the sample inputs show: each must read by its format, not by its case."""

from __future__ import annotations

import pytest

from core.formats.load_log import read_placement
from core.formats.reader import read
from core.formats.statistics import difference, read_statistics
from core.formats.version import read_version
from tests.formats.compare import CASES, EXPECTED, case_differences
from tests.formats.wordings_logs import LOGS
from tests.formats.wordings_tools import TOOLS

SAMPLES = {**TOOLS, **LOGS}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_wording_is_read(name: str) -> None:
    text, kind, expected = SAMPLES[name]
    reading = read(text.encode())
    assert reading.kind == kind
    assert case_differences(expected, reading.as_json()) == []
    assert reading.warnings == []


def test_metrics_are_differences_around_a_run() -> None:
    text = SAMPLES["metrics of llama.cpp"][0]
    after = (
        text.replace("_total 60", "_total 70")
        .replace("draft_tokens_total 160", "draft_tokens_total 200")
        .replace("accepted_tokens_total 120", "accepted_tokens_total 150")
    )
    after = after.replace('"0"} 72', '"0"} 92').replace('"1"} 48', '"1"} 58').replace("drafts_total 80", "drafts_total 100")
    values = read(after.encode(), companion=text.encode()).values
    assert (values["prompt_n"], values["drafted"], values["accepted"], values["drafts"]) == (10, 40, 30, 20)
    assert values["per_pos"] == [1.0, 0.5]
    both = read((text + after).encode())
    assert both.values["drafted"] == 40 and "2 readings" in both.warnings[0]


def test_experts_on_the_host_are_known_from_the_recorded_command_where_the_log_is_silent() -> None:
    log = b"load_tensors: offloaded 49/49 layers to GPU\n"
    log += b"load_tensors:   CPU_Mapped model buffer size = 9000.00 MiB\nload_tensors: CUDA0 model buffer size = 9000.00 MiB\n"
    assert read(log).values["spilled"] is None
    told = read(log, companion=b"llama-server -m a.gguf -ngl 99 --n-cpu-moe 12 -c 4096\n").values
    assert (told["spilled"], told["n_cpu_moe"]) == (True, 12)


def test_two_runs_in_one_file_are_not_mixed() -> None:
    run = "main: build = {} (4f7e21ac)\nllm_load_tensors: offloaded {}/41 layers to GPU\nllm_load_tensors: CUDA0 buffer size = {} MiB\n"
    reading = read((run.format(1966, 41, 500.0) + run.format(1970, 20, 300.0)).encode())
    assert reading.values["device_mib"] == {"CUDA0": 300.0}
    assert (reading.values["layers_offloaded"], reading.values["build_number"]) == (20, 1970)
    assert reading.warnings == ["2 runs in one file: the figures are those of the last."]


@pytest.mark.parametrize("host_mib, spilled", [(400, False), (470, False), (480, True), (5000, True)])
def test_with_all_layers_offloaded_five_per_cent_on_the_host_is_the_limit(host_mib: int, spilled: bool) -> None:
    log = f"load_tensors: offloaded 49/49 layers to GPU\nload_tensors: CPU model buffer size = {host_mib} MiB\n"
    found = read_placement((log + "load_tensors: CUDA0 model buffer size = 9000 MiB\n").splitlines())
    assert found.spilled is spilled


def test_a_small_span_proves_that_nothing_spilled_and_a_large_one_proves_nothing() -> None:
    log = "load_tensors: offloaded 49/49 layers to GPU\nload_tensors: CUDA0 model buffer size = 9000 MiB\n"
    log += "load_tensors: CPU_Mapped model buffer size = {} MiB\n"
    assert read_placement(log.format(400).splitlines()).spilled is False
    assert read_placement(log.format(5000).splitlines()).spilled is None


def test_vram_of_2023_tells_weights_from_the_rest() -> None:
    log = (
        "llm_load_tensors: mem required  = 1000.00 MB\nllm_load_tensors: offloaded 30/43 layers to GPU\n"
        "llm_load_tensors: VRAM used: 3000.00 MB\n"
        "llama_new_context_with_model: kv self size  =  400.00 MB\n"
        "llama_new_context_with_model: total VRAM used: 3500.00 MB (model: 3000.00 MB, context: 500.00 MB)\n"
    )
    values = read(log.encode()).values
    assert (values["vram_mib"], values["gpu_weights_mib"], values["host_share"], values["blocks"]) == (3000.0, 3000.0, 0.25, 1)


def test_the_wording_between_2023_and_2024_is_the_same_in_mib() -> None:
    log = (
        "llm_load_tensors: offloaded 20/41 layers to GPU\nllm_load_tensors: system memory used  = 4000.50 MiB\n"
        "llm_load_tensors: VRAM used           = 4000.50 MiB\n"
        "llama_new_context_with_model: KV self size  =  400.00 MiB, K (f16):  200.00 MiB, V (f16):  200.00 MiB\n"
        "llama_new_context_with_model: compute buffer total size = 91.44 MiB\n"
    )
    values = read(log.encode()).values
    assert (values["host_mib"], values["vram_mib"], values["host_share"], values["kv_mib"]) == (4000.5, 4000.5, 0.5, 400.0)
    assert values["compute_total_mib"] == 91.44


def test_a_plan_is_no_longer_one_once_the_model_is_loaded() -> None:
    row = "common_memory_breakdown_print: |   - CUDA0 (Lab GPU) | {} = {} + ({} = {} + {} + {}) + {} |\n"
    head = "common_memory_breakdown_print: | memory breakdown [MiB] | total free self model context compute unaccounted |\n"
    plan, loaded = (24111, 23590, 13222, 11942, 768, 512, -12701), (24111, 10000, 13222, 11942, 768, 512, 889)
    values = read((head + row.format(*plan) + head + row.format(*plan) + head + row.format(*loaded)).encode()).values
    assert (values["breakdown_tables"], values["breakdown_is_plan"], values["unaccounted_mib"]) == (3, False, 889)
    assert values["table2_cuda0_mib"] == values["table1_cuda0_mib"]


def test_a_retry_that_fails_too_is_a_failure_of_its_own_size() -> None:
    log = (
        "0.03.360.539 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4475.29 MiB on device 1: cudaMalloc failed: out of memory\n"
        "0.03.360.542 E ggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size 4692676608\n"
        "0.03.360.545 W sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism\n"
        "0.03.360.871 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1495.76 MiB on device 1: cudaMalloc failed: out of memory\n"
        "0.03.360.872 E ggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size 1568416768\n"
        "0.03.361.607 E srv    load_model: failed to create MTP context\n"
    )
    values = read(log.encode()).values
    assert (values["status"], values["failed_at"], values["fail_device"], values["fail_mib"]) == ("failed", "compute", "CUDA1", 1495.76)
    assert values["error_lines"] == 5


def test_speculation_that_is_switched_off_while_loading_degrades_the_server() -> None:
    log = "srv load_model: speculative decoding is not supported with multimodal, it will be disabled\n"
    log += "main: server is listening on http://127.0.0.1:1\n"
    values = read(log.encode()).values
    assert (values["status"], values["spec_requested"], values["spec_active"]) == ("degraded", True, False)


def test_a_machine_without_a_gpu_is_host_only() -> None:
    lines = ["load_tensors:   CPU_Mapped model buffer size =   105.20 MiB", "llama_kv_cache:        CPU KV buffer size =     8.00 MiB"]
    placement = read_placement(lines)
    assert (placement.host_only, placement.spilled, placement.device_mib, placement.kv_mib) == (True, True, {}, 8.0)
    metal = read_placement(["load_tensors: MTL0_Mapped model buffer size = 100 MiB", "load_tensors: CPU_Mapped model buffer size = 10 MiB"])
    assert (metal.host_only, metal.device_mib) == (False, None)


def test_a_draft_model_is_a_block_of_its_own() -> None:
    model = "load_tensors: offloaded {0}/{0} layers to GPU\nload_tensors: CUDA0 model buffer size = {1} MiB\n"
    model += "llama_kv_cache: CUDA0 KV buffer size = {2} MiB\n"
    log = model.format(49, 9000.5, 64) + "srv load_model: loading draft model '/models/small.gguf'\n" + model.format(25, 500.25, 8)
    placement = read_placement(log.splitlines())
    assert [block.kind for block in placement.blocks] == ["target", "draft"]
    assert placement.device_mib == {"CUDA0": 9500.75}
    assert (placement.layers_total, placement.blocks[1].layers_total, placement.kv_mib) == (49, 25, 72.0)
    assert read(log.encode()).values["kv_block_mib"] == [64.0, 8.0]


def test_drafting_cost_is_a_difference_of_two_statistics_lines() -> None:
    line = (CASES / EXPECTED["S05"]["file"]).read_text(encoding="utf-8").splitlines()
    (after,) = read_statistics(line)
    earlier = "statistics mtp: #calls(b,g,a) = 1 200 155, #gen drafts = 200, #acc drafts = 155, #gen tokens = 2400, #acc tokens = 1011, "
    (before,) = read_statistics([earlier + "dur(b,g,a) = 0.001, 11202.115, 9.160 ms"])
    delta = difference(before, after)
    assert delta is not None
    assert (delta.calls_g, delta.acc_tokens, delta.gen_tokens, delta.calls_b) == (500, 2000, 6000, 1)
    assert delta.D_ms == pytest.approx(40.0)
    assert difference(after, before) is None
    (silent,) = read_statistics([earlier.rstrip(", ")])
    assert silent.D_ms is None


def test_a_build_number_of_0_or_1_was_not_set() -> None:
    assert read_version("version: 1 (0c1e57098)\nbuilt with GNU") == (None, "0c1e57098")
    assert read_version("version: 9279 (47c0eda9d)") == (9279, "47c0eda9d")
    assert read_version("hello") == (None, None)
