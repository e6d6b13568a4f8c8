"""Proof that inputs are read by format: other numbers, other prefixes and no names give the same structure with the new figures."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from core.formats.reader import read
from tests.formats.compare import CASES, EXPECTED
from tests.formats.test_wordings import SAMPLES

READABLE = sorted(name for name, entry in EXPECTED.items() if entry["kind"] != "report")
TEXTS = {name: (CASES / EXPECTED[name]["file"]).read_text(encoding="utf-8") for name in READABLE}
# a number that stands alone: no part of a name, stamp, path, date, share or per cent
NUMBER = re.compile(r"(?<![\w./:\-\[|])(\d+(?:\.\d+)?)(?![\w./:%\-\]])")
PREFIXES = {
    "colours": "\x1b[32m",
    "journal": "Aug  9 12:01:02 box-1 llama-server[4821]: ",
    "compose": "llama-1  | ",
    "swap": "2026-05-09 17:03:12.640 [Info] (Process) ",
    "router": "[41207] ",
    "stamp": "0.00.000.001 I ",
    "level": "I ",
    "several": "\x1b[0mAug 19 12:01:02 box srv[1]: llama-1 | [8080] 0.00.000.001 I ",
}
STAMPED = {"first_error_s", "error_lines"}  # read from the stamp and the level that the prefix brings along


def without_comments(text: str) -> str:
    """The text without the lines that mark its arms."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def scaled(text: str, factor: int) -> str:
    """Every number of at least 10 (and every other one with a fraction above 1.5) times a factor: sums, orders and shares stay true."""

    def change(found: re.Match[str]) -> str:
        value = float(found[1])
        if value < (1.5 if "." in found[1] else 10):
            return found[1]
        digits = len(found[1].partition(".")[2])
        return f"{value * factor:.{digits}f}"

    return NUMBER.sub(change, text)


def shape(value: Any) -> Any:
    """Nulls, switches, lengths and keys of a result without its figures; keys that are numbers count only."""
    if isinstance(value, dict):
        if value and all(re.fullmatch(r"[\d.]+", str(key)) for key in value):
            return ["numbered", len(value)]
        return {key: shape(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value]
    if value is None or isinstance(value, bool):
        return value
    return "text" if isinstance(value, str) else "figure"


def figures(value: Any, path: str = "") -> dict[str, float]:
    """All figures of a result by their path."""
    if isinstance(value, dict):
        return {key: leaf for name, part in value.items() for key, leaf in figures(part, f"{path}.{name}").items()}
    if isinstance(value, list):
        return {key: leaf for i, part in enumerate(value) for key, leaf in figures(part, f"{path}[{i}]").items()}
    return {path: float(value)} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


@pytest.mark.parametrize("name", READABLE)
def test_other_numbers_give_the_same_structure(name: str) -> None:
    text = without_comments(TEXTS[name])
    factor = random.Random(name).choice((2, 3))
    before, after = read(text.encode()), read(scaled(text, factor).encode())
    assert after.kind == before.kind
    assert shape(after.values) == shape(before.values)


@pytest.mark.parametrize(
    "name", [name for name in READABLE if EXPECTED[name]["kind"] in ("load_log", "server_log", "batched_bench", "sweep_bench")]
)
def test_printed_figures_follow_the_text(name: str) -> None:
    text = without_comments(TEXTS[name])
    printed = {float(number): float(scaled(number, 2)) for number in NUMBER.findall(text)}
    before, after = figures(read(text.encode()).values), figures(read(scaled(text, 2).encode()).values)
    followed = [
        path for path, value in before.items() if value > 10 and printed.get(value, value) != value and after.get(path) == printed[value]
    ]
    stuck = [path for path, value in before.items() if value > 10 and printed.get(value, value) != value and after.get(path) == value]
    assert stuck == []
    assert followed


@pytest.mark.parametrize("prefix", sorted(PREFIXES))
@pytest.mark.parametrize("name", READABLE)
def test_a_prefix_before_every_line_changes_nothing(name: str, prefix: str) -> None:
    text = without_comments(TEXTS[name])
    wrapped = "".join(PREFIXES[prefix] + line for line in text.splitlines(keepends=True))
    plain, read_again = read(text.encode()), read(wrapped.encode())
    assert read_again.kind == plain.kind
    differing = {key for key in plain.values if read_again.values[key] != plain.values[key]}
    assert differing <= STAMPED
    assert read_again.warnings == plain.warnings


@pytest.mark.parametrize("name", [name for name in READABLE if EXPECTED[name]["kind"] in ("load_log", "server_log")])
def test_the_json_form_of_a_log_reads_as_its_text(name: str) -> None:
    lines = without_comments(TEXTS[name]).splitlines()
    wrapped = "".join(json.dumps({"type": "log", "time": i, "level": "info", "msg": line + "\n"}) + "\n" for i, line in enumerate(lines))
    plain, read_again = read("\n".join(lines).encode()), read(wrapped.encode())
    differing = {key for key in plain.values if read_again.values.get(key) != plain.values[key]}
    assert (read_again.kind, differing - STAMPED) == (plain.kind, set())


@pytest.mark.parametrize("ending", ["\r\n", "\r\r\n", "   \n", "\n\n", "\0\n"])
@pytest.mark.parametrize("name", READABLE)
def test_line_ends_and_padding_change_nothing(name: str, ending: str) -> None:
    text = without_comments(TEXTS[name])
    again = read(text.replace("\n", ending).encode())
    assert again.as_json() == read(text.encode()).as_json()


PROSE = (
    "Ich habe das heute gemessen, siehe unten (build lokal, 3 Versuche):\n",
    "Voici le journal complet, merci de votre aide.\n",
    "这是我的日志,加载失败了吗?速度只有 12 tok/s 左右。\n",
    "ログは次のとおりです。モデルは二回読み込まれます。\n",
    "Вот мой лог: скорость упала вдвое.\n",
    "로그를 첨부합니다. 초안 모델이 느립니다.\n",
    "هذا هو السجل الكامل، شكرا.\n",
    "यह मेरा लॉग है, गति आधी है।\n",
    "Ez a naplóm, a sebesség felére esett.\n",
    "Este es el registro; gracias de antemano (50% más lento).\n",
    "```console\n",
    "<details><summary>log</summary>\n",
)


@pytest.mark.parametrize("name", [name for name in READABLE if EXPECTED[name]["kind"] not in ("llama_bench",)])
def test_prose_around_a_log_changes_nothing(name: str) -> None:
    text = without_comments(TEXTS[name])
    again = read(("".join(PROSE) + "\n" + text + "\n" + "".join(PROSE)).encode())
    assert again.as_json() == read(text.encode()).as_json()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_other_wordings_stand_prefixes_too(name: str) -> None:
    text, kind, _ = SAMPLES[name]
    wrapped = "".join(PREFIXES["swap"] + PREFIXES["router"] + line for line in text.splitlines(keepends=True))
    again, plain = read(wrapped.encode()), read(text.encode())
    assert again.kind == kind
    assert {key for key in plain.values if again.values[key] != plain.values[key]} <= STAMPED
