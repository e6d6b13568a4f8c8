"""Doors of `/api/v1` to the house itself: export, backup, doctor, reap, people. None takes a path: files lie where the house keeps them."""

from __future__ import annotations

from core.api.door import Answer, ApiDoor, Call, Download
from core.api.orders import DoctorOrder, ReapOrder
from core.domain.forms import checked
from core.domain.people import PersonForm
from core.services.export_archive import TOP, export_archive
from core.services.house import House
from core.services.housekeeping import do_request
from core.services.people import list_people, set_person


def _export(house: House, call: Call) -> Download:
    answer = Download(f"{TOP}.zip", "application/zip")
    export_archive(house, answer.made)
    return answer


def _backup(house: House, call: Call) -> Answer:
    return do_request(house, "backup", {})


def _doctor(house: House, call: Call) -> Answer:
    return do_request(house, "doctor", checked(DoctorOrder, call.body).model_dump())


def _reap(house: House, call: Call) -> Answer:
    run_id = checked(ReapOrder, call.body).run_id
    return do_request(house, "reap", {"box": call.path["box_id"], "run": run_id, "by": house.actor.name})


def _people(house: House, call: Call) -> Answer:
    return {"people": list_people(house)}


def _person(house: House, call: Call) -> Answer:
    return set_person(house, call.body)


_KEEP = "house.keep"
HOUSE_DOORS = (
    ApiDoor("GET", "/export", "export", "Everything as CSV, Parquet and JSON, with memos and the runbook, in one ZIP file.", _export,
            gives="application/zip", is_heavy=True),
    ApiDoor("POST", "/backup", _KEEP, "Back the database up with its files, into the folder beside it.", _backup, is_heavy=True),
    ApiDoor("POST", "/doctor", _KEEP, "Look at app host, store, ledgers and boxes.", _doctor, body=DoctorOrder, is_heavy=True),
    ApiDoor("POST", "/boxes/{box_id}/reap", _KEEP, "End what a dead agent left on a box.", _reap, body=ReapOrder, is_heavy=True),
    ApiDoor("GET", "/people", "person.see", "People and their roles.", _people),
    ApiDoor("POST", "/people", "person.set", "Give a person a role, or disable them.", _person, body=PersonForm),
)  # fmt: skip
