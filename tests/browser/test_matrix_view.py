"""The matrix in a real browser: filter, link, the same view in a fresh one; a figure opens its receipt; the file holds what is shown."""

from __future__ import annotations

import csv
import io
import re

from playwright.sync_api import expect

from core.bootstrap import build
from core.config import Settings
from tests.browser.steps import choose, choose_filter, go, main_text, sees, settled
from tests.fakes.measured_run import write_run


def filled(app):
    """Two runs in the app's own database, written while it is down."""
    app.stop()
    services = build(Settings(db=app.database, local_dir=app.folder / "local"))
    run_id = write_run(services.house, failed={3: "out of memory"}, production={0: [60.0, 61, 62], 1: [70.0, 71, 72]})
    write_run(services.house, model="made-moe", rates={0: [30.0, 30.1, 30.2], 1: [24.0, 24.1, 24.2]})
    services.jobs.close()
    services.database.close()
    app.start()
    return run_id


def table_cells(page, count):
    """The real table under the figure, row by row, as a person reads it, once it has so many rows."""
    rows = page.locator("table").first.locator("tbody tr")
    expect(rows).to_have_count(count, timeout=60_000)
    return [[cell.inner_text().replace("\u2060", "") for cell in row.locator("th, td").all()] for row in rows.all()]


def test_filter_link_fresh_browser_receipt_and_download(app, page, browser, tmp_path):
    run_id = filled(app)
    go(page, f"{app.url}/matrix")
    assert len(table_cells(page, 7)) == 7
    choose_filter(page, "provenance", "measured")
    choose_filter(page, "c", "1")
    page.keyboard.press("Escape")
    choose(page, "sort", "most spill first")
    page.get_by_role("button", name="Copy link").click()
    link = page.get_by_test_id("stPopoverBody").locator("code").inner_text().strip()
    assert re.search(r"/matrix\?", link) and "provenance=measured" in link and "c=1" in link and "sort=most" in link
    page.keyboard.press("Escape")
    shown = table_cells(page, 2)
    rows = {row[0].split(" · ")[0]: row for row in shown}  # both as much spilled: a tie in this order
    assert "26.3 tok/s · 26.1–26.5 (3) · 1.18× ▲" in rows["made-dense"][2] and "✕ failed: out of memory" in rows["made-dense"][4]
    assert "0.80× ▼" in rows["made-moe"][2]

    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    download.value.save_as(tmp_path / "matrix.csv")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "matrix.csv").read_bytes().decode(), newline="")))
    assert len(lines) == 8, "two rows of four columns"
    for place, row in enumerate(shown):
        for column, text in enumerate(row[1:5]):
            line = lines[4 * place + column]
            figure = f"{float(line['tok_s']):.1f} tok/s" if line["tok_s"] else line["status"].replace("_", " ")
            gain = f"{float(line['speedup']):.2f}×" if line["speedup"] else ""
            assert figure in text and gain in text, (line, text)

    fresh = browser.new_context(viewport={"width": 1366, "height": 900})
    other = fresh.new_page()
    go(other, link)
    assert table_cells(other, 2) == shown
    sees(other, "Only: streams (c) 1 · provenance measured")
    with fresh.expect_page() as receipt:
        other.locator(f'td a[href*="{run_id}-1-1"]').focus()
        other.keyboard.press("Enter")
    settled(receipt.value)
    sees(receipt.value, "WINS 1.18×")
    fresh.close()

    tile = page.locator(".st-key-matrix-chart .nsewdrag")
    box = tile.bounding_box()
    middle = (2 * list(rows).index("made-dense") + 1.5) / 4  # two rows of the same height, the tiles in the lower half of each
    page.mouse.click(box["x"] + box["width"] * 3 / 8, box["y"] + box["height"] * middle)
    page.wait_for_url(re.compile(r"receipt\?cell="))
    settled(page)
    assert "WINS 1.18×" in main_text(page)
    go(page, f"{app.url}/matrix?build=b999&box=nowhere")
    sees(page, "which no row has: ignored")
    assert len(table_cells(page, 7)) == 7
