"""A tool loop: several requests of one client, each sent when the answer before it is over. Looks like one stream to whoever waits for it.

Every request carries its whole fixed history, so that both arms read the same text whatever they answered.
"""

from __future__ import annotations

import hashlib
import socket
from typing import Any, Sequence

from core.agent.client import Stream
from core.agent.reply import gaps_ms

_SUMMED = ("prompt_n", "prompt_ms", "predicted_ms", "draft_n", "draft_n_accepted", "cache_n")


class Turns:
    """Streams one after another; `answer` adds them up, with each turn's own answer under `turns`."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._streams, self._at = streams, 0
        self.answer = streams[0].answer

    def open(self) -> socket.socket | None:
        """Sends the first request; the socket to wait on, None when nobody took it."""
        return self._streams[0].open()

    def take(self, flags: int = socket.MSG_DONTWAIT) -> bool:
        """Notes the bytes that came; False when this turn's answer is over."""
        return self._streams[self._at].take(flags)

    def go_on(self) -> socket.socket | None:
        """Takes the turn apart and sends the next; None after the last one, or after one that went wrong."""
        here = self._streams[self._at]
        if self._at + 1 == len(self._streams):
            return None
        here.close()
        if here.answer["error"] is not None:
            return None
        self._at += 1
        return self._streams[self._at].open()

    def close(self, why: str = "") -> None:
        """Ends the turn that is open, for the reason given when it is not over, and fills `answer`."""
        here = self._streams[self._at]
        if not here.is_closed:
            here.close(why)
        made = self._streams[: self._at + 1]
        self.answer = together([stream.answer for stream in made], [stream.arrivals for stream in made])


def together(turns: Sequence[dict[str, Any]], arrivals: Sequence[list[int]]) -> dict[str, Any]:
    """One answer out of a loop's: counts and times added up, the first turn's TTFT, clocks from the first text to the last.

    `timings.predicted_n` is one more than the decode tokens of all turns: each turn's first token is its prompt's, as in a single answer.
    """
    last, seen = turns[-1], [turn for turn in turns if turn["timings"]]
    answer = dict(last, turns=list(turns))
    answer["timings"] = _timings([turn["timings"] for turn in seen]) if len(seen) == len(turns) else None
    answer["ttft_ms"], answer["first_ns"] = turns[0]["ttft_ms"], turns[0]["first_ns"]
    answer["wall_ms"] = sum(turn["wall_ms"] for turn in turns)
    if last["last_token_ms"] is not None:
        answer["last_token_ms"] = sum(turn["wall_ms"] for turn in turns[:-1]) + last["last_token_ms"]
    answer["events"] = sum(turn["events"] for turn in turns)
    answer["text_sha256"] = hashlib.sha256("".join(turn["text_sha256"] or "" for turn in turns).encode("ascii")).hexdigest()
    answer["cached_tokens"] = _sum(turn["cached_tokens"] for turn in turns)
    answer["gap_ms"] = gaps_ms(*arrivals)
    answer["slot"] = last["slot"] if len({turn["slot"] for turn in turns}) == 1 else None
    spans = [(turn["last_ns"] - turn["first_ns"]) / 1e9 for turn in turns if turn["first_ns"] is not None]
    count = (answer["timings"] or {}).get("predicted_n")
    answer["client_tok_s"] = answer["tokens_per_event"] = None
    if isinstance(count, int) and len(spans) == len(turns):
        answer["client_tok_s"] = (count - 1) / sum(spans) if sum(spans) > 0 else None
        answer["tokens_per_event"] = (count - 1 + len(turns)) / answer["events"] if answer["events"] else None
    return answer


def _timings(turns: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    added = {key: _sum(turn.get(key) for turn in turns) for key in _SUMMED if any(key in turn for turn in turns)}
    counts = [count for count in (turn.get("predicted_n") for turn in turns) if isinstance(count, int)]
    if len(counts) < len(turns):
        return None
    return dict(added, predicted_n=sum(counts) - len(counts) + 1)


def _sum(values: Any) -> Any:
    """The sum of those that are known numbers; None where none is."""
    known = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return sum(known) if known else None
