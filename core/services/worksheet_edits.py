"""Working on one worksheet together: history, what waits to be merged, comments."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import StringConstraints

from core.domain.forms import Name, Record, checked
from core.domain.revisions import current, history, place_of, to_merge
from core.errors import InvalidInput, NotFound
from core.services.access import authorize
from core.services.house import House
from core.services.worksheets import add_entry, get_worksheet, type_text

THEIRS, MINE = "theirs", "mine"


class Comment(Record):
    """A remark on the worksheet as a whole: literal text, with the writer's name."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
    by: Name


def worksheet_history(house: House, worksheet_id: str) -> list[dict[str, Any]]:
    """Every revision, newest first (see `history`)."""
    authorize(house, "see", worksheet_id)
    get_worksheet(house, worksheet_id)
    return history(house.store.worksheets.entries(worksheet_id))


def waiting_to_merge(house: House, worksheet_id: str, *, who: str) -> list[dict[str, Any]]:
    """What `who` typed while somebody else saved: {mine, theirs, base} by field (see `to_merge`)."""
    authorize(house, "see", worksheet_id)
    return to_merge(house.store.worksheets.entries(worksheet_id), who)


def merge(house: House, worksheet_id: str, entry: int, how: str, *, by: str, seen: int, text: str = "") -> dict[str, Any]:
    """Ends a merge: `theirs`, `mine` or, with `how` “text”, the text given. Every version stays in the history.

    `seen`: number of their entry as it was shown. Returns the new entry; where yet another value came
    meanwhile it is set aside again. Raises NotFound, InvalidInput, DecisionRefused.
    """
    authorize(house, "work.type", worksheet_id, signed=by)
    waiting = {one["mine"]["entry"]: one for one in waiting_to_merge(house, worksheet_id, who=by)}
    if entry not in waiting:
        raise NotFound("text of yours to merge", str(entry), [str(number) for number in waiting])
    one = waiting[entry]
    field, side = place_of(one["mine"])
    if how in (THEIRS, MINE):
        return add_entry(house, worksheet_id, field, side, one[how]["value"], by=by, over=seen)
    if not isinstance(one["mine"]["value"], str):
        raise InvalidInput({"text": "merges texts only; keep theirs or yours, then change what is left."})
    return type_text(house, worksheet_id, field, side, text, by=by, over=seen)


def entry_standing(house: House, worksheet_id: str, field: str, side: str) -> dict[str, Any] | None:
    """The entry that counts for a field and side, None where nothing was typed."""
    authorize(house, "see", worksheet_id)
    return current(house.store.worksheets.entries(worksheet_id)).get((field, side))


def comment(house: House, worksheet_id: str, text: str, *, by: str) -> None:
    """Adds a comment; possible on decided worksheets too. Raises InvalidInput, NotFound."""
    authorize(house, "work.comment", worksheet_id, signed=by)
    get_worksheet(house, worksheet_id)
    found = checked(Comment, {"text": text, "by": by})
    row = {"worksheet_id": worksheet_id, "text": found.text, "written_by": found.by, "noted_at": house.clock.now()}
    house.store.worksheets.add_comment(row)


def comments_of(house: House, worksheet_id: str) -> list[dict[str, Any]]:
    """Comments, oldest first: {text, written_by, noted_at}."""
    authorize(house, "see", worksheet_id)
    return house.store.worksheets.comments(worksheet_id)
