"""Published figures, priced by the domain's rules: every expected figure of a report follows from the figures that it gives."""

from __future__ import annotations

import json
import statistics as stats
from collections.abc import Callable
from typing import Any

import pytest

from core.domain import price, reported
from core.formats.reader import read
from tests.formats.compare import CASES, EXPECTED, case_differences

Report = dict[str, Any]
REPORTS = sorted(name for name, entry in EXPECTED.items() if entry["kind"] == "report")


def arm(report: Report, **wanted: Any) -> Report:
    """The row with these values."""
    return next(row for row in report["rows"] if all(row.get(key) == value for key, value in wanted.items()))


def wins(*speedups: float) -> bool:
    """Whether speculation is faster in any of the rows."""
    return any(price.verdict_of(speedup) == "wins" for speedup in speedups)


def r01(report: Report) -> Report:
    base, spec = report["rows"]
    low, high = reported.speedup_bounds((spec["tps_low"], spec["tps_high"]), (base["tps_low"], base["tps_high"]))
    return {"speedup_min": low, "speedup_max": high, "wins": wins(high), "a": None, "D_ms": None, "V_ms": None}


def r03(report: Report) -> Report:
    base = arm(report, arm="baseline")["tps"]
    long, short = arm(report, n_max=8), arm(report, n_max=1)
    speedup = {"8": long["tps"] / base, "1": short["tps"] / base}
    a = price.tokens_per_step_from_share(1, short["accept"])
    cost = reported.step_in_h(a, speedup["1"])
    return {
        "speedup": speedup,
        "target_tokens_per_visible": long["target_batch_tokens"] / long["visible_tokens"],
        "a_n1": a,
        "step_cost_in_H_n1": cost,
        "breakeven_accept_n1": price.break_even_accept_share(cost, 1),
        "wins": wins(*speedup.values()),
        "placement": report["placement"],
    }


def r05(report: Report) -> Report:
    base = arm(report, n_max="off")["tps"]
    rows = [row for row in report["rows"] if "drafted_over_accepted" in row]
    counts = {str(row["n_max"]): tuple(map(int, row["drafted_over_accepted"].split("/"))) for row in rows}
    speedup = {str(row["n_max"]): row["tps"] / base for row in rows}
    return {
        "accept_share": {n: accepted / drafted for n, (drafted, accepted) in counts.items()},
        "speedup": speedup,
        "a": {str(row["n_max"]): price.tokens_per_step(row["tokens"], counts[str(row["n_max"])][1]) for row in rows},
        "best_n_max": reported.best_n_max({int(n): value for n, value in speedup.items()}),
        "lengths_differ": reported.lengths_differ([row["tokens"] for row in report["rows"]]),
    }


def r07(report: Report) -> Report:
    base = arm(report, drafter="none")
    loads = ("np1", "np2", "np4")
    speedup = {row["drafter"]: {np: row[np] / base[np] for np in loads} for row in report["rows"] if row is not base}
    return {"speedup": speedup, "wins": {np: wins(*(rates[np] for rates in speedup.values())) for np in loads}}


def r09(report: Report) -> Report:
    on, off, moved = (row["tps"] for row in report["rows"])
    return {"speedup_all_gpu": on / off, "speedup_mtp_on_cpu": moved / off, "wins": wins(on / off, moved / off)}


def r11(report: Report) -> Report:
    base, spec = (sum(report["probe"][key], []) for key in ("baseline", "spec"))
    return {
        "base_median": stats.median(base),
        "spec_median": stats.median(spec),
        "base_mean": stats.fmean(base),
        "spec_mean": stats.fmean(spec),
        "speedup_median": reported.median_speedup(spec, base),
        "samples": len(base),
        "reported_spec_mean": report["reported"]["spec_mean"],
    }


def r13(report: Report) -> Report:
    pairs = {str(conc): (arm(report, arm="base", conc=conc), arm(report, arm="mtp", conc=conc)) for conc in (64, 8)}
    speedup = {conc: spec["out_tps"] / base["out_tps"] for conc, (base, spec) in pairs.items()}
    tpot = {conc: base["tpot"] / spec["tpot"] for conc, (base, spec) in pairs.items()}
    return {"speedup": speedup, "tpot_ratio": tpot, "wins": wins(*speedup.values()), "a": None}


def r15(report: Report) -> Report:
    speedup, accept = [1 + row["change"] for row in report["rows"]], [row["accept"] for row in report["rows"]]
    counted = next(row for row in report["rows"] if "accepted" in row)
    return {
        "speedup": speedup,
        "accept_share": accept,
        "accept_recomputed": counted["accepted"] / counted["drafted"],
        "monotone": reported.monotone(accept, speedup),
        "wins": wins(*speedup),
    }


