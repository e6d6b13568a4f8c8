"""What came of one run, as command line and API both tell it."""

from __future__ import annotations

from typing import Any

from core.services.access import authorize
from core.services.forecast import residuals, speedup_curve
from core.services.house import House
from core.services.matrix import matrix_rows
from core.services.recipes import compared_with_recipe
from core.services.runs import show_run
from core.services.suites import suite_table

_SUITE = ("suite", "band", "off", "on", "difference", "verdict")


def stage_json(stage: dict[str, Any]) -> dict[str, Any]:
    """A stage in the form fixed for machines: status ok, failed or not_run."""
    status = {"done": "ok", "failed": "failed"}.get(stage["state"], "not_run")
    return {"name": stage["name"], "n_max": stage["n_max"], "c": stage["c"], "tok_s": stage["tok_s"], "accept_share": stage["accept_share"],
            "accept_denominator": f"of {stage['proposed']} proposed" if stage["proposed"] else None, "status": status,
            "reason": stage["reason"], "gate": stage.get("gate")}  # fmt: skip


def run_report(house: House, run_id: str) -> dict[str, Any]:
    """{run_id, state, stages, stop_reason, winner, drifted, production, supports_keep, noise, cells, residuals, forecast, suites, recipe}.

    Raises NotFound.
    """
    authorize(house, "see", run_id)
    view = show_run(house, run_id)
    run, finished = view["run"], view["finished"] or {}
    rows = [row for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id]
    return {
        "run_id": run_id,
        "state": run["state"],
        "stages": [stage_json(stage) for stage in view["stages"]],
        "stop_reason": finished.get("stop") or finished.get("reason"),
        **{name: finished.get(name) for name in ("winner", "drifted", "production", "supports_keep")},
        "noise": next((verdict["noise"] for verdict in view["verdicts"] if verdict.get("noise")), None),
        "cells": [{"n_max": column, "c": row["c"], **cell} for row in rows for column, cell in row["cells"].items() if cell["run_id"]],
        "residuals": [
            {"n_max": n, "c": c, **residuals(house, run_id, n, c)} for n, c in ((one["n_max"], one["c"]) for one in view["cells"])
        ],
        "forecast": speedup_curve(house, run_id),
        "suites": [{key: line[key] for key in _SUITE} for line in suite_table(house, run)],
        "recipe": compared_with_recipe(house, run_id),
    }
