"""Build numbers and commits, in every spelling since 2023. Build 0 or 1: the packager did not set it, so the number is unknown."""

from __future__ import annotations

import re

from core.formats.numbers import count

_HASH = r"(?P<commit>[0-9a-f]{6,40})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"main: build = (?P<number>\d+) \({_HASH}\)",
        rf"version: \S{{1,40}} \(build (?P<number>\d+), commit {_HASH}\)",
        rf"version: (?P<number>\d+) \({_HASH}\)",
        rf"build: {_HASH} \((?P<number>\d+)\)",
        rf"build: (?P<number>\d+) \({_HASH}\)",
        rf"build_info:? *(?:= *)?\"?b(?P<number>\d+)-{_HASH}",
        rf"print_info: build (?P<number>\d+) \({_HASH}\)",
        rf"build=(?P<number>\d+) commit=\"{_HASH}\"",
        rf"\bbuild\"?[:=] ?(?P<number>\d+),? ?\"?commit\"?[:=] ?\"{_HASH}\"",
        rf"\bb(?P<number>\d{{3,6}})-{_HASH}\b",
        r"version: (?P<number>\d+) \((?P<commit>)\d+(?:\.\d+)+\)",  # a wheel's own version stands where the commit would
    )
)
LOOSEST = len(_FORMS) - 1  # the last spelling also stands in paths, so a second one is no second run


def build_of(line: str) -> tuple[int | None, str | None, int] | None:
    """(number, commit, which spelling) of one line; None where the line names no build."""
    for index, form in enumerate(_FORMS):
        found = form.search(line)
        if found:
            number = count(found["number"])
            return (number if number is not None and number > 1 else None), found["commit"] or None, index
    return None


def read_version(text: str) -> tuple[int | None, str | None]:
    """The first build named in `text` (a `--version` reply, a log): (build number or None, commit or None)."""
    for line in text.splitlines():
        build = build_of(line[:4096])
        if build is not None:
            return build[0], build[1]
    return None, None


def builds_in(lines: list[str]) -> list[dict[str, object]]:
    """Every build named, in order: `[{build_number, build_commit}]`."""
    found = (build_of(line[:4096]) for line in lines)
    return [{"build_number": build[0], "build_commit": build[1]} for build in found if build is not None]
