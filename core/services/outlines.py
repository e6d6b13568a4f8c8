"""What came of a run in few words: stages with what the cell gate says of them, why it stopped, who won."""

from __future__ import annotations

from typing import Any

from core.services.access import authorize
from core.services.cell_gates import gate_of_stage, gates_of_run
from core.services.house import House
from core.services.runs import stages_of


def run_outline(house: House, run: dict[str, Any]) -> dict[str, Any]:
    """What came of a run without its repetitions, for a list of many: {stages, stop_reason, winner, drifted, supports_keep}."""
    authorize(house, "see", run["run_id"])
    events = house.store.runs.events(run["run_id"], kinds=("stage_started", "stage_done", "run_finished"))
    gates = gates_of_run(house, run["run_id"])
    end: dict[str, Any] = next((event["body"] for event in events if event["kind"] == "run_finished"), {})
    return {
        "stages": [{**stage, "gate": gate_of_stage(stage, gates)} for stage in stages_of(run, events)],
        "stop_reason": end.get("stop") or end.get("reason"),
        **{name: end.get(name) for name in ("winner", "drifted", "supports_keep")},
    }
