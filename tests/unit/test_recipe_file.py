"""The recipe file: read back to the very recipe, and every bad file told by line or key."""

from __future__ import annotations

import tomllib

import pytest

from core.domain.recipe import digest, recipe_of, with_blanks, without_blanks
from core.errors import InvalidInput
from core.formats.recipe_file import LIMIT, file_name, read_recipe, write_recipe

RECIPE = recipe_of(
    engine={"kind": "llama.cpp", "build": None, "commit": "ab\"c\\ \n\u0007 ü'''"}, artifact_sha256="ab" * 32,
    placement={"state": "spilled", "host_mib": 9000.0, "host_share": None, "n_cpu_moe": 14, "label": 'a "quoted" place'},
    asked={"context": 4096, "sampling": {"temperature": 0, "top_p": 1e-07}, "n_gpu_layers": None}, n_max=2, slots=4,
)  # fmt: skip
SWEEP = {"title": "MTP", "model": "made-dense", "n_max": 3, "budget_min": None, "also_c": [2, 8]}


def text_of(**changes):
    return write_recipe(
        sweep=SWEEP, recipe=RECIPE, argv=["/opt/llama-server", "--api-key", "***"], measured={"tok_s": 26.3, "c": None}, **changes
    )


def test_what_is_written_reads_back_to_the_same_recipe_and_sweep():
    found = read_recipe(text_of().encode())
    assert found["recipe"] == RECIPE and digest(found["recipe"]) == found["recipe_id"] == digest(RECIPE)
    assert found["sweep"] == {key: value for key, value in SWEEP.items() if value is not None}
    whole = tomllib.loads(text_of())
    assert whole["command"]["argv"] == ["/opt/llama-server", "--api-key", "***"]
    assert whole["measured"] == {"tok_s": 26.3}


def test_blanks_are_taken_out_and_put_back_at_any_depth():
    body = {"a": None, "b": {"c": None, "d": {"e": None, "f": 0}}, "g": 1}
    kept, blanks = without_blanks(body)
    assert kept == {"b": {"d": {"f": 0}}, "g": 1} and with_blanks(kept, blanks) == body


@pytest.mark.parametrize(
    ("change", "key", "word"),
    [
        (lambda text: text.replace("n_max = 3", "n_max = = 3", 1), "recipe file", "line"),
        (lambda text: text.replace("format = 1", "format = 2"), "format", "has to be 1"),
        (lambda text: text.replace("n_cpu_moe = 14", "n_cpu_moe = 15"), "recipe", "changed after it was written"),
        (lambda text: text.replace("[sweep]", "[swept]"), "sweep", "needed"),
        (lambda text: text.replace("recipe_id", "recipe_ID", 1), "recipe_id", "needed"),
        (lambda text: text.replace('"draft_artifact"', '"placement.nowhere.deep"', 1), "unset", "places inside"),
        (lambda text: "", "format", "has to be 1"),
        (lambda text: "a = " + "[" * 5000, "recipe file", ""),
    ],
)
def test_a_bad_file_is_told_by_line_or_key(change, key, word):
    with pytest.raises(InvalidInput) as caught:
        read_recipe(change(text_of()).encode())
    assert set(caught.value.problems) == {key} and word in caught.value.problems[key]
    assert "Nothing was started" in caught.value.hint


def test_bytes_that_are_no_text_and_a_file_too_long_are_told():
    for data, word in ((b"\xff\xfe\x00", "UTF-8"), (b"#" * (LIMIT + 1), "KiB long")):
        with pytest.raises(InvalidInput, match=word):
            read_recipe(data)


def test_a_file_name_holds_nothing_a_file_system_minds():
    assert file_name("../made model/ü", 0, 2, "ab" * 32) == "recipe-..-made-model-ü-off-c2-abababab.toml"
