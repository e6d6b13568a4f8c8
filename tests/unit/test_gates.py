"""The three worked decisions come out of the rules on the published rows."""

import tomllib
from pathlib import Path

import pytest

from core.domain.gates import suggest_published

ROWS = {row["key"]: row for row in tomllib.loads(Path("data/reference/section-e.toml").read_text("utf-8"))["row"]}


def cells_of(key: str) -> dict[int, dict]:
    return {cell["n_max"]: {"tok_per_s": cell["tok_s"]} for cell in ROWS[key]["cells"]}


@pytest.mark.parametrize(
    "key, candidate, action, n_max",
    [
        ("qwen-27b-q8", 3, "widen", 3),
        ("deepseek-q3-10", 1, "keep", 1),
        ("deepseek-q8-24", 3, "disable", 0),
        ("deepseek-q8-14", 3, "narrow", 1),
    ],
)
def test_worked_decisions(key, candidate, action, n_max):
    found = suggest_published(cells_of(key), candidate)
    assert (found["action"], found["n_max"]) == (action, n_max)
