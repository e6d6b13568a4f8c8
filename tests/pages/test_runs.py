"""The list of runs: empty, filled, failing."""

from __future__ import annotations

from core.services.house import House
from core.ui.components.figures import literal
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def test_empty_offers_the_proposal(open_page: OpenPage) -> None:
    at = open_page("runs")
    assert "No run yet." in words(at)
    assert ["Propose a change" in link.proto.label for link in at.get("page_link")] == [True]


def test_every_run_is_a_door(open_page: OpenPage, house: House) -> None:
    first = write_run(house, title="<b>one</b>", model="made-moe")
    second = write_run(house, title="two", rates={}, failed={0: "x"}, state="failed")
    house.store.runs.set_state(second, note="The engine died.", problem={"title": "t", "message": "It broke: *why*", "hint": ""})
    at = open_page("runs")
    assert not at.exception
    doors = {link.proto.query_string: link.proto.label for link in at.get("page_link")}
    assert set(doors) == {f"run={first}", f"run={second}"}
    assert literal("<b>one</b>") in doors[f"run={first}"]
    assert "It broke: *why*" in [element.value for element in at.text]
    facts = next(one.value for one in at.caption if "moe" in one.value).replace("\\", "")
    assert facts.startswith("this machine · made-moe · ") and facts.endswith(" UTC · by Ada")


def test_fifty_a_page(open_page: OpenPage, house: House) -> None:
    for number in range(52):
        row = {"run_id": f"{number:032x}", "box_id": "gone", "worksheet_id": None, "title": f"t{number}", "request": {"model": "m"}}
        house.store.runs.insert({**row, "requested_by": "Ada", "created_at": house.clock.now(), "state": "lost"})
    at = open_page("runs")
    assert not at.exception
    assert len(at.get("page_link")) == 50


def test_a_closed_store_is_told(open_page: OpenPage, services, monkeypatch) -> None:
    from core.errors import StoreError
    from core.store.runs import DuckRuns

    def broken(self, **_):
        raise StoreError("The file is gone.", hint="Look for it.")

    monkeypatch.setattr(DuckRuns, "find", broken)
    at = open_page("runs")
    assert "The file is gone." in words(at) and "Look for it." in words(at)
    assert not at.exception
