"""Payloads in every text that a person, a file, a model or a log can bring: Chromium shows them as text, no dialog opens, nothing runs."""

from __future__ import annotations

import itertools

import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.box import Box, Engine
from core.services.boxes import list_boxes
from core.services.decisions import decide
from core.services.imports import import_files
from core.services.people import set_person
from core.services.tokens import make_token
from core.services.worksheet_edits import comment
from core.services.worksheets import propose, type_text
from core.ui.menu import ENTRIES
from tests.browser.app_process import App
from tests.browser.steps import settled
from tests.fakes.measured_run import write_run
from tests.services.test_imports import PAIR

PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "<iframe src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<details open ontoggle=alert(1)>",
    "<body onpageshow=alert(1)>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "${alert(1)} {{alert(1)}} #{alert(1)}",
    "$\\href{javascript:alert(1)}{x}$",
    ":red[<img src=x onerror=alert(1)>]",
    "<style>@import'//evil.example/x.css'</style>",
    "\u202e<script>alert(1)</script>",
    "&lt;img src=x onerror=alert(1)&gt;",
]
LONG = "\n".join(PAYLOADS)
SHEET = "w-0badcafe"
LIVE = 'script,iframe,img[src="x"],a[href^="javascript" i],a[href^="data:" i],details[ontoggle],svg[onload]'
QUIET = {
    "price",
    "prefill",
    "concurrency",
    "suites",
    "coverage",
    "runbook",
    "health",
    "propose",
}  # they draw figures, or what others draw too


@pytest.fixture
def hostile(tmp_path):
    """An app whose every kind of row was written by somebody hostile."""
    running = App(tmp_path)
    services = build(Settings(db=running.database, local_dir=running.folder / "local"))
    house, name = services.house, itertools.cycle(one for one in PAYLOADS if one.isprintable())
    asked = {"box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 2}
    for number, payload in enumerate(PAYLOADS):
        title = "".join(ch for ch in payload if ch.isprintable())
        propose(house, {"title": title, **asked}, who=next(name), worksheet_id=f"w-{number:08x}")
    propose(house, {"title": " ".join(itertools.islice(name, 5))[:200], **asked}, who=next(name), worksheet_id=SHEET)
    run_id = write_run(house, model=next(name), title=" ".join(itertools.islice(name, 4)), worksheet_id=SHEET, state="done")
    for field, side in (("spill", "note"), ("failure_modes", "candidate"), ("fit", "baseline")):
        type_text(house, SHEET, field, side, LONG, by=next(name))
    comment(house, SHEET, LONG, by=next(name))
    decided = {"worksheet_id": "w-00000001", "verdict": "reject", "owner": next(name), "reason": LONG}
    decide(house, decided)
    import_files(
        house,
        [(f"{payload[:40]}.log".replace("/", "_"), PAIR.replace(b"\n", f" {payload}\n".encode(), 1)) for payload in PAYLOADS],
        who="Ada",
    )
    engine = {"id": LONG, "ok": True, "version_text": LONG, "help_text": "", "error": ""}
    model = {"name": LONG, "path": LONG, "size_bytes": 1, "mtime": 0, "error": LONG, "header": None}
    facts = {"python": LONG, "platform": LONG, "cpu_count": 1, "memory_mib": 1, "disk_free_mib": 1}
    report = {**facts, "engines": [engine], "models": [model], "gpus": {"state": "none", "why": LONG, "list": []}}
    house.store.boxes.put(
        Box(box_id="evil", name=next(name), kind="ssh", host="h", user="u", fingerprint=LONG, engines=[Engine(id="e", argv=["/e"])]),
        who=LONG,
        at=house.clock.now(),
    )
    house.store.boxes.add_check("evil", report, ok=True, at=house.clock.now())
    assert len(list_boxes(house)) == 2
    set_person(house, {"key": "https://id.example <script>alert(1)</script>", "name": next(name), "role": "viewer"})
    make_token(house, {"name": next(name), "role": "viewer"})
    cell = house.store.cells.of_run(run_id)[0]
    services.database.close()
    services.jobs.close()
    running.start()
    yield running, {"worksheet": SHEET, "run": run_id, "cell": cell.get("cell_id", f"{run_id}.{cell['n_max']}.{cell['c']}")}
    running.stop()


def test_no_dialog_no_script_and_no_live_element_on_any_page(hostile, page):
    app, ids = hostile
    dialogs, asked = [], set()
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.add(request.url))
    seen = 0
    for entry in [one for one in ENTRIES if one.name not in QUIET]:
        query = "&".join(f"{key}={value}" for key, value in ids.items())
        page.goto(f"{app.url}/{entry.name}?{query}")
        settled(page)
        for tab in page.get_by_role("tab").all():
            tab.click()
        for closed in page.locator("[data-testid='stExpander'] summary").all()[:6]:
            closed.click()
        settled(page)
        live = page.evaluate(
            "names => [...document.querySelectorAll(names)].filter(one => /alert|javascript|data:text/i.test(one.outerHTML))"
            ".map(one => one.outerHTML.slice(0, 200))",
            LIVE,
        )
        assert live == [], entry.name
        seen += "alert(1)" in page.get_by_test_id("stMain").inner_text()
    assert dialogs == []
    here = (app.url, f"ws://127.0.0.1:{app.port}", "data:", "blob:")
    assert {url for url in asked if not url.startswith(here)} == set(), "no request leaves this host"
    assert seen >= 8, "the payloads are there to be seen, as text"
