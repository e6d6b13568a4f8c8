"""Matrix: reference rows only, measured rows, filters, the click, the file."""

from __future__ import annotations

import csv
import io
import json

import pytest
from streamlit.testing.v1 import AppTest

from core.domain.spreadsheet import neutral
from core.services.house import House
from core.services.matrix import matrix_rows
from core.ui.components.figures import LEGEND
from core.ui.components.grid import csv_of, tied_with_best
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def links(at: AppTest) -> list[tuple[str, str]]:
    return [(link.proto.label.replace("\\", ""), link.proto.query_string.replace("~", "%7E")) for link in at.get("page_link")]


def test_reference_rows_are_shown_as_transcribed(open_page: OpenPage) -> None:
    at = open_page("matrix")
    assert not at.exception
    assert "transcribed, not measured here" in words(at).replace("\\", "")
    assert any("first position" in caption.value for caption in at.caption)
    assert LEGEND in words(at)


def test_every_cell_with_a_figure_is_reached_by_a_link(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, failed={3: "engine died"})
    at = open_page("matrix")
    reached = {query for _, query in links(at)}
    ids = [cell["cell_id"] for row in matrix_rows(house) for cell in row["cells"].values() if cell["cell_id"]]
    assert len(ids) == 15
    assert {f"cell={cell_id.replace('~', '%7E')}" for cell_id in ids} <= reached
    assert f"run={run_id}" in reached
    assert any("26.3 1.18× ▲ 88%" in label for label, _ in links(at))


def test_filters_leave_only_what_fits_and_an_empty_view_offers_a_way_on(open_page: OpenPage, house: House) -> None:
    write_run(house)
    at = open_page("matrix", provenance="measured")
    assert "transcribed, not measured" not in words(at)
    at = open_page("matrix", provenance="imported")
    assert not at.exception and "No row fits these filters." in words(at)


def test_a_click_on_a_tile_opens_its_receipt(open_page: OpenPage) -> None:
    at = open_page("matrix")
    point = {"x": 1, "y": 2, "customdata": ["published~deepseek-q8-14~1", "hover"], "point_index": 9, "curve_number": 2}
    at.session_state["matrix-chart"] = {"selection": {"points": [point], "point_indices": [9], "box": [], "lasso": []}}
    at.run()
    assert not at.exception and at.title[0].value == "Receipt"


def test_the_figure_hides_no_losing_cell_and_escapes_names(open_page: OpenPage, house: House) -> None:
    write_run(house, model="<b>evil</b>")
    figure = json.loads(open_page("matrix").get("plotly_chart")[0].proto.spec)
    texts = " ".join(figure["data"][1]["text"])
    assert "0.85× ▼" in texts and "1.18× ▲" in texts
    labels = " ".join(note["text"] for note in figure["layout"]["annotations"])
    assert "&lt;b&gt;evil" in labels and "<b>evil" not in labels


def test_ties_share_the_best_and_the_smaller_n_wins(house: House) -> None:
    write_run(house, rates={0: [50.0, 51, 52], 1: [90.0, 91, 92], 2: [91.5, 92.5, 93.5]})
    row = matrix_rows(house, provenance="measured")[0]
    assert tied_with_best(row) == ("1", {"1", "2"})


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_the_file_runs_no_formula(house: House, text: str) -> None:
    assert neutral(text) == f"'{text}" and neutral(-1.5) == -1.5
    write_run(house, model=text)
    rows = list(csv.DictReader(io.StringIO(csv_of(matrix_rows(house, provenance="measured")).decode())))
    assert rows[0]["model"] == f"'{text}" and float(rows[1]["tok_s"]) == 26.3
