"""A worksheet over a published row, as its page shows it: figures marked, nothing to run, keep closed, a reject possible."""

from __future__ import annotations

from core.services.house import House
from core.services.reference_sheets import propose_from_reference
from tests.pages.conftest import OpenPage, words


def test_its_page_shows_transcribed_figures_and_offers_no_run(open_page: OpenPage, house: House) -> None:
    propose_from_reference(house, "deepseek-q8-24", who="Ada", worksheet_id="w-ref1")
    at = open_page("worksheet", worksheet="w-ref1", person="Ada")
    assert not at.exception
    texts = [element.value for element in at.text]
    assert "16.6–16.6 (1)" in texts and "Suggestion: DISABLE" in texts
    assert "published~deepseek-q8-24~3" in {link.proto.query_string.replace("%7E", "~")[5:] for link in at.get("page_link")}
    assert "Run sweep" not in [button.label for button in at.button]
    assert "Transcribed figures: there is nothing to run here." in words(at)
    at.radio(key="decision-verdict").set_value("keep").run()
    assert at.button(key="read-decision").disabled
    at.radio(key="decision-verdict").set_value("reject").run()
    at.text_area(key="decision-reason").set_value("no draft can win").run()
    at.button(key="read-decision").click().run()
    at.button(key="sign-decision").click().run()
    assert not at.exception and house.store.decisions.all()[0]["action"] == "disable"
    for page, query in (("worksheets", {}), ("home", {}), ("ledger", {}), ("decision", {"entry": "1"}), ("runbook", {})):
        assert not open_page(page, **query).exception, page
