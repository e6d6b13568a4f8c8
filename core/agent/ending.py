"""The end of a run: proof that nothing of it is left on the box, and the body of its last event."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, Callable, NamedTuple, Sequence

from core.agent import cgroup, leftovers, locks, proc
from core.agent.files import Refused
from core.agent.journal import DiskFull, Journal
from core.agent.shutdown import end_family
from core.domain import sweep
from core.domain.arms import Stop

_PORT_S = 2.0


class Proof(NamedTuple):
    """What is still there: processes, ports with a listener, GPU memory above the value before the first engine (MiB; None: unknown)."""

    left: list[int]
    ports: list[int]
    gpu_over_mib: float | None

    def sentence(self) -> str:
        """What could not be cleared, "" when nothing is left."""
        parts = []
        if self.left:
            parts.append("processes of the engine that could not be ended: %s" % ", ".join(map(str, self.left)))
        if self.ports:
            parts.append("somebody listens on port %s" % ", ".join(map(str, self.ports)))
        if self.gpu_over_mib:
            parts.append("%.0f MiB more GPU memory in use than before the start" % self.gpu_over_mib)
        return " Still there: %s." % "; ".join(parts) if parts else ""


def prove(root: str, run_id: str, agent: dict[str, Any], held: Callable[[], float | None]) -> Proof:
    """Ends what is left by every net in turn (children, group, tag, lock), then looks again. Call while the box is still held.

    `held`: asked last, the GPU memory above the value before the first engine, MiB."""
    left = set(end_family())
    try:
        with locks.door(root):  # no other verb is looking at the lock meanwhile, so who holds it belongs to the run
            left |= set(leftovers.end(root, run_id, agent)[1])
    except Refused:
        left |= {item.pid for item in proc.tagged(run_id)} - {agent.get("pid")}
    cgroup.remove(str(agent.get("cgroup", "")))
    return Proof(sorted(left), open_ports(agent), held())


def open_ports(agent: dict[str, Any]) -> list[int]:
    """Ports of the run's engines that somebody listens on, given a moment: a socket closes a little after its process."""
    ports = {engine["port"] for engine in leftovers.engines(agent) if isinstance(engine.get("port"), int)}
    deadline = time.monotonic() + _PORT_S
    while True:
        found = sorted(port for port in ports if proc.listening(port))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def close_for(folder: str, why: Stop, proof: Proof) -> None:
    """The last event in the place of an agent that cannot write it: cancelled where `why` is a stop somebody asked for, else failed."""
    journal, text = Journal(folder), why.text + proof.sentence()
    who = leftovers.who_asked(folder)
    is_stop = why.code == sweep.cancelled(who).code
    try:
        if is_stop:
            _write(journal, "cancel_seen", who=who)
        _write(
            journal, "run_finished", outcome="cancelled" if is_stop else "failed", reason={"code": why.code, "text": text}, winner=None,
            drifted=None, stop=asdict(why) if is_stop else None, samples=None, left=proof.left,
            proof={"ports": proof.ports, "gpu_over_mib": proof.gpu_over_mib},
        )  # fmt: skip
    finally:
        journal.close()


def _write(journal: Journal, kind: str, **body: Any) -> None:
    try:
        journal.append(kind, **body)
    except DiskFull:
        pass  # it stands there, by the reserve


def last_words(plan: sweep.Plan, done: Sequence[sweep.Measured], outcome: str, reason: tuple[str, str], proof: Proof) -> dict[str, Any]:
    """Body of `run_finished` without its counts."""
    code, text = reason
    stop = sweep.stop_of(plan, done)
    if stop is None and outcome == "cancelled":
        stop = sweep.Stop(code, text)
    made = sweep.production_verdict(plan, done)
    return {
        "outcome": outcome, "reason": {"code": code, "text": text + proof.sentence()}, "winner": sweep.winner(done),
        "drifted": sweep.drifted(done), "stop": None if stop is None else asdict(stop), "left": proof.left,
        "proof": {"ports": proof.ports, "gpu_over_mib": proof.gpu_over_mib}, "supports_keep": sweep.keeps(plan, done),
        "production": None if made is None else dict(asdict(made), c=plan.production_c, text=sweep.flip_text(made, plan.production_c)),
    }  # fmt: skip
