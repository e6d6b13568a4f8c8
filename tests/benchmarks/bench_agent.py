"""Prints what the bench costs the box it measures: processor time for each streamed event, beside a loop that only waits and reads.

Real engine, made models. First the client alone against that loop, in turn, on one engine; then the whole agent (telemetry, heartbeat
and log included) by its own account of real sweeps.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.agent.client import Stream, body_for
from core.agent.engine import Engine
from core.agent.reply import ENDS
from core.agent.talk import converse
from core.agent.watch import Watch
from core.embedded.models import MODELS, make_model
from tests.agent.agent_box import Box
from tests.agent.test_honesty import BODY, LAUNCHER, books, cost_us, share_of, swept

LIMIT_US, LIMIT_SHARE, LIMIT_BOOKS = 60.0, 0.05, 0.01
ROUTE, TOKENS = "/v1/chat/completions", 129
ROUNDS = 4  # of A B B A
ADDED: dict[str, str | None] = {"host": "--host", "port": "--port", "api_key": "--api-key", "metrics": "--metrics", "alias": "--alias"}


def main() -> int:
    """Exit 1 when a figure misses its limit."""
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}; the µs hold for an idle one, the ratio for a busy one too")
    with tempfile.TemporaryDirectory() as folder:
        missed = client_alone(Path(folder))
        missed += whole_agent(Path(folder))
    return 1 if missed else 0


def client_alone(folder: Path) -> int:
    """Client and bare loop on one engine, in turn."""
    watch = Watch(str(folder), 600.0, lambda who: None)
    argv = [sys.executable, str(LAUNCHER), "-m", str(make_model(MODELS["made-moe"], folder)), "-c", "8192", "-np", "4", "-lv", "4"]
    engine = Engine(1, argv, ADDED, "")
    missed = 0
    with (folder / "lock").open("wb") as lock:
        engine.start(str(folder), dict(os.environ), lock.fileno())
        try:
            engine.wait_ready(120.0, watch)
            for c in (1, 4):
                missed += _compare(engine, watch, c)
        finally:
            engine.stop(1.0)
    return missed


def _compare(engine: Engine, watch: Watch, c: int) -> int:
    def client() -> int:
        streams = _streams(engine, c)
        converse(streams, watch, 120.0, engine.died)
        assert not any(stream.answer["error"] for stream in streams)
        return sum(int(stream.answer["events"]) for stream in streams)

    events = client()  # warm-up; how many events there are
    found: dict[str, list[tuple[float, float]]] = {"client": [], "bare": []}
    ways: dict[str, Callable[[], Any]] = {"client": client, "bare": lambda: _bare_loop(_streams(engine, c))}
    for name in ("client", "bare", "bare", "client") * ROUNDS:
        found[name].append(_cost(ways[name], events))
    mine, bare = (median(us for us, _ in found[name]) for name in ("client", "bare"))
    wakes = median(wakes for _, wakes in found["client"])
    print(f"client alone, made-moe, {c} stream{'s' * (c > 1)}: {mine:5.1f} µs an event (limit {LIMIT_US:.0f}), bare loop {bare:5.1f} µs, "
          f"ratio {mine / bare:.2f}; {wakes:.2f} wake-ups an event")  # fmt: skip
    return mine > LIMIT_US


def _streams(engine: Engine, c: int) -> list[Stream]:
    bodies = [body_for(ROUTE, BODY, [f"Stream {at}: count."], TOKENS) for at in range(c)]
    return [Stream(engine.door, ROUTE, body) for body in bodies]


def _bare_loop(streams: list[Stream]) -> None:
    """Sends the same requests, waits for bytes and drops them: what any client in this language pays."""
    poll, open_ = select.poll(), {}
    for stream in streams:
        found = stream.open()
        assert found is not None
        poll.register(found, select.POLLIN)
        open_[found.fileno()] = found
    while open_:
        for number, _ in poll.poll():
            data = open_[number].recv(1 << 14, socket.MSG_DONTWAIT)
            if not data or data.endswith(ENDS):
                poll.unregister(number)
                open_.pop(number).close()


def _cost(way: Callable[[], Any], events: int) -> tuple[float, float]:
    """(µs of processor time, times the thread was woken) for each event."""
    before, woken = time.process_time(), resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    way()
    cost = time.process_time() - before
    return 1e6 * cost / events, (resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - woken) / events


def whole_agent(folder: Path) -> int:
    """Sweeps as the packed agent runs them, judged by what it wrote down."""
    box = Box(folder / "box")
    try:
        moe = swept(box, folder, "made-moe", 4, tokens=TOKENS)
        dense = swept(box, folder, "made-dense", 8, number=2, tokens=TOKENS)
    finally:
        box.clear_up()
    missed = 0
    for c in (1, 4):
        cost = median(cost_us(sample) for sample in moe if sample["c"] == c)
        print(f"whole agent, made-moe, {c} stream{'s' * (c > 1)}: {cost:5.1f} µs an event (limit {LIMIT_US:.0f})")
        missed += cost > LIMIT_US
    share = median(share_of(sample) for sample in dense if sample["c"] == 8)
    print(f"whole agent, made-dense, 8 streams: {share:.1%} of the wall time (limit {LIMIT_SHARE:.0%})")
    apart = max(books(moe), books(dense))
    print(f"client's clock and engine's counts: {apart:.2%} apart (limit {LIMIT_BOOKS:.0%})")
    return missed + (share > LIMIT_SHARE) + (apart > LIMIT_BOOKS)


if __name__ == "__main__":
    raise SystemExit(main())
