"""The switch on the matrix: off by default; on, a table of its own with link, date, caveat and note, filterable; second-hand weaker."""

from __future__ import annotations

from core.services.house import House
from core.services.imports import import_files
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere
from core.ui.components.published_elsewhere import ends, styled, table_of
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words

COLUMNS = ["source", "published", "standing", "baseline tok/s", "speed-up as published", "speed-up worked out here", "caveat", "note"]


def test_off_by_default(open_page: OpenPage) -> None:
    at = open_page("matrix")
    assert not at.exception and at.toggle(key="published").value is False
    assert "single posts by volunteers" not in words(at)
    assert not any("source" in frame.value.columns for frame in at.dataframe)


def test_one_switch_shows_every_row_apart_from_the_lab_s_own(open_page: OpenPage, house: House) -> None:
    write_run(house)
    before = matrix_rows(house)
    at = open_page("matrix")
    figure = at.get("plotly_chart")[0].proto.spec
    at.toggle(key="published").set_value(True).run()
    assert not at.exception and "Transcribed, not measured here. Most of these are single posts by volunteers" in words(at)
    table = next(frame.value for frame in at.dataframe if "source" in frame.value.columns)
    assert len(table) == 436 and set(COLUMNS) <= set(table.columns)
    assert table["source"].str.match(r"https?://").all() and "436 of 436 rows" in words(at)
    assert at.get("plotly_chart")[0].proto.spec == figure and matrix_rows(house) == before


def test_filters_by_placement_and_draft_kind(open_page: OpenPage) -> None:
    at = open_page("matrix", published="true")
    at.selectbox(key="published-placement").select("moe-spill").run()
    table = next(frame.value for frame in at.dataframe if "source" in frame.value.columns)
    assert len(table) == 21 and table["placement"].str.startswith("moe-spill").all() and "21 of 436 rows" in words(at)
    at.selectbox(key="published-draft").select("not given").run()
    assert not at.exception and "0 of 436 rows" in words(at)
    at.selectbox(key="published-placement").select("all").run()
    assert "5 of 436 rows" in words(at)


def test_shown_also_where_the_lab_has_no_row(open_page: OpenPage) -> None:
    at = open_page("matrix", published="true", provenance="imported")
    assert not at.exception and "No row fits these filters." in words(at) and "436 of 436 rows" in words(at)


def test_the_link_keeps_the_switch(open_page: OpenPage) -> None:
    at = open_page("matrix", published="true", **{"published-placement": "disk"})
    assert any("published=true&published-placement=disk" in str(code.value) for code in at.code)


def test_intervals_blanks_and_worked_out_ratios_as_texts(house: House) -> None:
    rows = {row["id"]: row for row in published_elsewhere(house)}
    line = table_of([rows["imp1462-01"]]).iloc[0]
    assert (line["baseline tok/s"], line["with drafts tok/s"], line["acceptance"]) == ("87.2–89.2", "80.1–83.3", "54.3–58.8%")
    assert (line["speed-up as published"], line["speed-up worked out here"]) == ("—?", "0.90–0.96×")
    empty = next(row for row in rows.values() if row["baseline_tok_s_min"] is None and row["n_max"] is None)
    line = table_of([empty]).iloc[0]
    assert (line["baseline tok/s"], line["n_max"], line["speed-up worked out here"]) == ("—?", "—?", "—?")
    assert ends({"x_min": 1.0, "x_max": 1.0}, "x") == "1" and len(table_of([])) == 0


def test_second_hand_rows_are_weaker(house: House) -> None:
    frame = table_of(published_elsewhere(house)[-1:] + published_elsewhere(house)[:1])
    html = styled(frame).to_html()
    assert frame["standing"].tolist() == ["second-hand", "from the source"] and html.count("font-style: italic") == 1


def test_imports_and_published_rows_never_mix(open_page: OpenPage, house: House) -> None:
    published = published_elsewhere(house)
    import_files(house, [("x.txt", b"AGG accept=0.5 draft=100 acc=50 pred=120 wall=3.0\n")], who="Ada")
    assert published_elsewhere(house) == published
