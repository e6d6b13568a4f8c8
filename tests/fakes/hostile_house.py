"""Fills a house with payloads wherever a person, a file, a model, a log or a box can bring a text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from core.domain.box import Box, Engine, Suite
from core.services.boxes import list_boxes
from core.services.decisions import decide, withdraw
from core.services.house import House
from core.services.imports import import_files
from core.services.matrix import matrix_rows
from core.services.people import set_person
from core.services.suites import register_suite
from core.services.tokens import make_token
from core.services.worksheet_edits import comment
from core.services.worksheets import propose, type_suite, type_text
from tests.fakes.measured_run import write_run
from tests.services.test_imports import PAIR

SHEET = "w-0badcafe"
ASKED = {"box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 2}


def fill(house: House, payloads: list[str]) -> dict[str, str]:
    """Returns what to look at: {worksheet, run, cell, entry}. Each payload stands in some title, file and table; `long` texts hold all."""
    long = "\n".join(payloads)
    names = itertools.cycle(text for text in payloads if text.isprintable() and len(text) <= 80 and text.strip() == text)

    def name() -> str:
        return next(names)

    for number, payload in enumerate(payloads):
        title = "".join(ch for ch in payload if ch.isprintable()).strip()
        propose(house, {"title": title, **ASKED}, who=name(), worksheet_id=f"w-{number:08x}")
    propose(house, {"title": " ".join(name() for _ in range(5))[:200], **ASKED}, who=name(), worksheet_id=SHEET)
    run_id = write_run(house, model=name(), title=" ".join(name() for _ in range(4)), worksheet_id=SHEET, state="done", failed={3: long})
    for field, side in (("spill", "note"), ("failure_modes", "candidate"), ("fit", "baseline")):
        type_text(house, SHEET, field, side, long, by=name())
    type_suite(house, SHEET, "candidate", {"suite": name(), "scores": [50.0]}, by=name())
    comment(house, SHEET, long, by=name())
    _decide(house, long, name)
    _import(house, payloads)
    _boxes(house, long, names)
    set_person(house, {"key": f"https://id.example {name()}", "name": name(), "role": "viewer"})
    make_token(house, {"name": name(), "role": "viewer"})
    cell = next(row["cells"]["1"]["cell_id"] for row in matrix_rows(house) if row["run_id"] == run_id)
    return {"worksheet": SHEET, "run": run_id, "cell": cell, "entry": "1"}


def _decide(house: House, long: str, name: Callable[[], str]) -> None:
    old = {"label": name(), "fit": long[:2000], "failure_modes": long[:2000], "scores": [{"suite": name(), "score": 1.0}]}
    words = {"owner": name(), "reason": long[:2000], "against_why": long[:2000], "second": name(), "on_behalf_of": name()}
    try_first: dict[str, Any] = {"worksheet_id": SHEET, "verdict": "reject", **words}
    decide(house, {**try_first, "old": {key: value for key, value in old.items() if key != "scores"}})
    decide(house, {"worksheet_id": "w-00000001", "verdict": "reject", "owner": name(), "reason": long[:2000]})
    withdraw(house, {"number": 2, "owner": name(), "reason": long[:2000]})


def _import(house: House, payloads: list[str]) -> None:
    files = [
        (f"{payload[:40]}.log".replace("/", "_").replace("\0", ""), PAIR.replace(b"\n", f" {payload}\n".encode(), 1))
        for payload in payloads
    ]
    import_files(house, files, who="Ada")


def _boxes(house: House, long: str, names: Iterator[str]) -> None:
    engine = {"id": long, "ok": True, "version_text": long, "help_text": "", "error": ""}
    model = {"name": long, "path": long, "size_bytes": 1, "mtime": 0, "error": long, "header": None}
    facts = {"python": long, "platform": long, "cpu_count": 1, "memory_mib": 1, "disk_free_mib": 1}
    report = {**facts, "engines": [engine], "models": [model], "gpus": {"state": "none", "why": long, "list": []}}
    suite = Suite(id=next(names), argv=["/s", next(names)], by="regex", at="(x)" + next(names).replace("(", ".").replace(")", ".")[:40])
    evil = Box(
        box_id="evil", name=next(names), kind="ssh", host="h", user="u", key_path=next(names), fingerprint=long, jump=next(names),
        engines=[Engine(id=next(names), argv=[f"/e/{next(names)}"])], model_roots=[f"/m/{next(names)}"], suites=[suite],
    )  # fmt: skip
    house.store.boxes.put(evil, who=long, at=house.clock.now())
    register_suite(house, "evil", {"id": next(names), "argv": [f"/s/{next(names)}", "x"]}, who=next(names))
    house.store.boxes.add_check("evil", report, ok=True, at=house.clock.now())
    assert len(list_boxes(house)) == 2
