"""Scores out of a suite's output, and every way there can be none; the worksheet's words and gate over them."""

from __future__ import annotations

import pytest

from core.domain.box import Suite
from core.domain.forms import checked
from core.domain.suite_row import suite_gate, suite_words
from core.domain.suite_score import NoScore, rule_problem, score_of
from core.errors import InvalidInput

JSON = {"by": "json", "at": "summary.0.score"}
LINES = {"by": "regex", "at": r"passed +(\S+) of"}


@pytest.mark.parametrize(
    ("rule", "output", "code", "filed", "score"),
    [
        ({"by": "exit", "at": ""}, "", 0, None, 100.0),
        ({"by": "exit", "at": ""}, "", 1, None, 0.0),
        ({"by": "file", "at": ""}, "", 0, " 41.5\n", 41.5),
        (JSON, 'log line\n{"summary": [{"score": 7}]}\n', 0, None, 7.0),
        (JSON, '{"summary":\n [{"score": "62.5"}]}', 0, None, 62.5),
        (LINES, "passed 3 of 9\npassed 8 of 9\nbye", 0, None, 8.0),
    ],
)
def test_a_score_is_read_by_its_rule(rule, output, code, filed, score):
    assert score_of(rule, output, code, filed) == score


@pytest.mark.parametrize(
    ("rule", "output", "code", "filed", "why"),
    [
        ({"by": "exit", "at": ""}, "", 2, None, "exit code 2"),
        ({"by": "exit", "at": ""}, "", -9, None, "exit code -9"),
        ({"by": "file", "at": ""}, "", 0, None, "wrote no score file"),
        ({"by": "file", "at": ""}, "", 0, "nan", "no number"),
        (JSON, "", 0, None, "no JSON"),
        (JSON, "[" * 100_000, 0, None, "no JSON"),
        (JSON, '{"summary": []}', 0, None, "nothing at summary.0.score"),
        (JSON, '{"summary": [{"score": true}]}', 0, None, "no number"),
        (JSON, '{"summary": [{"score": 1e999}]}', 0, None, "no number"),
        (JSON, '{"summary": [{"score": 5}]}', 3, None, "exit code 3"),
        (LINES, "\x00\xff rubbish", 0, None, "No line"),
        (LINES, "passed all of", 0, None, "no number"),
    ],
)
def test_no_score_says_why_and_is_never_nought(rule, output, code, filed, why):
    with pytest.raises(NoScore, match=why):
        score_of(rule, output, code, filed)


@pytest.mark.parametrize(
    ("by", "at", "word"),
    [
        ("shell", "", "one of"),
        ("json", "", "path"),
        ("json", "a..b", "path"),
        ("regex", "(", "no pattern"),
        ("regex", "score", "one group"),
        ("regex", "(a)(b)", "one group"),
        ("regex", "((?:a+)+)$", "repeat"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_when_it_is_registered(by, at, word):
    assert word in rule_problem(by, at)


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"argv": []}, "argv"), ({"argv": [" "]}, "argv"), ({"limit_s": 0}, "limit_s"), ({"id": ""}, "id"), ({"at": "("}, "input")],
)
def test_a_suite_is_checked_field_by_field(changes, field):
    with pytest.raises(InvalidInput) as caught:
        checked(Suite, {"id": "s", "argv": ["/bin/true"], "by": "regex", "at": r"(\d+)", **changes})
    assert set(caught.value.problems) == {field}


def side(scores, *, reason="", band=10.0, suite="tools"):
    return [{"suite": suite, "scores": scores, "reason": reason, "band": band}]


def test_the_gate_takes_each_suite_s_own_band_and_two_runs_a_side():
    assert suite_gate(side([50.0, 54.0]), side([40.0, 47.0])) == ("pass", "")
    state, text = suite_gate(side([50.0, 54.0], band=5.0), side([40.0, 47.0]))
    assert state == "fail" and "has to reach 47" in text
    state, text = suite_gate(side([50.0, 54.0]), side([40.0], reason="It was not done after 9 s and was ended."))
    assert state == "missing" and "not done after 9 s" in text
    assert suite_gate(side([1.0, 1.0]), [])[0] == "missing"


def test_a_side_tells_scores_and_a_suite_without_one_tells_why():
    assert suite_words(side([40.0, 47.5])) == ("ok", "tools: 40, 47.5")
    assert suite_words(side([40.0]) + side([], suite="slow", reason="It hung.")) == ("failed", "tools: 40; slow: It hung.")
