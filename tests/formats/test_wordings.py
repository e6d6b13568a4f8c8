"""Wordings of other years, engines and tools than the sample inputs show: each must read by its format, not by its case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.formats.reader import read
from tests.formats.compare import case_differences

CSV = (
    '"build_commit","build_number","backends","model_type","model_size","n_prompt","n_gen","n_depth","avg_ns","avg_ts","stddev_ts"\n'
    '"0c1e570","1","CUDA,BLAS","qwen 4B","2400000000","512","0","0","512000000","1000.000000","3.500000"\n'
    '"0c1e570","1","CUDA,BLAS","qwen 4B","2400000000","0","128","4096","1280000000","100.000000","0.000000"\n'
    '"0c1e570","1","CUDA,BLAS","qwe'
)
SQL = (
    "CREATE TABLE IF NOT EXISTS test (\n  build_commit TEXT,\n  n_prompt INTEGER\n);\n\n"
    "INSERT INTO test (build_commit, build_number, model_type, n_prompt, n_gen, avg_ns, avg_ts, stddev_ts) "
    "VALUES ('4f7e21ac', '5163', 'it''s a name', '512', '0', '512000000', '1000.0', '3.5');\n"
)
PASSES = "".join(
    f"| m 7B | 4.00 GiB | 7.00 B | CUDA | 99 | {'pp' + str(n):>6} | {1000 * n / ms:.2f} ± 0.10 |\n" for n, ms in ((1, 20), (2, 44), (4, 90))
)
TABLE = "| model | size | params | backend | ngl | test | t/s |\n|---|---:|---:|---|--:|---:|---:|\n"

SAMPLES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "csv, last row cut": (
        CSV,
        "llama_bench",
        {
            "rows": [{"test": "pp512", "tps": 1000.0, "sd": 3.5}, {"test": "tg128", "n_depth": 4096, "sd": None}],
            "columns": 11,
            "backends_compiled": ["CUDA", "BLAS"],
            "backend_used": "CUDA",
            "build_number": None,
            "build_commit": "0c1e570",
        },
    ),
    "sql": (SQL, "llama_bench", {"rows": [{"model": "it's a name", "tps": 1000.0}], "table": "test", "columns": 8, "build_number": 5163}),
    "cost of verifying n tokens": (
        TABLE + PASSES + "\nbuild: 4f7e21ac (5163)\n",
        "llama_bench",
        {
            "V_over_V1": {"1": 1.0, "2": 2.2, "4": 4.5},
            "breakeven_accept_if_D_zero": {"1": 1.2, "3": 1.167},
            "n_max_never_pays": [1, 3],
            "build_number": 5163,
            "size_gib": 4.0,
            "params_b": 7.0,
        },
    ),
    "threads column, depth, combined test": (
        "| model | size | params | backend | threads | fa | test | t/s |\n|---|---|---|---|---|---|---|---|\n"
        "| m | 242.45 MiB | 268.10 M | CPU | 2 | 1 | pp512+tg128 @ d8192 | 60.10 ± 0.00 |\n",
        "llama_bench",
        {"rows": [{"test": "pp512+tg128", "n_depth": 8192, "sd": None, "n_gpu_layers": None}], "threads": 2, "flash_attn": 1},
    ),
    "batched bench, json lines": (
        "\n".join(
            json.dumps({"pp": 64, "tg": 32, "pl": b, "n_kv": 96 * b, "t_pp": 0.1, "speed_pp": 640 * b, "t_tg": t, "speed_tg": 32 * b / t})
            for b, t in ((1, 0.5), (4, 1.0))
        ),
        "batched_bench",
        {"V_over_V1": {"1": 1.0, "4": 2.0}, "model": None},
    ),
    "spec bench, json lines": (
        json.dumps(
            {
                "task": "sql",
                "tokens": 100,
                "rounds": 40,
                "accepted": 60,
                "drafted": 80,
                "time_s": 2.0,
                "tok_s": 50.0,
                "drafted_by_position": [40, 40],
                "accepted_by_position": [36, 24],
            }
        ),
        "spec_bench",
        {"rows": [{"task": "sql", "accept_share": 0.75, "mean_len": 2.5, "per_pos": [0.9, 0.6]}]},
    ),
    "metrics of llama.cpp": (
        "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n# TYPE llamacpp:prompt_tokens_total counter\n"
        "llamacpp:prompt_tokens_total 60\nllamacpp:prompt_seconds_total 0.5\nllamacpp:tokens_predicted_total 200\n"
        "llamacpp:tokens_predicted_seconds_total 4\nllamacpp:predicted_tokens_seconds 50\n"
        "llamacpp:spec_decode_num_draft_tokens_total 160\nllamacpp:spec_decode_num_accepted_tokens_total 120\n"
        'llamacpp:spec_decode_num_drafts_total 80\nllamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 72\n'
        'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 48\n',
        "metrics",
        {
            "accepted": 120,
            "drafted": 160,
            "drafts": 80,
            "accept_share": 0.75,
            "mean_len": 2.5,
            "per_pos": [0.9, 0.6],
            "prompt_ms": 500.0,
            "predicted_ms": 4000.0,
            "predicted_n": 200,
            "series_ignored": 1,
        },
    ),
    "timings in a stream": (
        'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
        'data: {"choices":[],"timings":{"prompt_n":5,"prompt_ms":10.0,"predicted_n":41,"predicted_ms":400.0,"predicted_per_second":102.5,'
        '"draft_n":30,"draft_n_accepted":20}}\n\ndata: [DONE]\n',
        "timings_json",
        {"accepted": 20, "drafted": 30, "steps": 20, "a": 2.0, "step_ms": 20.0, "cost_per_token_ms": 10.0, "cache_n": None},
    ),
    "timings without a draft": (
        '{"timings": {"cache_n": 3, "prompt_n": 5, "prompt_ms": 10, "predicted_n": 11, "predicted_ms": 100, "predicted_per_second": 100}}',
        "timings_json",
        {
            "accepted": None,
            "drafted": None,
            "accept_share": None,
            "steps": None,
            "cost_per_token_ms": 10.0,
            "cache_n": 3,
            "tps_printed": 100.0,
        },
    ),
    "sglang, autumn 2025": (
        "[2025-10-20 10:00:01] Decode batch. #running-req: 1, #token: 90, token usage: 0.01, accept len: 1.90, "
        "accept rate: 0.47, cuda graph: True, "
        "gen throughput (token/s): 3.10, #queue-req: 0\n"
        "[2025-10-20 10:00:05] Decode batch. #running-req: 1, #token: 290, token usage: 0.01, accept len: 2.17, "
        "accept rate: 0.54, cuda graph: True, "
        "gen throughput (token/s): 151.20, #queue-req: 0\n",
        "sglang",
        {
            "windows": 1,
            "startup_windows_dropped": 1,
            "accept_len": 2.17,
            "a": 2.17,
            "draft_tokens_inferred": 4,
            "accept_share": 0.39,
            "accept_rate_printed": 0.54,
            "gen_tps": 151.2,
            "running": 1,
        },
    ),
    "sglang, 2026": (
        "".join(
            f"[2026-07-21 15:00:{13 + i} TP0] Decode batch, #running-req: 24, #token: 233600, token usage: 0.66, accept "
            f"len: {length}, accept rate: {rate}, "
            f"npu graph: True, gen throughput (token/s): 639.06, #queue-req: 2\n"
            for i, (length, rate) in enumerate(((3.05, 0.68), (2.63, 0.54), (2.83, 0.61)))
        ),
        "sglang",
        {"windows": 3, "startup_windows_dropped": 0, "draft_tokens_inferred": 4, "accept_share": 0.61, "accept_len": 2.837},
    ),
    "speed bench, saved run": (
        json.dumps(
            {
                "config": {"bench": "qualitative"},
                "selected_samples": 2,
                "summary": [
                    {
                        "category": "coding",
                        "samples": 2,
                        "avg_prompt_t/s": 900.5,
                        "avg_pred_t/s": 80.25,
                        "avg_latency": 3.5,
                        "accept_rate": 0.75,
                        "draft_n": 400,
                        "accepted": 300,
                    }
                ],
                "results": [{"id": 1}],
            }
        ),
        "speed_bench",
        {"rows": [{"category": "coding", "samples": 2, "tps": 80.25, "prompt_tps": 900.5, "latency_s": 3.5, "accept_share": 0.75}]},
    ),
    "speed bench, comparison": (
        "category   base_avg_pred_t/s  spec_avg_pred_t/s  decode_speedup  base_avg_latency  spec_avg_latency  latency_speedup\n"
        "coding                 50.00              95.00           1.90x            8.00s             5.00s            1.60x\n"
        "overall                50.00              45.00           0.90x            8.00s             8.80s            0.91x\n",
        "speed_bench",
        {
            "rows": [
                {"category": "coding", "decode_speedup": 1.9, "latency_speedup": 1.6, "base_tps": 50.0, "spec_latency_s": 5.0},
                {"category": "overall", "decode_speedup": 0.9, "latency_speedup": 0.91},
            ]
        },
    ),
    "version strings": (
        "version: 9279 (47c0eda9d)\nbuilt with GNU 13.3.0 for Linux x86_64\nbuild: 4f7e21ac (5163)\n"
        "version: 1.2.3-dev (build 1, commit 0c1e57098)\nmain: build = 1966 (4f7e21ac)\nbuild_info: b10453-b3fed31b9\n",
        "version_strings",
        {
            "builds": [
                {"build_number": 9279, "build_commit": "47c0eda9d"},
                {"build_number": 5163, "build_commit": "4f7e21ac"},
                {"build_number": None, "build_commit": "0c1e57098"},
                {"build_number": 1966, "build_commit": "4f7e21ac"},
                {"build_number": 10453, "build_commit": "b3fed31b9"},
            ]
        },
    ),
    "vllm, mid 2025": (
        "INFO 07-02 08:02:33 [metrics.py:97] SpecDecoding metrics: Draft acceptance rate: 63.6%, Mean acceptance "
        "length: 2.91, Accepted: 267 tokens, "
        "Drafted: 420 tokens, Per-position acceptance rate: 0.843, 0.629, 0.436\n" * 2,
        "vllm",
        {"accepted": 534, "drafted": 840, "windows": 2, "n_max": 3, "window_s": None, "a": 2.907},
    ),
    "vllm bench with speculation": (
        "============ Serving Benchmark Result ============\nSuccessful requests:                     8         \n"
        "Benchmark duration (s):                  10.00     \nTotal generated tokens:                  2000      \n"
        "Output token throughput (tok/s):         200.00    \nPeak output token throughput (tok/s):    300.00    \n"
        "---------------Speculative Decoding---------------\nAcceptance rate (%):                     75.00     \n"
        "Acceptance length:                       2.50      \nDrafts:                                  800       \n"
        "Draft tokens:                            1600      \nAccepted tokens:                         1200      \n"
        "Per-position acceptance (%):\n  Position 0:                            90.00     \n  Position 1:          "
        "                  60.00     \n",
        "vllm_bench",
        {
            "accepted": 1200,
            "drafted": 1600,
            "drafts": 800,
            "accept_share": 0.75,
            "mean_len": 2.5,
            "per_pos": [0.9, 0.6],
            "per_pos_sum": 1.5,
            "n_max": 2,
            "peak_out_tps": None,
            "out_tps": 200.0,
            "tokens_per_event": None,
        },
    ),
    "client with a json end": (
        "  code_python        pred= 192 draft= 166 acc= 107 rate=0.645 tok/s=93.6\n"
        '\nAggregate: {\n  "n_requests": 1,\n  "total_predicted": 192,\n  "total_draft": 166,\n  "total_draft_accepted": 107,\n'
        '  "aggregate_accept_rate": 0.6446,\n  "wall_s_total": 2.26\n}\n',
        "bench_client",
        {"requests": 1, "predicted_n": 192, "accepted": 107, "steps": 84, "wall_s": 2.26, "n_max_inferred": 2},
    ),
    "probe client": (
        "36.0 tok/s median | runs: [36.0, 36.3, 26.3]\n",
        "bench_client",
        {"requests": 3, "tps_median": 36.0, "tps_min": 26.3, "tps_max": 36.3, "accepted": None, "drafted": None},
    ),
    "flag that was removed": (
        'error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or '
        "--spec-ngram-mod-n-max\n\nusage:\n",
        "cli_error",
        {"flag": "--draft-max", "replacement": "--spec-draft-n-max", "status": "failed", "failed_at": "arguments"},
    ),
    "fit, 2026 wording": (
        "common_params_fit_impl: projected to use 6007 MiB of device memory vs. 6898 MiB of free device memory\n"
        "common_params_fit_impl: cannot meet free memory target of 1024 MiB, need to reduce device memory by 133 MiB\n"
        "common_params_fit_impl: context size set by user to 8192 -> no change\ncommon_params_fit_impl: id=0, target=5874 MiB\n",
        "load_log",
        {
            "projected_mib": 6007,
            "gpu_free_mib": 6898,
            "free_target_mib": 1024,
            "must_reduce_mib": 133,
            "n_ctx": 8192,
            "n_ctx_changed": False,
            "device_target_mib": {"0": 5874},
            "fit": True,
        },
    ),
    "recurrent state": (
        "llama_memory_recurrent:      CUDA0 RS buffer size =   149.62 MiB\n"
        "llama_memory_recurrent: size =  149.62 MiB (     1 cells,  48 layers,  1 seqs 3 rs_seq), R (f32):    5.62 "
        "MiB, S (f32):  144.00 MiB\n"
        "llama_kv_cache:      CUDA0 KV buffer size =   768.00 MiB\n"
        "llama_kv_cache: size =  768.00 MiB ( 32768 cells,  12 layers,  1/1 seqs), K (q8_0):  384.00 MiB, V (q8_0):  384.00 MiB\n",
        "load_log",
        {
            "rs_mib": 149.62,
            "rs_device_mib": {"CUDA0": 149.62},
            "rs_r_mib": 5.62,
            "rs_s_mib": 144.0,
            "rs_seq": 3,
            "kv_mib": 768.0,
            "kv_type_k": "q8_0",
            "n_seqs": 1,
        },
    ),
    "remote, tensor split and multi-part spans": (
        "load_tensors: offloading 48 repeating layers to GPU\nload_tensors: offloaded 49/49 layers to GPU\n"
        "load_tensors: RPC[192.0.2.7:50052] model buffer size =  4096.50 MiB\nload_tensors:   Meta() model buffer size =  8192.00 MiB\n"
        "load_tensors:   CPU_Mapped model buffer size =   100.00 MiB\nload_tensors:   CPU_Mapped model buffer size =   200.00 MiB\n"
        "llama_context: n_ctx         = 4096\n",
        "load_log",
        {
            "device_mib": {"RPC[192.0.2.7:50052]": 4096.5},
            "split_mib": 8192.0,
            "mapped_span_mib": {"CPU_Mapped": 300.0},
            "host_mib": None,
            "tensor_split_mode": True,
            "spilled": None,
            "n_ctx": 4096,
        },
    ),
    "retry without pipeline parallelism": (
        "llama_new_context_with_model: pipeline parallelism enabled (n_copies=4)\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 900.00 MiB on device 1: cudaMalloc failed: out of memory\n"
        "ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 943718400\n"
        "graph_reserve: failed to allocate compute buffers\nllama_context: compute buffer allocation failed, "
        "retrying without pipeline parallelism\n"
        "llama_context:      CUDA1 compute buffer size =   300.00 MiB\nmain: server is listening on "
        "http://127.0.0.1:8080 - starting the main loop\n",
        "load_log",
        {"status": "loaded", "failed_at": None, "pipeline_copies": 4, "compute_mib": {"CUDA1": 300.0}, "fail_mib": 900.0},
    ),
    "ik table of layer sizes": (
        "------------------- Layer sizes:\nLayer  0:    111.87,      2.14,    114.01       39.00  MiB\n"
        "Layer  1:    111.87,      2.14,    114.01       39.00  MiB\nLayer  2:   3135.03,      2.14,   3137.17       74.00  MiB\n",
        "load_log",
        {"layer_rows": 3, "layer_weights_sum_mib": 3358.77, "layer_cache_sum_mib": 6.42},
    ),
    "layers claimed, yet seen on the CPU": (
        "load_tensors: layer   0 assigned to device CPU, is_swa = 0\nload_tensors: layer   1 assigned to device CUDA0, is_swa = 0\n"
        "load_tensors: offloaded 2/2 layers to GPU\nload_tensors:        CUDA0 model buffer size =   100.00 MiB\n"
        "load_tensors:          CPU model buffer size =    90.00 MiB\n",
        "load_log",
        {"layers_claimed": 2, "layers_seen_on_cpu": 1, "conflict": True, "spilled": True},
    ),
    "layers left out": (
        "0.00.953.358 W model has unused tensor blk.64.attn_norm.weight (size = 20480 bytes) -- ignoring\n"
        "0.00.963.358 I load_tensors: offloaded 65/65 layers to GPU\n0.00.963.359 I load_tensors: CUDA0 model buffer size = 1000.00 MiB\n",
        "load_log",
        {"layers_skipped_from": 64, "layers_offloaded": 65, "spilled": False, "error_lines": None},
    ),
    "json log": (
        "".join(
            json.dumps({"type": "log", "time": 1_500_000 + i, "level": level, "msg": text + "\n"}) + "\n"
            for i, (level, text) in enumerate(
                (
                    ("info", "load_tensors: offloaded 10/11 layers to GPU"),
                    ("info", "load_tensors:        CUDA0 model buffer size =   100.50 MiB"),
                    ("info", "load_tensors:          CPU model buffer size =    10.50 MiB"),
                    ("error", "srv    load_model: failed to load model, '/models/a.gguf'"),
                )
            )
        )
        + json.dumps(
            {
                "type": "fit_memory_breakdown",
                "data": {
                    "unit": "MiB",
                    "rows": [
                        {
                            "kind": "device",
                            "name": "CUDA0",
                            "total": 1000,
                            "free": 900,
                            "self": 80,
                            "model": 50,
                            "context": 20,
                            "compute": 10,
                            "unaccounted": 20,
                        },
                        {"kind": "host", "self": 12, "model": 10, "context": 0, "compute": 2},
                    ],
                },
            }
        )
        + "\n",
        "load_log",
        {
            "layers_offloaded": 10,
            "layers_total": 11,
            "host_mib": 10.5,
            "device_mib": {"CUDA0": 100.5},
            "status": "failed",
            "error_lines": 1,
            "first_error_s": 1.500003,
            "breakdown_objects": 1,
            "host_breakdown_mib": {"self": 12, "model": 10, "context": 0, "compute": 2},
            "breakdown_is_plan": False,
            "spilled": True,
        },
    ),
    "server of 2024, runs in place of tokens": (
        '{"tid":"1","timestamp":1712000000,"level":"INFO","msg":"prompt eval time     =     100.00 ms /    10 tokens '
        '(   10.00 ms per token,   100.00 tokens per second)","id_slot":0}\n'
        '{"tid":"1","timestamp":1712000000,"level":"INFO","msg":"generation eval time =    2000.00 ms /   101 runs   '
        '(   19.80 ms per token,    50.50 tokens per second)","id_slot":0}\n',
        "server_log",
        {"prompt_n": 10, "prompt_ms": 100.0, "predicted_n": 101, "predicted_ms": 2000.0, "accepted": None, "H_ms": 20.0},
    ),
    "prompt still being read": (
        "0.05.100.000 I slot print_timing: id  0 | task 3 | prompt processing, n_tokens =   2048, progress = 0.50, "
        "t =   1.00 s / 2048.00 tokens per second\n",
        "server_log",
        {"prompt_tokens_done": 2048, "prompt_progress": 0.5, "predicted_n": None, "a": None, "status": None},
    ),
    "several requests, repeated": (
        "".join(
            f"slot print_timing: id  0 | task {i} | prompt eval time =      10.00 ms /     5 tokens (    2.00 ms per "
            f"token,   500.00 tokens per second)\n"
            f"slot print_timing: id  0 | task {i} |        eval time =     {ms:.2f} ms /   101 tokens (    1.00 ms per "
            f"token,   {101000 / ms:.2f} tokens per second)\n"
            f"slot print_timing: id  0 | task {i} |       total time =     {ms + 10:.2f} ms /   106 tokens\n"
            for i, ms in enumerate((1000.0, 1100.0, 1250.0))
        ),
        "server_log",
        {
            "requests": 3,
            "tps_min": 80.0,
            "tps_median": 90.909,
            "tps_max": 100.0,
            "spread_over_min_pct": 25.0,
            "H_ms": 11.167,
            "speedup": None,
        },
    ),
}


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
