"""Start a run from a recipe file; how it is measured; suites on the box's card; a receipt and a run page with what follows a sweep."""

from __future__ import annotations

from datetime import UTC, datetime

from core.domain.box import THIS_MACHINE
from core.domain.run import short
from core.ports.batch import Batch
from core.services.house import House
from core.services.recipes import recipe_file
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def button(at, label):
    return next(one for one in at.button if one.label == label)


def test_a_recipe_file_fills_the_form_and_the_worksheet_keeps_it(open_page: OpenPage, house: House) -> None:
    run_id = write_run(
        house, title="MTP again", model="made-moe", production={0: [80, 81, 82], 1: [60, 61, 62]}, order="block", budget_min=30
    )
    name, text = recipe_file(house, run_id) or ("", "")
    at = open_page("propose", person="Ada")
    at.file_uploader[0].set_value([(name, text.encode(), "application/toml")]).run()
    assert not at.exception
    assert (at.text_input(key="propose-title").value, at.selectbox(key="propose-model").value) == ("MTP again", "made-moe")
    assert (at.number_input(key="propose-concurrency").value, at.selectbox(key="propose-order").value) == (4, "block")
    assert at.number_input(key="propose-budget").value == 30
    assert "context 4096, n_cpu_moe 14" in words(at)
    at.number_input(key="propose-n-max").set_value(2).run()
    button(at, "Open worksheet").click().run()
    assert not at.exception
    (row,) = house.store.worksheets.all()
    body = row["body"]
    assert (body["n_max"], body["n_cpu_moe"], body["context"], body["order"], body["budget_min"]) == (2, 14, 4096, "block", 30)
    assert text.count(body["recipe_id"]) >= 1


def test_a_bad_recipe_file_is_told_and_nothing_typed_is_lost(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    at.text_input(key="propose-title").set_value("Mine").run()
    at.file_uploader[0].set_value([("r.toml", b"format = 1\nn_max = = 3\n", "application/toml")]).run()
    said = words(at)
    assert "line 2" in said and "what you had typed is still there" in said
    assert at.text_input(key="propose-title").value == "Mine" and not at.exception


def test_a_recipe_of_a_box_that_is_not_here_is_told(open_page: OpenPage, house: House) -> None:
    name, text = recipe_file(house, write_run(house, box_id="gpu-9")) or ("", "")
    at = open_page("propose", person="Ada")
    at.file_uploader[0].set_value([(name, text.encode(), "application/toml")]).run()
    assert "There is no box “gpu-9”." in words(at) and not at.exception


def test_how_it_is_measured_goes_with_the_proposal_and_the_noise_plan_stands_before_it(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    assert "no sweep of this model and workload has run on this box" in words(at)
    at.selectbox(key="propose-order").set_value("interleaved")
    at.checkbox(key="propose-forced").check()
    at.multiselect(key="propose-suites").set_value(["tool-calls"])
    at.number_input(key="propose-budget").set_value(0).run()
    button(at, "Open worksheet").click().run()
    assert "Time budget, minutes has to be at least 1." in words(at)
    at.number_input(key="propose-budget").set_value(45).run()
    button(at, "Open worksheet").click().run()
    body = house.store.worksheets.all()[0]["body"]
    assert (body["order"], body["budget_min"], body["forced"], body["suites"]) == ("interleaved", 45, True, ["tool-calls"])


def test_a_suite_is_registered_on_the_box_s_card_as_an_argument_list(open_page: OpenPage, house: House) -> None:
    at = open_page("boxes", person="Ada")
    at.text_input(key=f"suite-id-{THIS_MACHINE}").set_value("mine")
    at.text_area(key=f"suite-argv-{THIS_MACHINE}").set_value("/opt/run me.sh\n--all; rm -rf /\n\n")
    at.selectbox(key=f"suite-by-{THIS_MACHINE}").set_value("regex")
    at.text_input(key=f"suite-at-{THIS_MACHINE}").set_value("(((")
    button(at, "Register suite").click().run()
    assert "no pattern" in words(at) and house.box(THIS_MACHINE).suite("mine") is None
    at.text_input(key=f"suite-at-{THIS_MACHINE}").set_value(r"passed (\d+)")
    button(at, "Register suite").click().run()
    assert not at.exception
    kept = house.box(THIS_MACHINE).suite("mine")
    assert kept is not None and kept.argv == ["/opt/run me.sh", "--all; rm -rf /"]
    next(one for one in at.button if one.key == f"remove-{THIS_MACHINE}-mine").click().run()
    assert house.box(THIS_MACHINE).suite("mine") is None


def test_the_run_page_shows_suites_and_the_forced_pass_as_synthetic(open_page: OpenPage, house: House) -> None:
    suites = [{"id": "tool-calls", "runs": 2, "band": 10.0}]
    run_id = write_run(house, forced=True, suites=["tool-calls"], spec={"suites": suites})
    at_ = datetime(2026, 3, 1, tzinfo=UTC)
    batch = Batch(run_id, 2000, 902, "1" * 64)
    line = {"n_max": 1, "a_none": 1.0, "none_ms": 60.0, "a_all": 2.0, "all_ms": 70.0, "d_ms": None}
    batch.events.append({"seq": 901, "kind": "forced_fit", "noted_at": at_, "body": {"lines": [line], "across": None}})
    for place, (n, score) in enumerate([(1, 44.0), (1, None), (0, 50.0), (0, 54.0)]):
        status, reason = ("ok", "") if score is not None else ("timeout", "It was not done after 9 s and was ended.")
        batch.suite_runs.append(
            {"run_id": run_id, "seq": 910 + place, "suite": "tool-calls", "n_max": n, "c": 1, "run": 1 + place % 2, "status": status,
             "reason": reason, "score": score, "exit_code": 0, "took_s": 1.0, "output": "<b>said</b>", "errors": "", "noted_at": at_}
        )  # fmt: skip
    house.store.runs.ingest(batch)
    at = open_page("run", run=run_id)
    assert not at.exception
    said = words(at)
    told = ("50, 54", "-8, ±10", "too few scores to say", "no score. It was not done after 9 s", "<b>said</b>", "60.0 … 70.0")
    for sentence in (*told, "Synthetic: acceptance was forced"):
        assert sentence in said, sentence
    assert "1.88: 1.18×" in said, "the real a, with its measured speed-up"


def test_receipt_and_run_page_offer_the_recipe_and_say_what_can_be_believed(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("receipt", cell=f"{run_id}-1-1")
    assert not at.exception
    said = words(at)
    assert "Can it be believed?" in said and "cannot fail" in said
    assert "Cold, first reply after a start: 20.9 tok/s · first token after 81 ms · loaded in 2.0 s (1 start)" in said
    at = open_page("run", run=run_id)
    assert not at.exception and short(run_id) in words(at)
