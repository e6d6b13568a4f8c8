"""The printed field worksheet: one page, everything from outside escaped, no script, no outside address."""

from __future__ import annotations

import re

from core.services.field_sheet import field_questions, field_sheet_html
from core.services.worksheets import propose, show_worksheet, type_suite
from tests.fakes.measured_run import write_run
from tests.services.conftest import REQUEST

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(1)> & "quoted"'


def test_hostile_words_are_text(house):
    sheet = propose(house, {**REQUEST, "title": HOSTILE}, who="Ada")
    type_suite(house, sheet, "baseline", {"suite": HOSTILE[:70], "scores": [50]}, by="Ada")
    page = field_sheet_html(house, show_worksheet(house, sheet))
    assert "<script" not in page and "<img" not in page and "&lt;script&gt;alert(1)" in page
    assert not re.search(r"<[^>]*(href|src)=|https?://", page)
    assert page.count("<h2>") == 7 and page.count("not answered yet") == 7


def test_the_losing_steps_stand_with_their_acceptance_and_a_failed_one_with_its_reason(house):
    sheet = propose(house, REQUEST, who="Ada")
    write_run(house, worksheet_id=sheet, failed={3: "out of memory"}, model="made-dense")
    questions = field_questions(show_worksheet(house, sheet))
    assert questions[3]["answers"] == [
        "n_max 1: 26.1–26.5 (3) tok/s, accepted 88% of 204 proposed",
        "n_max 2: 21.4–21.8 (3) tok/s, accepted 75% of 306 proposed",
        "n_max 3: failed, out of memory",
    ]
    assert [one["is_open"] for one in questions] == [False, False, False, False, True, False, False]
    assert questions[6]["answers"][-1] == "dominant cost: verify"
