"""The command line as a machine calls it: forms, exit codes, one JSON object."""

import contextlib
import io
import json
import os
import subprocess
import sys
from unittest import mock

import pytest

from core.__main__ import main


def core(*args, **env):
    """A verb in this process: (exit code, the JSON object or the text)."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, env), contextlib.redirect_stdout(out):
        code = main(list(args))
    return code, json.loads(out.getvalue()) if "--json" in args else out.getvalue()


def as_process(*args, **env):
    """The same in a process of its own, as a machine calls it."""
    done = subprocess.run([sys.executable, "-m", "core", *args], capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout) if "--json" in args else done.stdout


def test_price_has_the_fixed_keys():
    code, found = core("price", "--baseline-tok-s", "22.2", "--spec-tok-s", "18.8", "--n-max", "3", "--accept-share", "0.78", "--json")
    assert code == 0 and found["verdict"] == "loses" and round(found["break_even_accept_share"], 3) == 0.981
    assert {
        "speedup",
        "a",
        "a_min",
        "a_max",
        "h_ms",
        "step_ms",
        "step_ms_max",
        "step_in_h",
        "d_ms",
        "v_ms",
        "break_even_accept_share",
        "parts",
        "dominant",
        "verdict",
        "note",
        "ledger",
    } == set(found)
    ledger = found["ledger"]
    assert round(ledger["needed_share"], 3) == 0.981 and ledger["got_share"] == pytest.approx(0.78) and ledger["can_win"] is True
    assert round(ledger["margin_ms"], 2) == -8.15 and [part["name"] for part in ledger["split"]] == [
        "best case",
        "acceptance",
        "verify+draft",
    ]
    assert "15% slower" in ledger["sentence"] and ledger["marginal"]["from_n"] == 0


@pytest.mark.parametrize("args", [("price", "--baseline-tok-s", "22", "--spec-tok-s", "18", "--n-max", "3", "--json"), ("price", "--json")])
def test_a_process_of_its_own_says_the_same(args):
    assert as_process(*args) == core(*args)


def test_price_without_acceptance_leaves_the_undecidable_null():
    code, found = core("price", "--baseline-tok-s", "27", "--spec-tok-s", "59.3", "--n-max", "3", "--json")
    assert code == 0 and [found[k] for k in ("a", "step_ms", "step_in_h", "break_even_accept_share", "parts", "dominant")] == [None] * 6
    assert round(found["ledger"]["needed_share_max"], 3) == 0.274 and round(found["ledger"]["got_share_min"], 3) == 0.399


@pytest.mark.parametrize(
    "args, word",
    [
        (("--baseline-tok-s", "nan", "--spec-tok-s", "1", "--n-max", "1"), "baseline_tok_s"),
        (("--baseline-tok-s", "1", "--spec-tok-s", "-4", "--n-max", "1"), "spec_tok_s"),
        (("--baseline-tok-s", "1", "--spec-tok-s", "1", "--n-max", "1.5"), "n_max"),
        (("--baseline-tok-s", "1", "--spec-tok-s", "1", "--n-max", "0"), "n_max"),
        (("--baseline-tok-s", "1", "--spec-tok-s", "1", "--n-max", "1", "--accept-share", "78"), "accept_share"),
        (
            (
                "--baseline-tok-s",
                "1",
            ),
            "arguments",
        ),
        (("--nonsense",), "arguments"),
    ],
)
def test_bad_input_is_exit_2_with_a_sentence(args, word):
    code, found = core("price", *args, "--json")
    assert code == 2 and word in found["error"]["message"] and set(found["error"]) == {"title", "message", "hint"}


def test_matrix_shows_the_reference_rows_on_a_new_database(tmp_path):
    code, found = core("matrix", "--db", str(tmp_path / "x.duckdb"), "--json", DRAFTLEDGER_LOCAL_DIR=str(tmp_path))
    assert code == 0 and len(found["rows"]) == 4
    row = next(row for row in found["rows"] if row["spill"]["layers"] == 14)
    assert round(row["cells"]["1"]["speedup"], 3) == 1.185 and row["cells"]["1"]["provenance"] == "transcribed"
    priced = row["cells"]["3"]["price"]
    assert (round(priced["step_ms"], 2), round(priced["step_in_h"], 2), priced["dominant"]) == (177.66, 3.94, "verify+draft")
    assert row["cells"]["1"]["accept_denominator"] == "first position" and set(row["cells"]) == {"off", "1", "2", "3"}
    qwen = found["rows"][0]["cells"]
    assert qwen["1"] == {**qwen["1"], "status": "not_run", "tok_s": None, "speedup": None} and qwen["3"]["accept_share"] is None
    assert core("matrix", "--db", str(tmp_path / "x.duckdb"), "--provenance", "measured", "--json")[1] == {"rows": []}


def test_matrix_takes_the_filters_of_the_page(tmp_path):
    def matrix(*filters):
        code, found = core("matrix", "--db", str(tmp_path / "x.duckdb"), *filters, "--json", DRAFTLEDGER_LOCAL_DIR=str(tmp_path))
        return code, [row["spill"]["layers"] for row in found["rows"]] if code == 0 else found["error"]["message"]

    assert matrix("--model", "DeepSeek Q8-MTP", "--sort", "most spill first") == (0, [24, 14])
    assert matrix("--concurrency", "1", "--provenance", "transcribed") == (0, [0, 14, 24, 10])
    assert matrix("--box", "this-machine", "--workload", "code", "--context", "4096", "--build", "b1") == (0, [])
    assert matrix("--age-days", "30") == (0, []), "a published figure does not say when it was measured"
    code, words = matrix("--age-days", "nan", "--concurrency", "many")
    assert code == 2 and "age_days" in words and "concurrency" in words


def test_a_database_held_by_another_process_is_exit_3_and_names_it(tmp_path):
    code = f"import duckdb, sys; c = duckdb.connect({str(tmp_path / 'x.duckdb')!r}); print('ready', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    found = as_process("matrix", "--db", str(tmp_path / "x.duckdb"), "--json")
    holder.communicate(b"")
    assert found[0] == 3 and str(holder.pid) in found[1]["error"]["message"]


def test_unknown_box_and_model_list_the_known(tmp_path):
    base = ("sweep", "--db", str(tmp_path / "x.duckdb"), "--json")
    code, found = core(*base, "--box", "nowhere", "--model", "made-moe")
    assert code == 2 and "this-machine" in found["error"]["hint"]
    code, found = core(*base, "--box", "this-machine", "--model", "gpt")
    assert code == 2 and "made-dense" in found["error"]["hint"]


def test_a_bad_recipe_file_is_exit_2_and_names_the_line(tmp_path):
    bad = tmp_path / "r.toml"
    bad.write_text("format = 1\nn_max = = 3\n")
    db = ("--db", str(tmp_path / "x.duckdb"), "--json")
    code, found = core("sweep", "--box", "this-machine", "--recipe", str(bad), *db, DRAFTLEDGER_LOCAL_DIR=str(tmp_path))
    assert code == 2 and "line 2" in found["error"]["message"] and "Nothing was started" in found["error"]["hint"]
    code, found = core("sweep", "--box", "this-machine", "--recipe", str(tmp_path / "none.toml"), *db, DRAFTLEDGER_LOCAL_DIR=str(tmp_path))
    assert code == 2 and "cannot be read" in found["error"]["message"]
    code, found = core("sweep", "--box", "this-machine", *db, DRAFTLEDGER_LOCAL_DIR=str(tmp_path))
    assert code == 2 and "recipe file" in found["error"]["message"]
