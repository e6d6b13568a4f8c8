"""Finds the one framed line an agent answers with, whatever a login shell printed around it."""

from __future__ import annotations

import json
from typing import Any

from core.domain.secret_words import redacted
from core.errors import CommandFailed
from core.ports.host import Completed

MARK = b"@@draftledger "
_TAIL_BYTES = 2000


def tail_of(done: Completed) -> str:
    """The end of what a command printed, control characters made visible, for a person to read."""
    text = (done.out[-_TAIL_BYTES:] + b"\n" + done.err[-_TAIL_BYTES:]).decode("utf-8", "replace").strip()
    text = redacted(text)
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)


def framed(done: Completed, asked: str) -> dict[str, Any]:
    """The object behind the last mark on stdout. A missing or broken one, or an exit code, is CommandFailed with the output's tail."""
    start = done.out.rfind(MARK)
    if done.rc != 0 or start < 0:
        raise _failed(done, asked, f"ended with code {done.rc}" if done.rc else "gave no answer")
    line = done.out[start + len(MARK) :].split(b"\n", 1)[0]
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise _failed(done, asked, "gave a broken answer") from fault
    if not isinstance(answer, dict):
        raise _failed(done, asked, "gave a broken answer")
    return answer


def _failed(done: Completed, asked: str, what: str) -> CommandFailed:
    return CommandFailed(
        f"`{asked}` {what}. It printed:\n{tail_of(done) or '(nothing)'}", hint="Nothing on the box was changed by this failure."
    )
