"""What the app puts into the store when it starts. A full disk keeps nobody out: the app goes on without, says so, and tries again."""

from __future__ import annotations

from collections.abc import Callable

from core.errors import StoreError
from core.services.access import authorize
from core.services.house import House

Parts = dict[str, Callable[[], None]]


def put_in(house: House, parts: Parts) -> None:
    """Does every part, by its name; what the store refuses stands in `house.unsaved` until a later call has saved it."""
    authorize(house, "house.keep")
    for name, part in parts.items():
        try:
            part()
            house.unsaved.pop(name, None)
        except StoreError as problem:
            house.unsaved[name] = problem


def unsaved(house: House) -> list[StoreError]:
    """What of the start is not saved yet, in words for everybody."""
    authorize(house, "see")
    return [
        StoreError(f"{name} could not be saved when the app started. {problem.message}", title=problem.title, hint=problem.hint)
        for name, problem in house.unsaved.items()
    ]
