"""Handles: what stands for a person in everything chained by hashes; the name lies beside it and can be erased without a broken chain."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

HANDLE = re.compile(r"person-[0-9a-f]{16}")
ERASED = "a person whose name was erased"
NOT_PEOPLE = frozenset((ERASED, "the app", "command line", "somebody", "first sign-in", ""))  # words that stand where a name may stand
# Keys of a decision, of its evidence and of a line in the audit log whose text is somebody's name.
NAMED = frozenset(("owner", "typed_by", "second", "on_behalf_of"))


def new_handle() -> str:
    """Random: nothing about the person can be read from it."""
    return f"person-{secrets.token_hex(8)}"


def with_handles(value: Any, handle_of: Callable[[str], str]) -> Any:
    """The same with a handle in the place of every name; a handle that stands there already stays."""
    if isinstance(value, list | tuple):
        return [with_handles(part, handle_of) for part in value]
    if not isinstance(value, dict):
        return value
    names = {value[key] for key in NAMED if isinstance(value.get(key), str)}
    found = {}
    for key, part in value.items():
        is_name = isinstance(part, str) and bool(part) and (key in NAMED or (key == "text" and part in names))
        found[key] = (part if HANDLE.fullmatch(part) else handle_of(part)) if is_name else with_handles(part, handle_of)
    return found


def with_names(value: Any, name_of: Callable[[str], str | None]) -> Any:
    """The same with the name, or that it was erased, in the place of every handle."""
    if isinstance(value, str):
        return HANDLE.sub(lambda found: name_of(found.group()) or ERASED, value)
    if isinstance(value, list | tuple):
        return [with_names(part, name_of) for part in value]
    return {key: with_names(part, name_of) for key, part in value.items()} if isinstance(value, dict) else value
