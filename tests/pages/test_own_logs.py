"""What a run's own log says, on the receipt and on the worksheet."""

from __future__ import annotations

from core.services.house import House
from core.services.worksheets import propose
from core.ui.components.own_log import log_lines
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words
from tests.services.test_own_logs import LOG, PROPOSAL, keep


def test_receipt_shows_placement_positions_and_drafting_cost(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    keep(house, run_id, LOG)
    at = open_page("receipt", cell=f"{run_id}-2-1")
    assert not at.exception and "server-3.log: all requests since the engine started, the warm-up included" in words(at)
    shown = {
        str(line["what"]).replace("\\", ""): str(line["value"]).replace("\\", "")
        for table in at.table
        for line in table.value.to_dict("records")
    }
    assert shown["weights on the host"] == "9000.0 MiB = 41% of the weights" and shown["weights by device"] == "CUDA0 13000.0 MiB"
    assert shown["KV cache"].replace("\u2060", "") == "512.0 MiB (f16 / f16): CUDA0 512.0 MiB"
    assert shown["compute buffers"] == "CUDA0 300.0 MiB, CUDA_Host 20.0 MiB"
    assert (
        shown["accepted / drafted"] == "60 / 80 = 75% of proposed" and shown["accepted to position 1, 2, …, as printed"] == "90.0%, 60.0%"
    )
    assert shown["D: drafting"] in ("2.0 ms", "6.0 ms") and log_value("D: drafting") == "2.0 ms" and log_value("V: verifying") == "48.0 ms"


def log_value(name: str) -> str:
    values = {"drafted": 80, "accepted": 60, "accept_share": 0.75, "D_ms": 2.0, "V_ms": 48.0}
    return dict(log_lines(values))[name]


def test_a_log_of_another_program_is_text(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    keep(house, run_id, b"<b>no engine</b> **printed** this\n")
    at = open_page("receipt", cell=f"{run_id}-1-1")
    assert not at.exception and "The log could not be read: Nothing in this text is output of a known engine or tool." in words(at)


def test_blanks_say_that_the_log_does_not_tell() -> None:
    lines = dict(log_lines({}))
    assert lines["weights on the host"] == "—? not in the log" and lines["spilled"] == "—? unknown" and lines["drafts"] == "none printed"
    assert dict(log_lines({"host_mib_min": 5.0, "host_mib_max": 9.0}))["weights on the host"] == "at least 5.0 MiB · at most 9.0 MiB"
    assert "0" not in lines["KV cache"]


def test_worksheet_shows_both_sides(open_page: OpenPage, house: House) -> None:
    worksheet = propose(house, PROPOSAL, who="Ada")
    run_id = write_run(house, worksheet_id=worksheet)
    keep(house, run_id, LOG)
    at = open_page("worksheet", worksheet=worksheet)
    assert not at.exception
    assert any(box.label == "Read from the run's own logs" for box in at.expander)
    assert "KV 512.0 MiB; compute 320.0 MiB" in words(at)
