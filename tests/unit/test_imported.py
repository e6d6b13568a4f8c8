"""What a reading stands for in the matrix: the shipped sample files, and values nobody should believe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.domain.imported import cells_of, missing_of, why_no_cells
from core.domain.imported_row import imported_cell, imported_price
from core.domain.units import figures_of, unit_of
from core.formats.reader import read

CASES = Path(__file__).parents[1] / "cases"


def cells(name: str) -> tuple[str, list[dict[str, Any]]]:
    found = read(next(CASES.glob(f"{name}-*")).read_bytes())
    return found.kind, cells_of(found.kind, found.values)


def seen(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(one["n_max"], one["c"], round(one["tok_per_s"], 2)) for one in found]


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("B01", "llama_bench", [(0, 1, 31.72)]),
        ("B03", "llama_bench", [(0, 1, 78.65)]),
        ("B09", "batched_bench", [(0, 1, 65.17), (0, 2, 91.3), (0, 4, 115.58), (0, 8, 118.79)]),
        ("S01", "speculative_tool", [(0, 1, 0.5), (6, 1, 0.68)]),
        ("S07", "server_log", [(0, None, 72.88), (2, None, 123.92)]),
        ("S13", "spec_bench", [(None, 1, 66.42), (None, 1, 59.67), (None, 1, 41.44)]),
        ("S15", "bench_client", [(3, None, 119.4)]),
        ("S17", "server_log", [(None, None, 13.7)]),
        ("S19", "server_log", [(None, None, 35.13)]),
        ("V05", "vllm_bench", [(None, 24, 2441.26)]),
        ("V07", "metrics", []),
        ("V01", "vllm", []),
        ("L03", "load_log", []),
        ("R13", "report", []),
        ("O02", "cli_error", []),
    ],
)
def test_arms_of_the_samples(name: str, kind: str, expected: list[tuple[Any, ...]]) -> None:
    found_kind, found = cells(name)
    assert found_kind == kind
    assert seen(found)[: len(expected) or None] == expected
    assert bool(found) != bool(expected == []), why_no_cells(kind)


def test_a_pair_of_one_file_is_priced_from_its_own_counts() -> None:
    _, (base, spec) = cells("S07")
    assert (spec["accept_share"], spec["accept_denominator"], spec["a"], spec["verdict"]) == (0.689591, "of 538 proposed", 2.379182, "wins")
    price = imported_price(spec, base)
    assert price is not None and round(price.speedup, 4) == 1.7002 and round(price.step_ms or 0, 2) == 19.2
    assert (round(price.d_ms or 0, 3), round(price.v_ms or 0, 3)) == (4.5, 14.7)
    shown = imported_cell({**spec, "sha256": "ab" * 32, "position": 1, "file": "x.log"}, base)
    assert (shown["provenance"], shown["run_id"], shown["status"]) == ("imported", None, "ok") and shown[
        "cell_id"
    ] == f"imported~{'ab' * 32}~1"
    assert missing_of(spec) == ["model", "engine build", "context length", "concurrency", "workload"]


def test_an_arm_of_another_length_is_no_baseline() -> None:
    values = {"base_tps": 10.0, "tps": 12.0, "n_draft": 4, "comparable": False, "accept_share": 0.5, "drafted": 40, "a": 3.0}
    base, spec = cells_of("speculative_tool", values)
    assert base["settings"] == "another length" and spec["settings"] == ""


def test_a_log_of_a_server_gives_model_place_and_build() -> None:
    values = {
        "model_path": "C:\\models\\evil=1+1.gguf", "build_number": 7000, "build_commit": "abc", "predicted_n": 129, "predicted_ms": 1280.0,
        "cost_per_token_ms": 10.0, "drafted": 90, "accepted": 80, "accept_share": 80 / 90, "a": 2.6, "n_max": 2, "n_slots": 1,
        "n_ctx": 4096,
        "spilled": True, "host_mib": 900.0, "host_share": 0.3, "requests": 1, "spec_type": "draft-mtp",
    }  # fmt: skip
    (one,) = cells_of("load_log", values)
    assert (one["model"], one["build"], one["n_max"], one["c"], one["context"], one["tok_per_s"]) == (
        "evil=1+1",
        "b7000 (abc)",
        2,
        1,
        4096,
        100.0,
    )
    assert one["placement"]["label"] == "900 MiB on the host (30% of weights)" and one["placement"]["state"] == "spilled"


def test_a_lone_arm_is_off_only_where_nothing_points_to_drafts() -> None:
    assert cells_of("server_log", {"cost_per_token_ms": 10.0})[0]["n_max"] == 0
    assert cells_of("server_log", {"cost_per_token_ms": 10.0, "spec_type": "draft-mtp"})[0]["n_max"] is None
    assert cells_of("server_log", {"cost_per_token_ms": 10.0, "drafted": 0})[0]["n_max"] is None
    assert cells_of("bench_client", {"tps_median": 10.0})[0]["n_max"] is None
    assert cells_of("speed_bench", {"rows": [{"category": "overall", "tps": 9.0}, {"tps": 9.0, "drafted": 0}]})[1]["n_max"] == 0
    pair = cells_of("speed_bench", {"rows": [{"category": "code", "base_tps": 9.0, "spec_tps": 12.0, "spec_accept_share": 0.8}]})
    assert [(one["n_max"], one["workload"], one["accept_share"]) for one in pair] == [(0, "code", None), (None, "code", 0.8)]


@pytest.mark.parametrize("rate", ["12", None, True])
def test_no_cell_without_a_rate(rate: Any) -> None:
    assert cells_of("speculative_tool", {"base_tps": rate, "tps": rate, "n_draft": 3}) == []


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e300, float("nan"), float("inf")])
def test_a_rate_that_cannot_be_is_shown_as_invalid_with_its_file(rate: float) -> None:
    base, spec = cells_of("speculative_tool", {"base_tps": 10.0, "tps": rate, "n_draft": 3, "drafted": 90})
    place = {"sha256": "ab" * 32, "position": 1, "file": "broken.log"}
    shown = imported_cell({**spec, **place}, base)
    assert [shown[key] for key in ("status", "tok_s", "speedup", "verdict", "price")] == ["invalid", None, None, None, None]
    assert "is no speed" in shown["why"] and "file broken.log" in shown["why"] and shown["cell_id"]
    good = imported_cell({**base, **place}, None)
    assert (good["status"], good["tok_s"]) == ("ok", 10.0), "the other cells of the file stand"
    assert imported_price({**base, "n_max": 3}, spec) is None, "nothing is compared with it"


@pytest.mark.parametrize(("share", "words"), [(1.3, "130%"), (-0.2, "-20%"), (float("nan"), "nan")])
def test_an_acceptance_that_cannot_be_is_invalid_and_the_rate_beside_it_stands(share: float, words: str) -> None:
    base, spec = cells_of("speculative_tool", {"base_tps": 10.0, "tps": 12.0, "n_draft": 3, "drafted": 90, "accept_share": share, "a": 2.0})
    shown = imported_cell({**spec, "sha256": "ab" * 32, "position": 1, "file": "broken.log"}, base)
    assert (shown["status"], shown["tok_s"], shown["accept_share"], shown["accept_status"]) == ("ok", 12.0, None, "invalid")
    assert words in shown["faults"][0] and "broken.log" in shown["source"] and round(shown["speedup"], 2) == 1.2
    assert shown["price"]["a"] is None, "nothing is worked out from it"


def test_figures_beyond_belief_stay_unknown() -> None:
    (one,) = cells_of("speculative_tool", {"tps": 12.0, "n_draft": 10**9, "a": float("nan"), "drafted": -3})
    assert (one["n_max"], one["accept_share"], one["accept_denominator"], one["a"]) == (None, None, None, None)


def test_every_figure_has_its_unit_and_every_gap_its_name() -> None:
    figures, missing = figures_of(
        {"D_ms": 1.0, "host_mib": 0.0, "out_tps": 2.0, "accept_share": None, "rows": [], "accepted": 3, "wins": False}
    )
    assert figures == [
        ("D_ms", 1.0, "ms"),
        ("host_mib", 0.0, "MiB"),
        ("out_tps", 2.0, "tok/s"),
        ("accepted", 3, "tokens"),
        ("wins", False, ""),
    ]
    assert missing == ["accept_share"] and unit_of("duration_s") == "s" and unit_of("host_share") == "share 0–1"
