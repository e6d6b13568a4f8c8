"""`worksheet`, `decide`, `verify-ledger`, `export` as a machine calls them: forms, exit codes, one JSON object."""

from __future__ import annotations

import json

import pytest

from core.__main__ import main
from core.bootstrap import build
from core.config import Settings
from core.services.worksheets import propose, type_suite
from tests.fakes.measured_run import write_run


@pytest.fixture
def core(tmp_path, monkeypatch, capsys):
    """`core("decide", …)` → (exit code, JSON), on one database; the local folder is a temporary one."""
    monkeypatch.setenv("DRAFTLEDGER_LOCAL_DIR", str(tmp_path / "local"))

    def call(*args):
        code = main([*args, "--db", str(tmp_path / "x.duckdb"), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def priced(tmp_path):
    """A worksheet with all gates passing, written before the command line opens the database."""
    services = build(Settings(db=tmp_path / "x.duckdb", local_dir=tmp_path / "local"))
    asked = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
    sheet = propose(services.house, {**asked, "production_c": 4}, who="Ada")
    write_run(services.house, worksheet_id=sheet, model="made-moe", production={1: [50, 51, 52], 0: [40, 41, 42]})
    for side in ("baseline", "candidate"):
        type_suite(services.house, sheet, side, {"suite": "tools", "scores": [50.0, 52.0]}, by="Bo")
    services.database.close()
    services.jobs.close()
    return sheet


def test_a_worksheet_from_new_to_reject(core):
    code, found = core("worksheet", "new", "--model", "made-moe", "--concurrency", "4", "--by", "Ada")
    assert code == 0 and found["title"] == "Turn on MTP for made-moe" and found["asked"]["production_c"] == 4
    sheet = found["worksheet_id"]
    assert {"name", "state", "to_pass"} <= set(found["gates"][0]) and found["gates"][0]["state"] == "missing"
    assert [row["key"] for row in found["fields"]][0] == "engine" and found["fields"][0]["candidate"]["state"] == "not_run"
    assert found["suggestion"]["action"] is None
    code, found = core("worksheet", "set", sheet, "suite", "baseline", "50, 52", "--suite", "tools", "--by", "Bo")
    field = next(row for row in found["fields"] if row["key"] == "suite")
    assert code == 0 and field["baseline"]["text"] == "tools: 50, 52" and field["baseline"]["typed_by"] == "Bo"
    assert core("worksheet", "set", sheet, "suite", "baseline", "fifty", "--suite", "t")[0] == 2
    assert core("worksheet", "set", sheet, "n_max", "candidate", "2")[0] == 2
    assert core("worksheet", "set", sheet, "n_max", "note", "=why?")[1]["fields"][3]["note"] == "=why?"
    assert core("worksheet", "show", "w-nothing")[0] == 2
    code, found = core("decide", sheet, "keep", "--owner", "Ada", "--reason", "now")
    assert code == 1 and set(found["error"]) == {"title", "message", "hint"} and "gates are open" in found["error"]["message"]
    code, found = core("decide", sheet, "reject", "--owner", "Ada", "--reason", "never measured", "--age-days", "30")
    assert (code, found["number"], found["verdict"], found["action"], found["details"]["age_days"]) == (0, 1, "reject", "not priced", 30)
    code, found = core("worksheet", "list")
    assert [(row["worksheet_id"], row["decision"]) for row in found["worksheets"]] == [(sheet, "reject")]
    code, found = core("decide", sheet, "withdraw", "--owner", "Ada", "--reason", "a box came")
    assert (code, found["verdict"], found["details"]["supersedes"]) == (0, "withdrawn", 1)
    assert core("decide", sheet, "withdraw", "--owner", "Ada", "--reason", "again")[0] == 1
    assert core("verify-ledger")[1]["entries"] == 2


def test_a_keep_that_was_seen_first(core, priced, tmp_path):
    code, shown = core("decide", priced, "keep", "--owner", "Ada", "--reason", "pays", "--show")
    assert code == 0 and shown["text"].startswith("Draftledger decision") and shown["against_suggestion"] is False
    assert core("decide", priced, "keep", "--owner", "Ada", "--reason", "pays", "--seen", "0" * 64)[0] == 1
    code, entry = core("decide", priced, "keep", "--owner", "Ada", "--reason", "pays", "--seen", shown["sha256"])
    assert (code, entry["details"]["signed_sha256"], entry["details"]["n_max"]) == (0, shown["sha256"], 1)
    code, found = core("export", str(tmp_path / "out"))
    assert code == 0 and found["ledger"]["ok"] and (tmp_path / "out" / "memos" / "decision-1.html").exists()
    assert core("export", str(tmp_path / "out"))[0] == 2
    assert core("verify-ledger", "--witness", str(tmp_path / "out" / "manifest.json"))[1]["proves"] == 1
    (tmp_path / "x.duckdb.d" / "decisions.jsonl").unlink()
    code, found = core("verify-ledger")
    assert code == 1 and set(found) >= {"ok", "entries", "first_bad", "why"} and found["ok"] is False
    assert core("verify-ledger", "--witness", str(tmp_path / "nowhere"))[0] == 2


@pytest.mark.parametrize(
    "args",
    [
        ("--owner", " ", "--reason", "x"), ("--owner", "Ada"), ("--owner", "Ada", "--reason", "r" * 20_000),
        ("--owner", "Ada", "--reason", "x", "--stale-when", "weather"), ("--owner", "Ada", "--reason", "x", "--age-days", "0"),
        ("--owner", "Ada", "--reason", "x", "--action", "keep"), ("--owner", "Ada", "--reason", "x", "--old-tok-s", "fast"),
        ("--reason", "x"),
    ],
)  # fmt: skip
def test_bad_words_are_exit_2(core, args):
    sheet = core("worksheet", "new", "--model", "made-moe")[1]["worksheet_id"]
    code, found = core("decide", sheet, "reject", *args)
    assert code == 2 and set(found["error"]) == {"title", "message", "hint"}
    assert core("verify-ledger")[1]["entries"] == 0


@pytest.mark.parametrize(("row", "action"), [("qwen-27b-q8", "widen"), ("deepseek-q3-10", "keep"), ("deepseek-q8-24", "disable")])
def test_the_worked_decisions_suggest_and_refuse_keep(core, row, action):
    found = core("worksheet", "new", "--reference", row)[1]
    assert found["suggestion"]["action"] == action
    code, refused = core("decide", found["worksheet_id"], "keep", "--owner", "Ada", "--reason", "as published")
    assert code == 1 and "The figures are transcribed" in refused["error"]["message"]


def test_worksheet_needs_no_part_to_list_and_names_a_wrong_one(core):
    assert core("worksheet") == (0, {"worksheets": []})
    assert core("worksheet", "paint")[0] == 2 and core("worksheet", "new")[0] == 2
