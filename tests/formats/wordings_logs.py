"""Wordings of start-up and server logs that the sample inputs do not show: text, kind, figures."""

from __future__ import annotations

import json
from typing import Any

LOGS: dict[str, tuple[str, str, dict[str, Any]]] = {
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
            "spilled": False,
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
