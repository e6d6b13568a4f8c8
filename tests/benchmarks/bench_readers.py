"""Prints the reader's rate on a server log of 50 MB, one line in ten relevant, beside plain line iteration of the same file."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.formats.lines import CHUNK
from core.formats.reader import read

MB = 1_000_000
TARGET = 15.0
START = (
    "0.00.003.007 I cmn  common_param: common_params_print_info: build 10741 (4f7e21ac) with GNU 13.3.0 for Linux x86_64",
    "0.00.016.583 I load_tensors: loading model tensors, this can take a while... (load_mode = none)",
    "0.02.020.124 I load_tensors: offloaded 49/49 layers to GPU",
    "0.02.020.125 I load_tensors:        CUDA0 model buffer size = 13684.19 MiB",
    "0.02.020.126 I load_tensors:    CUDA_Host model buffer size =   520.63 MiB",
    "0.02.021.092 I llama_context: n_ctx                 = 65536",
    "0.02.021.385 I llama_kv_cache:      CUDA0 KV buffer size =  1536.00 MiB",
    "0.02.627.165 I srv          init: listening on http://127.0.0.1:8080",
)
TAG = "{at} I slot print_timing: id  0 | task {task} | "
REQUEST = (
    TAG + "prompt eval time =      98.71 ms /    17 tokens (    5.81 ms per token,   172.22 tokens per second)",
    TAG + "       eval time =    5164.80 ms /   641 tokens (    8.06 ms per token,   124.11 tokens per second)",
    TAG + "      total time =    5263.51 ms /   658 tokens",
    TAG + "draft acceptance = 0.68959 (  371 accepted /   538 generated), mean len =  2.38",
    "{at} I slot      release: id  0 | task {task} | stop processing: n_tokens = 657, truncated = 0",
)
OTHER = (
    "{at} I slot launch_slot_: id  0 | task {task} | processing task, is_child = 0",
    "{at} I slot   operator(): id  0 | task {task} | new prompt, n_keep = 0, task.n_tokens = 2015",
    "{at} I slot   operator(): id  0 | task {task} | cached n_tokens = 4, memory_seq_rm [4, end)",
    "{at} I srv        update:  - cache state: 1 prompts, 0.431 MiB (limits: 8192.000 MiB, 1024 tokens, 836558 est)",
    "{at} I srv  params_from_: Chat format: peg-native",
    "{at} I srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 200",
    "{at} D que    start_loop: processing new tasks and waiting for the next one",
    "{at} I slot init_sampler: id  0 | task {task} | init sampler, took 0.00 ms, text = 5, total = 5",
)


def lines(size: int) -> Iterator[str]:
    """A log of so many bytes: a start-up, then requests between many lines that nobody reads."""
    yield from START
    written, task = sum(len(line) + 1 for line in START), 0
    choose = random.Random(20261129)
    while written < size:
        at = f"{task // 60}.{task % 60:02d}.{choose.randrange(1000):03d}.{choose.randrange(1000):03d}"
        block = list(REQUEST) + [choose.choice(OTHER) for _ in range(9 * len(REQUEST))]
        for form in block:
            line = form.format(at=at, task=task)
            written += len(line) + 1
            yield line
        task += 1


def pieces(path: Path) -> Iterator[bytes]:
    """The file, piece by piece."""
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece


def seconds_plain(path: Path) -> tuple[float, int]:
    """(seconds, lines) of iterating over the lines alone."""
    begun = time.process_time()
    with path.open(encoding="utf-8", errors="replace") as file:
        many = sum(1 for _ in file)
    return time.process_time() - begun, many


def seconds_read(path: Path) -> tuple[float, int | None]:
    """(seconds, requests found) of reading."""
    begun = time.process_time()
    reading = read(pieces(path))
    return time.process_time() - begun, reading.values["requests"]


def main() -> int:
    """Processor time, best of three for both, turn by turn, so that a busy machine hits both alike; exit 1 above the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=50)
    size = parser.parse_args().mb * MB
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        path.write_text("\n".join(lines(size)) + "\n", encoding="utf-8")
        plain, read_in, many, requests = [], [], 0, None
        for _ in range(3):
            spent, many = seconds_plain(path)
            plain.append(spent)
            spent, requests = seconds_read(path)
            read_in.append(spent)
    ratio = min(read_in) / min(plain)
    print(f"log          {size / MB:.0f} MB, {many} lines, {requests} requests")
    print(f"plain lines  {size / MB / min(plain):8.1f} MB/s")
    print(f"reader       {size / MB / min(read_in):8.1f} MB/s")
    print(f"ratio        {ratio:8.1f} x   (target at most {TARGET:.0f} x)")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
