"""A kept raw log, a page at a time: literal search, numbered lines, cut where a line has no end."""

from __future__ import annotations

from dataclasses import dataclass

from core.services.access import authorize
from core.services.house import House
from core.services.runs import read_raw

LINES_A_PAGE = 200
LONGEST_LINE = 2000  # characters; the download has the whole


@dataclass(frozen=True)
class LogPage:
    """`lines`: (number from 1, text) of this page; `found`: lines that fit the search; `total`: lines of the file; pages count from 1."""

    lines: list[tuple[int, str]]
    found: int
    total: int
    page: int
    pages: int


def log_page(house: House, run_id: str, name: str, *, search: str = "", page: int | None = None) -> LogPage:
    """One page of a raw log; without a page the last one, where a log's end stands. Raises NotFound, OutputNotUnderstood."""
    authorize(house, "see", run_id)
    return page_of(read_raw(house, run_id, name), search=search, page=page)


def page_of(data: bytes, *, search: str = "", page: int | None = None) -> LogPage:
    """The same over bytes. The search is literal and ignores case; bytes that are no UTF-8 are shown as replacement signs."""
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    lines = lines[:-1] if lines and lines[-1] == "" else lines
    wanted = search.casefold()
    hits = [(at, line) for at, line in enumerate(lines, 1) if not wanted or wanted in line.casefold()]
    pages = max(1, -(-len(hits) // LINES_A_PAGE))
    here = min(max(1, pages if page is None else page), pages)
    shown = hits[(here - 1) * LINES_A_PAGE : here * LINES_A_PAGE]
    return LogPage([(at, _cut(line)) for at, line in shown], len(hits), len(lines), here, pages)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} … ({len(line)} characters)"
