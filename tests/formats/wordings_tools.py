"""Wordings of benches, clients, metrics and other engines that the sample inputs do not show: text, kind, figures."""

from __future__ import annotations

import json
from typing import Any

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

TOOLS: dict[str, tuple[str, str, dict[str, Any]]] = {
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
}