def r17(report: Report) -> Report:
    column = report["columns"].index("tp_repack")
    cost = reported.verify_cost({row[0]: row[column] for row in report["rows"]})
    near = {n: value for n, value in cost.items() if n <= 9}
    return {
        "V_over_V1": {str(n): value for n, value in near.items()},
        "cliff_between": list(reported.cliff(near) or ()),
        "n_max_limit": reported.n_max_limit(near),
        "column": report["columns"][column],
    }


def r19(report: Report) -> Report:
    h, k = report["baseline_ms_per_token"], report["k"]
    rows = {row["batch"]: row for row in report["rows"]}
    old, new = reported.break_even(rows[6]["old_ms"], h, k), reported.break_even(rows[6]["new_ms"], h, k)
    return {
        "V6_over_H_old": rows[6]["old_ms"] / h,
        **{f"V{n}_over_H_new": rows[n]["new_ms"] / h for n in (6, 3, 2)},
        "breakeven_stated_old": report["breakeven_old"],
        "breakeven_stated_new": report["breakeven_new"],
        "breakeven_computed_old": old,
        "breakeven_computed_new": new,
        "measured": report["measured"],
        "wins_old": report["measured"] > old,
        "wins_new": report["measured"] > new,
    }


def r21(report: Report) -> Report:
    mapped, loaded = report["rows"]
    return {
        "mmap_spread_pct": reported.spread_pct([mapped["tps_low"], mapped["tps_high"]]),
        "no_mmap_spread_pct": 100 * loaded["spread_decode"],
        "comparable_across_load_mode": mapped["load"] == loaded["load"],
        "model_exceeds_ram": report["model_gib"] > report["ram_gib"],
    }


def r23(report: Report) -> Report:
    runs = report["runs"]
    rates = [price.decode_tok_per_s(run["predicted_ms"], run["predicted_n"]) or 0.0 for run in runs]
    return {
        "tps": rates,
        "H_ms": [price.plain_step_ms(run["predicted_ms"], run["predicted_n"]) for run in runs],
        "spread_pct": reported.spread_pct(rates),
        "lengths_differ": reported.lengths_differ([run["predicted_n"] for run in runs]),
        "accepted": None,
        "drafted": None,
    }


def r25(report: Report) -> Report:
    one, two, three = (row["tps"] for row in report["rows"])
    other = report["other_run"]
    return {
        "ratio_n2_n1": two / one,
        "verdict_n1_n2": reported.verdict_between(one, two),
        "ratio_n3_n2": three / two,
        "other_accept_share": other["accepted"] / other["drafted"],
        "speedup": None,
    }


def r27(report: Report) -> Report:
    small, large = report["rows"]
    there, share = large["spec"] / large["base"], small["accepted"] / small["drafted"]
    here = reported.median_speedup(small["spec_passes"], small["base_passes"])
    return {
        "speedup_16384_median": here,
        "speedup_16384_mean": reported.mean_speedup(small["spec_passes"], small["base_passes"]),
        "accept_share_16384": share,
        "speedup_32768": there,
        "suspected_spill_32768": reported.suspected_spill(there, here, large["accept"], share),
        "power_ratio": large["power_w"] / large["healthy_power_w"],
    }


def o04(report: Report) -> Report:
    rates = [row["tps"] for row in report["rows"] if "tps" in row]
    return {
        "drift_pct": reported.drift_pct(rates),
        "cold_tps": rates[0],
        "last_tps": rates[-1],
        "gain_3pct_shown": reported.gain_shown(0.03, rates),
    }


def o06(report: Report) -> Report:
    out: Report = {}
    for side in ("before", "after"):
        figures = [(row[side]["mean_tps"], row[side]["sd_tps"]) for row in report["rows"]]
        out[f"cv_{side}"] = [reported.cv(*pair) for pair in figures]
        out[f"usable_{side}"] = [reported.usable(*pair) for pair in figures]
    return out


RULES: dict[str, Callable[[Report], Report]] = {name: globals()[name.lower()] for name in REPORTS}


@pytest.mark.parametrize("name", REPORTS)
def test_a_published_result_is_priced(name: str) -> None:
    report = json.loads((CASES / EXPECTED[name]["file"]).read_text(encoding="utf-8"))
    assert case_differences(EXPECTED[name]["expect"], RULES[name](report)) == []


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_told_as_such(name: str) -> None:
    reading = read((CASES / EXPECTED[name]["file"]).read_bytes())
    assert (reading.kind, reading.values["provenance"]) == ("report", "transcribed")
