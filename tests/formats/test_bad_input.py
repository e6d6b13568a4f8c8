"""Whatever comes in: a reading or one clear sentence, in bounded time and memory, never a traceback."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import OutputNotUnderstood
from core.formats.load_log import read_placement
from core.formats.metrics import read_metrics
from core.formats.reader import Reading, read
from core.formats.statistics import read_statistics
from core.formats.version import read_version
from tests.formats.compare import CASES, EXPECTED
from tests.formats.test_wordings import SAMPLES

MIB = 1024 * 1024
EXTRA = 64 * MIB
TEXTS = [(CASES / entry["file"]).read_bytes() for entry in EXPECTED.values()] + [text.encode() for text, _, _ in SAMPLES.values()]


def attempt(data: bytes | Iterator[bytes], **how: Any) -> Reading | None:
    """A reading that is plain JSON without NaN, or None where one clear sentence was given."""
    try:
        reading = read(data, **how)
    except OutputNotUnderstood as error:
        assert error.message.endswith(".") and "\n" not in error.message and len(error.message) < 200
        return None
    json.dumps(reading.as_json(), allow_nan=False)
    assert all(len(warning) < 2000 for warning in reading.warnings)
    return reading


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "The file is empty."),
        (b"\0" * 100, "The file is empty."),
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20, "This is binary data, not text that an engine printed."),
        (b"GGUF\x03\x00\x00\x00" + bytes(range(128, 256)) * 30, "This is binary data, not text that an engine printed."),
        ("Liebe Leute, heute ist es schön.\n".encode() * 50, "Nothing in this text is output of a known engine or tool."),
        (b"=cmd|' /C calc'!A0,1,2\n", "Nothing in this text is output of a known engine or tool."),
        (b'{"a": 1}', "Nothing in this text is output of a known engine or tool."),
        (b"| a | b |\n|---|---|\n| 1 | 2 |\n", "Nothing in this text is output of a known engine or tool."),
    ],
)
def test_what_is_no_output_of_an_engine_gets_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(OutputNotUnderstood) as error:
        read(data)
    assert error.value.message == sentence


def test_a_kind_that_is_not_there_or_not_known_gets_one_sentence() -> None:
    log = (CASES / EXPECTED["S05"]["file"]).read_bytes()
    with pytest.raises(OutputNotUnderstood, match="was to be read as llama_bench"):
        read(log, kind="llama_bench")
    with pytest.raises(OutputNotUnderstood, match="is no kind of output"):
        read(log, kind="spreadsheet")


def test_a_lying_name_plays_no_part_because_no_name_is_seen() -> None:
    table = (CASES / EXPECTED["B01"]["file"]).read_bytes()
    assert read(b"\xef\xbb\xbf" + table).kind == "llama_bench"


def test_a_log_written_as_utf_16_is_read() -> None:
    text = (CASES / EXPECTED["S07"]["file"]).read_text(encoding="utf-8")
    assert read(text.encode("utf-16-le")).values == read(text.encode()).values


def test_half_a_document_keeps_its_rows() -> None:
    text = (CASES / EXPECTED["B07"]["file"]).read_bytes()
    for cut in range(40, len(text), 97):
        reading = attempt(text[:cut])
        assert reading is None or reading.values["status"] in ("partial", "failed")


@pytest.mark.parametrize("bad", ["1e400", "-1", "NaN", "inf", "-inf", "1e-400", "9" * 400, "0x10", "١٢"])
@pytest.mark.parametrize("name", ["S05", "S07", "L03", "L22", "B03", "B09", "V01", "V03", "V05", "S13", "S15", "S01"])
def test_impossible_numbers_are_unknown(name: str, bad: str) -> None:
    text = (CASES / EXPECTED[name]["file"]).read_text(encoding="utf-8")
    for token in sorted({word for word in text.replace("(", " ").replace(",", " ").split() if word.replace(".", "").isdigit()})[:40]:
        reading = attempt(text.replace(token, bad).encode())
        if reading is not None:
            assert all(_finite(value) for value in reading.values.values())


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_finite(part) for part in value.values())
    if isinstance(value, list):
        return all(_finite(part) for part in value)
    return not isinstance(value, float) or math.isfinite(value)


def test_formulas_in_names_stay_text() -> None:
    table = "| model | size | params | backend | ngl | test | t/s |\n|---|---|---|---|---|---|---|\n"
    reading = read((table + '| =HYPERLINK("x") | 1.00 GiB | 1.00 B | @SUM(1) | 1 | tg8 | 5.00 ± 0.10 |\n').encode())
    assert reading.values["rows"][0]["model"] == '=HYPERLINK("x")'


def one_line(total: int, piece: bytes) -> Iterator[bytes]:
    """A single line of so many bytes, made as it is read."""
    for _ in range(total // len(piece)):
        yield piece


@pytest.mark.parametrize(
    "piece",
    [
        b"a" * MIB,
        b"eval time = 1.00 ms / 10 tokens (" * 32768,
        b"[" * MIB,
        b'{"a":' * 200_000,
        b"CUDA0 model buffer size = 1 MiB " * 32768,
        b"| - x (y) | 1 = 1 + (1 " * 40_000,
        b"\xff\xfe\x00" * 350_000,
    ],
)
def test_a_huge_single_line_needs_little_memory_and_time(piece: bytes) -> None:
    read(TEXTS[0])
    tracemalloc.start()
    try:
        begun = time.monotonic()
        attempt(one_line(100 * MIB if piece[:1] == b"a" else 12 * MIB, piece))
        assert tracemalloc.get_traced_memory()[1] < EXTRA
        assert time.monotonic() - begun < 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["S07", "L10", "B05", "V07", "L22"])
def test_an_endless_log_needs_little_memory(name: str) -> None:
    text = (CASES / EXPECTED[name]["file"]).read_bytes()
    tracemalloc.start()
    try:
        attempt(text for _ in range(MIB // len(text)))
        assert tracemalloc.get_traced_memory()[1] < EXTRA
    finally:
        tracemalloc.stop()


def test_time_grows_with_the_length_and_not_faster() -> None:
    line = b"0.51.064.424 I slot print_timing: id  0 | task 0 |        eval time =    5164.80 ms /   641 tokens\n"
    spent = []
    for many in (4000, 16000):
        begun = time.process_time()
        read(line * many)
        spent.append(time.process_time() - begun)
    assert spent[1] < 10 * spent[0] + 0.2


FUZZ = settings(max_examples=120, deadline=2000, suppress_health_check=list(HealthCheck), derandomize=True, database=None)


@FUZZ
@given(st.binary(max_size=4096))
def test_any_bytes(data: bytes) -> None:
    attempt(data)


@FUZZ
@given(st.sampled_from(TEXTS), st.data())
def test_broken_samples(text: bytes, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 40)))
        text = text[:at] + data.draw(st.binary(max_size=12)) + text[end:]
    attempt(text)
    read_placement(text.decode("utf-8", "replace").splitlines())
    read_statistics(text.decode("utf-8", "replace").splitlines())
    read_metrics(text.decode("utf-8", "replace"))
    read_version(text.decode("utf-8", "replace"))


@FUZZ
@given(st.lists(st.sampled_from([line for text in TEXTS for line in text.splitlines(keepends=True)]), max_size=60), st.booleans())
def test_shuffled_lines_of_all_samples(lines: list[bytes], twice: bool) -> None:
    data = b"".join(lines)
    attempt(data, companion=data if twice else None)


@FUZZ
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_two_inputs_in_one_file(first: bytes, second: bytes) -> None:
    attempt(first + b"\n" + second)


@FUZZ
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "avg_ts",
                        "n_prompt",
                        "n_gen",
                        "timings",
                        "predicted_n",
                        "predicted_ms",
                        "draft_n",
                        "draft_n_accepted",
                        "summary",
                        "pp",
                        "tg",
                        "pl",
                        "speed_tg",
                        "t_tg",
                        "drafted_by_position",
                        "accepted_by_position",
                        "provenance",
                        "samples_ns",
                        "output_throughput",
                        "backends",
                        "model_type",
                        "type",
                        "data",
                        "rows",
                    ]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_with_known_names(document: Any) -> None:
    attempt(json.dumps(document).encode())
    attempt(json.dumps([document, document]).encode()[:-1])
