"""A raw log by the page: literal search, the end first, bytes that are no text, lines without an end; and files no spreadsheet runs."""

import pytest

from core.domain.spreadsheet import csv_bytes, neutral
from core.services.raw_logs import LINES_A_PAGE, LONGEST_LINE, page_of

DATA = "\n".join(f"line {at}" for at in range(1, 451)).encode()


def test_without_a_page_the_end_is_shown():
    found = page_of(DATA)
    assert (found.page, found.pages, found.total, found.found) == (3, 3, 450, 450)
    assert found.lines[0] == (401, "line 401") and found.lines[-1] == (450, "line 450")


@pytest.mark.parametrize("page, first", [(1, 1), (2, 201), (0, 1), (-7, 1), (99, 401)])
def test_pages_stay_within_the_file(page, first):
    assert page_of(DATA, page=page).lines[0][0] == first and len(page_of(DATA, page=page).lines) <= LINES_A_PAGE


@pytest.mark.parametrize("search, hits", [("LINE 45", 2), (".*", 0), ("(", 0), ("\\", 0), ("line 450", 1)])
def test_the_search_is_literal_and_ignores_case(search, hits):
    found = page_of(DATA, search=search)
    assert found.found == hits and found.total == 450 and all(search.casefold() in line for _, line in found.lines)


def test_odd_bytes_and_endless_lines_are_shown_not_refused():
    found = page_of(b"a\xff\xfeb\r\n" + b"x" * 10_000 + b"\n")
    assert (
        found.lines[0] == (1, "a\ufffd\ufffdb") and len(found.lines[1][1]) < LONGEST_LINE + 40 and "10000 characters" in found.lines[1][1]
    )
    assert page_of(b"").lines == [] and page_of(b"").pages == 1


def test_formulas_are_put_out_of_action():
    assert [neutral(text) for text in ("=1", " =1", "\n=1", "-", "a=1", -1.5, None)] == ["'=1", "' =1", "'\n'=1", "'-", "a=1", -1.5, None]
    assert csv_bytes(["a", "b"], [["=x", 1.5]]) == b"a,b\r\n'=x,1.5\r\n"
