"""What a person types into the price explorer: worked values, every bad input in its own field, what-ifs as assumptions."""

import pytest

from core.domain.explorer import EXAMPLE, explore, parsed, what_if

Q8 = {"h": "45.05", "n": "3", "a": "3.34", "v": "177.66"}


def test_the_example_is_the_worked_row():
    found = explore(EXAMPLE)
    assert not found.problems and round(found.price.speedup, 3) == 1.185 and round(found.needed_share, 3) == 0.688


@pytest.mark.parametrize(
    "row, s, needed",
    [
        ({"h": "51.81", "n": "3", "a": "3.46", "v": "208.43"}, 0.860, 1.008),
        ({"h": "45.05", "n": "2", "a": "2.78", "v": "128.70"}, 0.973, 0.929),
        (Q8, 0.847, 0.981),
        ({"h": "42,55 ms", "n": "1", "a": "2", "spec": "30.5 tok/s"}, 1.298, 0.541),
        ({"h": "42.55", "n": "2", "a": "2.86", "d": "15.32", "v": "100"}, 1.055, 0.855),
    ],
)
def test_worked_rows_by_their_parts(row, s, needed):
    found = explore(row)
    assert (
        not found.problems and found.price.speedup == pytest.approx(s, abs=6e-4) and found.needed_share == pytest.approx(needed, abs=1e-3)
    )


BAD = ["0", "-3", "nan", "inf", "-inf", "abc", "1e99", "=1+1", "<b>1</b>", "1_0", "1" * 500]


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("name", ["h", "v", "spec", "wv"])
def test_a_bad_figure_is_named_in_its_own_field(name, text):
    found = explore({**Q8, name: text})
    assert set(found.problems) == {name} and (found.price is None) is (name != "wv"), "a bad what-if leaves the price standing"
    assert len(text) < 3 or text not in found.problems[name]


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("n", "0", "at least 1"),
        ("n", "1.5", "whole number"),
        ("n", "65", "at most 64"),
        ("n", "", "Is needed"),
        ("h", " ", "Is needed"),
        ("a", "4.01", "at most 4 tokens"),
        ("a", "0.99", "at least 1"),
        ("d", "-1", "at least 0"),
        ("wa", "101", "at most 100%"),
        ("wa", "-1", "at least 0%"),
        ("wa", "nan", "no number"),
        ("spec", "99", "already make 18.8 tok/s"),
    ],
)
def test_every_field_has_its_sentence(name, text, words):
    assert words in explore({**Q8, name: text}).problems[name]


def test_all_problems_come_at_once():
    assert set(explore({"h": "0", "n": "0", "a": "x", "v": "-1"}).problems) == {"h", "n", "a", "v"}


def test_contradictions_are_named_where_they_stand():
    assert "1 to 4" in explore({"h": "45", "n": "3", "v": "300", "spec": "20"}).problems["spec"]
    assert "cannot be together" in explore({"h": "45", "n": "1", "a": "2", "d": "500", "spec": "26"}).problems["d"]


def test_what_is_left_empty_stays_unknown():
    bounds = explore({"h": "37.04", "n": "3", "spec": "59.3"})
    assert bounds.price.a is None and round(bounds.price.a_min, 2) == 2.20 and bounds.needed_share is None
    cost_only = explore({"h": "45", "n": "1", "v": "76"})
    assert cost_only.price is None and round(cost_only.needed_share, 3) == 0.689 and not cost_only.problems
    assert explore({"h": "45", "n": "1"}).price is None
    solved = explore({"h": "45.05", "n": "1", "v": "76.05", "spec": "26.3"})
    assert round(solved.price.a, 2) == 2.00


def test_a_what_if_is_an_assumption_over_the_rest():
    found = what_if(explore({**Q8, "wa": "100"}))
    assert round(found.speedup, 3) == round(4 * 45.05 / 177.66, 3) and found.assumed == ("100% accepted",)
    found = what_if(explore({**Q8, "wv": "120"}))
    assert round(found.speedup, 3) == round(3.34 * 45.05 / 120, 3) and found.assumed == ("V = 120.0 ms",) and found.a == 3.34
    found = what_if(explore({"h": "45", "n": "2", "wa": "80", "wv": "90"}))
    assert round(found.speedup, 3) == 1.3 and len(found.assumed) == 2
    assert what_if(explore(Q8)) is None and what_if(explore({"h": "45", "n": "2", "wa": "80"})) is None


@pytest.mark.parametrize("text, value", [("45.05", 45.05), ("45,05", 45.05), ("1e2", 100.0), ("1,000.5", None), ("٣", 3.0), ("", None)])
def test_numbers_as_people_write_them(text, value):
    assert parsed(text) == value
