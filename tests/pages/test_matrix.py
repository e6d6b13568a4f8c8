"""Matrix: reference rows only, measured rows, filters in the address, the click, the table of links."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pandas as pd
from streamlit.testing.v1 import AppTest

from core.charts.matrix import fill_of
from core.services.house import House
from core.services.matrix import matrix_rows
from core.ui.components.figures import LEGEND
from core.ui.components.grid import ROWS_AT_ONCE
from tests.fakes.measured_run import START, write_run
from tests.pages.conftest import OpenPage, cells, words


def table(at: AppTest) -> pd.DataFrame:
    """The table under the figure, as Markdown texts."""
    return at.table[0].value


def plain(at: AppTest) -> str:
    """The table's words without escapes."""
    return re.sub(r"\\(.)", r"\1", cells(table(at)))


def test_reference_rows_are_shown_as_transcribed(open_page: OpenPage) -> None:
    at = open_page("matrix")
    assert not at.exception
    assert "transcribed, not measured here" in plain(at)
    assert any("first position" in caption.value for caption in at.caption)
    assert LEGEND in words(at)


def test_every_cell_with_a_figure_is_reached_by_a_link(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, failed={3: "engine died"})
    at = open_page("matrix")
    ids = [cell["cell_id"] for row in matrix_rows(house) for cell in row["cells"].values() if cell["cell_id"]]
    reached = set(re.findall(r"\]\(/receipt\?cell=([^)]+)\)", "\n".join(str(text) for text in table(at).to_numpy().ravel())))
    assert len(ids) == 15 and reached == set(ids)
    assert f"(/run?run={run_id})" in "\n".join(table(at)["from"])
    assert "26.3 tok/s · 26.1–26.5 (3) · 1.18× ▲ · acceptance 88% of" in plain(at)
    assert "✕ failed: engine died" in plain(at)
    assert "n=1 pays; 0.97× at n=2: a step commits 2.5 tokens" in plain(at)
    published = "n=1 pays; 0.85× at n=3: a step commits 3.3 tokens and costs 3.9 plain steps; n=2 loses: 0.97× at n=2"
    assert published in plain(at), "every losing cell has its line"


def test_filters_leave_only_what_fits_and_an_empty_view_offers_a_way_on(open_page: OpenPage, house: House) -> None:
    write_run(house)
    at = open_page("matrix", provenance="measured", c="1", workload=sorted(house.workloads)[0], age="7 days")
    assert len(table(at)) == 1 and "transcribed, not measured" not in plain(at)
    at = open_page("matrix", provenance="imported")
    assert not at.exception and "No row fits these filters." in words(at)


def test_an_unknown_value_in_the_address_is_ignored_and_said(open_page: OpenPage, house: House) -> None:
    write_run(house)
    at = open_page("matrix", build="b999 <b>", c="nonsense", model="made-dense")
    said = re.sub(r"\\(.)", r"\1", words(at)).replace("\u2060", "")
    assert not at.exception and "engine build “b999 <b>” and streams (c) “nonsense”, which no row has: ignored" in said
    assert len(table(at)) == 1, "the known value of the same address holds"


def test_a_long_matrix_comes_in_pages_and_the_address_names_the_page(open_page: OpenPage, house: House) -> None:
    for number in range(ROWS_AT_ONCE + 2):
        write_run(house, model=f"model {number:02}", rates={0: [10.0, 10.1, 10.2]})
    first = open_page("matrix", provenance="measured")
    assert len(table(first)) == ROWS_AT_ONCE and "Rows 1 to 25 of 27" in words(first)
    second = open_page("matrix", provenance="measured", page="2")
    assert len(table(second)) == 2 and not set(table(first).index) & set(table(second).index)


def test_a_click_on_a_tile_opens_its_receipt(open_page: OpenPage) -> None:
    at = open_page("matrix")
    point = {"x": 1, "y": 2, "customdata": ["published~deepseek-q8-14~1", "hover"], "point_index": 9, "curve_number": 2}
    at.session_state["matrix-chart"] = {"selection": {"points": [point], "point_indices": [9], "box": [], "lasso": []}}
    at.run()
    assert not at.exception and at.title[0].value == "Receipt"


def test_the_figure_hides_no_losing_cell_and_escapes_names(open_page: OpenPage, house: House) -> None:
    write_run(house, model="<b>evil</b>" + "x" * 300)
    figure = json.loads(open_page("matrix").get("plotly_chart")[0].proto.spec)
    texts = " ".join(figure["data"][1]["text"])
    assert "0.85× ▼" in texts and "1.18× ▲" in texts and "26.1–26.5 (3)" in texts
    labels = " ".join(figure["data"][2]["text"])
    assert "&lt;b&gt;evil" in labels and "<b>evil" not in labels and "no draft can win at n=3: it would need 101%" in labels
    assert "▲ pays at n_max 1: 1.18×" in labels and "▼ does not pay" in labels


