"""An answer taken apart: torn anywhere, with odd texts, and no faster reading that tells anything else than the plain one."""

from __future__ import annotations

import json
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agent.reply import Reply, gaps_ms, text_and_reason

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b'data: {"choices":[{"delta":{"content":"\xc3\xa4"}}]}\n\ndata: {"timings":{"predicted_n":1}}\n\ndata: [DONE]\n\n'


def read(*parts: bytes) -> Reply:
    """Each part came at its number, in ns; read one by one."""
    reply = Reply()
    for at, part in enumerate(parts):
        reply.feed([(at, part)])
    reply.rest(len(parts))
    return reply


def chunked(*parts: bytes) -> bytes:
    return CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def torn(whole: bytes, size: int) -> list[bytes]:
    return [whole[at : at + size] for at in range(0, len(whole), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_an_answer_may_be_torn_anywhere(size: int) -> None:
    whole = chunked(BODY[:7], BODY[7:60], BODY[60:])
    reply = read(*torn(whole, size))
    assert [text for _, text in reply.said] == ["ä"]
    assert (len(reply.objects), reply.objects[1], reply.ended, reply.status) == (2, {"timings": {"predicted_n": 1}}, True, 200)
    at_once = Reply()
    at_once.feed(list(enumerate(torn(whole, size))))
    assert (at_once.said, at_once.objects) == (reply.said, reply.objects), "one reading at a time or all together"


def test_a_closed_connection_ends_the_last_line() -> None:
    reply = read(b"HTTP/1.0 200 OK\r\n\r\n" + BODY[:-2])
    assert (len(reply.objects), reply.ended) == (2, True)
    assert [text for _, text in read(b'HTTP/1.0 200 OK\r\n\r\ndata: {"content": "x"}').said] == ["x"]


def test_an_event_comes_when_its_line_is_whole() -> None:
    line = b'data: {"content":"a"}\n'
    reply = Reply()
    reply.feed([(10, b"HTTP/1.0 200 OK\r\n\r\n" + line + line[:9]), (20, line[9:-1]), (30, b"\n" + line + line), (40, line)])
    assert reply.said == [(10, "a"), (30, "a"), (30, "a"), (30, "a"), (40, "a")]
    assert reply.objects == [{"content": "a"}], "the others differ in nothing"


@pytest.mark.parametrize("rubbish", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", CHUNKED + b"zz\r\nabc", CHUNKED + b"-5\r\nabcdefg", b"x" * 70_000,
                                     b"HTTP/1.1 200 OK\r\n\r\ndata: [1]\n", b"HTTP/1.1 200 OK\r\n\r\ndata: {x}\n",
                                     b'HTTP/1.1 200 OK\r\n\r\ndata: {"content":"a"}\ndata: {"content":"\xff"}\n'])  # fmt: skip
def test_what_is_no_answer_is_said_so(rubbish: bytes) -> None:
    with pytest.raises(ValueError):
        read(rubbish)


def test_an_error_keeps_its_body_and_a_length_its_end() -> None:
    reply = read(b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nbusy!after the end")
    assert (reply.status, reply.error_body, reply.ended, reply.said) == (503, b"busy!", True, [])


TEXTS = st.text(max_size=6) | st.sampled_from(["", "†", "\\", '"', "\\\\", '"}', "\n", "\x7f", "\u2028", '","content":"'])
CHAT = st.builds(lambda text, role: {"choices": [{"finish_reason": None, "delta": {role: text}}], "id": 7}, TEXTS,
                 st.sampled_from(["content", "content", "reasoning_content", "role"]))  # fmt: skip
KEYS = st.sampled_from(["text", "stop_type", "timings", "id_slot", "error"])
ODD = st.builds(lambda text, key, more: {"content": text, key: more}, TEXTS, KEYS, TEXTS | st.integers(0, 3) | st.just({"predicted_n": 4}))
LAST = st.builds(lambda text: {"choices": [{"finish_reason": "length", "delta": {"content": text}}], "id": 7}, TEXTS)


@given(events=st.lists(CHAT | CHAT | ODD | LAST, max_size=12), ascii_only=st.booleans(), tight=st.booleans(), size=st.integers(1, 80))
def test_reading_only_the_text_tells_what_reading_everything_tells(
    events: list[dict[str, Any]], ascii_only: bool, tight: bool, size: int
) -> None:
    signs = (",", ":") if tight else None
    lines = [b"data: " + json.dumps(one, ensure_ascii=ascii_only, separators=signs).encode("utf-8") + b"\n\n" for one in events]
    reply = read(*torn(chunked(*lines), size))
    wanted = [text_and_reason(one)[0] for one in events]
    assert [text for _, text in reply.said] == [text for text in wanted if text]
    for key in ("timings", "error", "id_slot"):
        assert last_of(reply.objects, key) == last_of(events, key)
    assert {text_and_reason(one)[1] for one in reply.objects} == {text_and_reason(one)[1] for one in events}


def last_of(events: list[dict[str, Any]], key: str) -> Any:
    return next((one[key] for one in reversed(events) if key in one), None)


def test_most_events_are_read_by_their_text_alone() -> None:
    texts = ["word", " two", "\n", "ä", '"', "\\"] * 30
    events = [{"choices": [{"delta": {"content": text}}], "created": at // 60} for at, text in enumerate(texts)]
    reply = read(chunked(*[b"data: " + json.dumps(one).encode() + b"\n\n" for one in events]))
    assert [text for _, text in reply.said] == texts
    assert len(reply.objects) == 3, "one for each second that the engine stamped"


def test_figures_in_every_event_are_read_whole_and_soon_no_pattern_is_looked_for() -> None:
    reply = read(chunked(*[b'data: {"content":"a","timings":{"predicted_n":%d}}\n\n' % at for at in range(100)]))
    assert (len(reply.said), len(reply.objects), reply.objects[-1]["timings"]["predicted_n"]) == (100, 100, 99)


@given(st.lists(st.integers(0, 10**10), min_size=3, max_size=300))
def test_gaps_are_the_quantiles_of_the_library(steps: list[int]) -> None:
    arrivals = [sum(steps[:at]) for at in range(len(steps) + 1)]
    cut = statistics.quantiles([step / 1e6 for step in steps], n=100, method="inclusive")
    assert gaps_ms(arrivals) == pytest.approx({"p50": cut[49], "p95": cut[94], "p99": cut[98], "max": max(steps) / 1e6})


def test_gaps_need_three_events() -> None:
    assert gaps_ms([1, 2]) is None
    assert gaps_ms([0, 1_000_000, 3_000_000])["p50"] == 1.5
