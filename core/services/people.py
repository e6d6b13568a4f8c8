"""People: who may do what, by issuer and subject; and the names that decisions and audit log hold, which can be erased. For admins.

Every change is kept and goes to the audit log, where people stand by their handles.
"""

from __future__ import annotations

from typing import Any

from core.domain.forms import checked
from core.domain.people import PersonForm
from core.errors import InvalidInput, NotFound
from core.services.access import authorize, record
from core.services.house import House


def list_people(house: House) -> list[dict[str, Any]]:
    """People by name: {key, name, role, is_disabled, who, noted_at}."""
    authorize(house, "person.see")
    return house.store.people.all()


def set_person(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """Gives a person a role, or disables them; counts at their next action. Raises InvalidInput."""
    authorize(house, "person.set")
    form = checked(PersonForm, values)
    if form.key == house.actor.key and (form.is_disabled or form.role != house.actor.role):
        raise InvalidInput({"role": "of your own cannot be changed by you."}, hint="Ask another admin, so that one always remains.")
    before = house.store.people.get(form.key)
    row = {**form.model_dump(), "who": house.actor.name or house.actor.key, "noted_at": house.clock.now()}
    house.store.people.put(row)
    record(
        house,
        "person.set",
        house.store.names.handle_of(form.key, form.name),
        role=form.role,
        is_disabled=form.is_disabled,
        role_before=before["role"] if before else None,
        was_disabled=before["is_disabled"] if before else None,
    )
    return row


def list_names(house: House) -> list[dict[str, Any]]:
    """Names that decisions, audit log and people list show, in their order: {name, subjects, handles}."""
    authorize(house, "person.see")
    found: dict[str, dict[str, Any]] = {}
    for one in house.store.names.all():
        row = found.setdefault(one.label, {"name": one.label, "subjects": [], "handles": []})
        row["handles"].append(one.handle)
        row["subjects"] += [one.subject] if one.subject else []
    return list(found.values())


def erase_name(house: House, name: str) -> int:
    """Takes a name, with issuer and subject, out of the side table for good; returns how many handles it stood behind.

    Decisions and audit log keep the handles, so their chains hold. The audit log says which handles, not whose. Raises NotFound.
    """
    authorize(house, "person.set")
    handles = [one.handle for one in house.store.names.all() if one.label == name]
    if not handles:
        raise NotFound("name", name)
    for handle in handles:
        house.store.names.erase(handle)
    record(house, "person.erase", ", ".join(handles)[:500], handles=len(handles))
    return len(handles)