def test_the_rows_are_counted_by_what_they_come_to(open_page: OpenPage, house: House) -> None:
    write_run(house, model="level", rates={0: [20.0, 21.0, 22.0], 1: [20.5, 21.5, 22.5]})
    write_run(house, model="open", rates={0: [20.0, 21.0, 22.0]})
    write_run(house, model="old", created_at=START - timedelta(days=400))
    counts = next(one.value for one in open_page("matrix").markdown if "badge" in one.value)
    for said in ("▲ 4 bets pay", "▼ 1 bet does not pay", "= 1 bet shows no difference", "○ 1 row is open", "◷ 1 of them stale"):
        assert said in counts


def test_a_stale_row_says_why_in_full_and_its_tiles_fade(open_page: OpenPage, house: House) -> None:
    write_run(house, model="old", created_at=START - timedelta(days=400))
    figure = json.loads(open_page("matrix", provenance="measured").get("plotly_chart")[0].proto.spec)
    label = figure["data"][2]["text"][0]
    assert "◷ stale: measured 40" in label and "…" not in label
    faded, full = figure["data"][0]["marker"]["color"][1], "rgb({},{},{})".format(*fill_of(26.3 / 22.2, dark=False))
    assert faded.startswith("rgb(") and faded != full


def test_tiles_that_tie_share_the_shade_of_the_best(open_page: OpenPage, house: House) -> None:
    write_run(house, rates={0: [50.0, 51, 52], 1: [90.0, 91, 92], 2: [91.5, 92.5, 93.5]})
    write_run(house, model="made-moe", rates={0: [50.0, 51, 52], 1: [50.5, 51.5, 52.5]})
    figure = json.loads(open_page("matrix", provenance="measured", sort="newest first").get("plotly_chart")[0].proto.spec)
    shades = figure["data"][0]["marker"]["color"]
    assert sorted([shades[1] == shades[2], shades[4 + 1] == shades[4 + 2]]) == [False, True]
    assert "rgb({},{},{})".format(*fill_of(1.0, dark=False)) in (shades[1], shades[5]), "a tie with off is neutral"


def test_blanks_of_every_kind_look_different(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [20.0, 20.1, 20.2], 1: [26.0, 0.0, 26.2], 2: [21.0, 21.1, 21.2]}, failed={3: "out of memory"})
    for sample in house.store.cells.samples(run_id, n_max=2):
        house.store.cells.exclude({"run_id": run_id, "seq": sample["seq"], "reason": "fan", "who": "Ada", "noted_at": sample["noted_at"]})
    at = open_page("matrix", provenance="measured")
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    signs = [re.search(r"<b>(.*?)</b>", text)[1] for text in figure["data"][1]["text"]]
    assert signs == ["20.1", "⚠", "▨", "✕"]
    assert figure["data"][0]["marker"]["pattern"]["shape"] == ["", "", "/", ""], "excluded ones are hatched"
    assert "⚠ invalid: 0.0 tok/s is no speed" in plain(at) and "✕ failed: out of memory" in plain(at)


def test_an_acceptance_above_all_is_shown_as_invalid_with_its_source(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    with house.store.cells._db.tx() as cursor:  # type: ignore[attr-defined]
        cursor.execute("UPDATE samples SET accepted = drafted + 10 WHERE run_id = ? AND n_max = 1", [run_id])
    at = open_page("matrix", provenance="measured")
    assert "1.18× ▲ · acceptance ⚠ invalid: " in plain(at) and "acceptance above 100%" in plain(at) and f"(run {run_id})" in plain(at)


def test_the_law_is_drawn_as_an_observation_with_own_and_published_points_apart(open_page: OpenPage, house: House) -> None:
    write_run(house)
    at = open_page("matrix", curves="Speed-up against spill")
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    points = {
        (trace["name"], trace["marker"]["symbol"][place], trace["x"][place], round(trace["y"][place], 2))
        for trace in figure["data"]
        if trace["xaxis"] == "x2"
        for place in range(len(trace["x"]))
    }
    published = {(0, 2.2, 3), (24, 0.86, 3), (14, 1.18, 1), (14, 0.97, 2), (14, 0.85, 3), (10, 1.3, 1), (10, 1.06, 2)}
    own = {("n_max 1", "circle", 14.0, 1.18), ("n_max 2", "circle", 14.0, 0.97)}
    assert points == {(f"n_max {n}", "square-open", float(x), y) for x, y, n in published} | own
    assert "observation" in words(at)
