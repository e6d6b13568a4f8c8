"""Checks on what the app itself hands to a host: a NUL would cut a path or an argument short without a word."""

from __future__ import annotations

from core.errors import InvalidInput


def check_path(path: str) -> None:
    """A non-empty path without NUL."""
    if not path or "\0" in path:
        raise InvalidInput({"path": "A path that is not empty and holds no NUL character."})


def check_argv(argv: list[str]) -> None:
    """A list of texts with a program in front; a bare string would be split by somebody."""
    if isinstance(argv, str) or not argv or not argv[0]:
        raise InvalidInput({"argv": "A list of arguments, the program first."})
    if any("\0" in word for word in argv):
        raise InvalidInput({"argv": "Arguments hold no NUL character."})
