"""A box in locked mode: its owner installed the agent as the forced command of the app's key, so every question is one framed request."""

from __future__ import annotations

import base64
import json
from typing import Any

from core.errors import InvalidInput, PreflightRefused
from core.ports.bench_box import BenchBox
from core.ports.host import Host
from core.remote.frames import framed
from core.remote.run_paths import check_log_name, check_run_id

_VERB_S = 60.0
_WORD = "draftledger"  # what is asked for by name; the gate answers whatever the name is


class LockedBox(BenchBox):
    """The same protocol as AgentBox, over the gate (core/agent/gate.py): nothing is uploaded, no path is known here."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def probe(self) -> dict[str, Any]:
        found = self._ask("probe")
        _refuse_unless_answered(found)
        return {**found, "link": self.host.link()}

    def submit(self, run_id: str, spec: dict[str, Any]) -> dict[str, Any]:
        put = self._ask("put_spec", run_id=check_run_id(run_id), spec=spec)
        return put if put.get("answer") == "refused" else self._ask("start", run_id=run_id)

    def state(self, run_id: str) -> dict[str, Any]:
        return self._ask("state", run_id=check_run_id(run_id))

    def forgive(self) -> bool:
        return self.host.forgive()

    def cancel(self, run_id: str, who: str) -> dict[str, Any]:
        check_run_id(run_id)
        if not who or len(who) > 200 or not who.isprintable() or who.startswith("-"):
            raise InvalidInput({"who": "A name of at most 200 characters, not starting with a hyphen."})
        return self._ask("cancel", run_id=run_id, who=who)

    def reap(self) -> dict[str, Any]:
        """Ends what dead agents left behind."""
        return self._ask("reap")

    def forget(self, run_id: str, *, seq: int, sha: str, age_s: float) -> dict[str, Any]:
        return self._ask("forget", run_id=check_run_id(run_id), ack=f"{int(seq)}:{sha}", age_s=int(age_s))

    def read_events(self, run_id: str, offset: int, limit: int = 1 << 20) -> bytes:
        return self._read(run_id, "events.jsonl", offset, limit)

    def read_log(self, run_id: str, name: str, offset: int, limit: int = 1 << 20) -> bytes:
        return self._read(run_id, check_log_name(name), offset, limit)

    def log_size(self, run_id: str, name: str) -> int | None:
        found = self._ask("size", run_id=check_run_id(run_id), name=check_log_name(name))
        size = found.get("size")
        return size if isinstance(size, int) else None

    def close(self) -> None:
        """Gives the connection back; the next call opens it again."""
        self.host.close()

    def _read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        found = self._ask("read", run_id=check_run_id(run_id), name=name, offset=offset, limit=limit)
        try:
            return base64.b64decode(found.get("data") or "", validate=True)[:limit]
        except (ValueError, TypeError):
            return b""

    def _ask(self, verb: str, **more: Any) -> dict[str, Any]:
        line = json.dumps({"verb": verb, **more}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        return framed(self.host.run([_WORD], deadline_s=_VERB_S, stdin=line), verb)


def _refuse_unless_answered(found: dict[str, Any]) -> None:
    if found.get("answer") == "refused":
        raise PreflightRefused(f"The gate of the box refused: {found.get('why')}", hint="Ask the owner of the box to look at it.")
    if found.get("mode") != "locked":
        raise PreflightRefused(
            "The key of this box is not bound to the gate, so the box is not locked.",
            hint="Ask its owner to install the gate (docs/agent.md, Locked boxes), or register the box in standard mode.",
        )
