"""People: who may do what, by issuer and subject. For admins; every change is kept and goes to the audit log."""

from __future__ import annotations

from typing import Any

from core.domain.forms import checked
from core.domain.people import PersonForm
from core.errors import InvalidInput
from core.services.access import authorize, record
from core.services.house import House


def list_people(house: House) -> list[dict[str, Any]]:
    """People by name: {key, name, role, is_disabled, who, noted_at}."""
    authorize(house, "person.see")
    return house.store.people.all()


def set_person(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """Gives a person a role, or disables them; counts at their next action. Raises InvalidInput."""
    authorize(house, "person.set", str(values.get("key", ""))[:200])
    form = checked(PersonForm, values)
    if form.key == house.actor.key and (form.is_disabled or form.role != house.actor.role):
        raise InvalidInput({"role": "of your own cannot be changed by you."}, hint="Ask another admin, so that one always remains.")
    before = house.store.people.get(form.key)
    row = {**form.model_dump(), "who": house.actor.name or house.actor.key, "noted_at": house.clock.now()}
    house.store.people.put(row)
    record(
        house,
        "person.set",
        form.key,
        role=form.role,
        is_disabled=form.is_disabled,
        role_before=before["role"] if before else None,
        was_disabled=before["is_disabled"] if before else None,
    )
    return row
