"""Recipe files: the winning recipe of a run, or the one of a cell, as a file; and from such a file back to a run."""

from __future__ import annotations

from typing import Any

from core.domain.forms import checked
from core.domain.matrix import measured_cell
from core.domain.recipe import differences
from core.domain.run import Proposal
from core.errors import InvalidInput, NotFound
from core.formats.recipe_file import KEPT, as_json, file_name, read_recipe, write_recipe
from core.services.access import authorize
from core.services.cell_gates import gates_of_run
from core.services.house import House

_NOT_WRITTEN = ("worksheet_id", "recipe_id", "attempt", "repeat_of", "segment_of", "first_n")  # of that run, not of its recipe


def winning_arm(house: House, run_id: str) -> tuple[int, int] | None:
    """(n_max, c) of the run's winner, at the production concurrency where it was measured there; None while there is none."""
    authorize(house, "see", run_id)
    end = _end_of(house, run_id)
    winner = end.get("winner")
    if winner is None:
        return None
    measured = [cell["c"] for cell in house.store.cells.of_run(run_id) if cell["n_max"] == winner and cell["n"]]
    return (winner, max(measured)) if measured else None


def _end_of(house: House, run_id: str) -> dict[str, Any]:
    """Body of the run's last event, empty while it goes on."""
    ends = house.store.runs.events(run_id, kinds=("run_finished",))
    return dict(ends[0]["body"]) if ends else {}


def recipe_file(house: House, run_id: str, *, arm: tuple[int, int] | None = None) -> tuple[str, str] | None:
    """(file name, TOML text) of one arm (n_max, c) of a run, the winning one when none is named; None where nothing was measured.

    Raises NotFound for an unknown run.
    """
    authorize(house, "export", run_id)
    run = house.store.runs.get(run_id)
    if run is None:
        raise NotFound("run", run_id)
    arm = arm or winning_arm(house, run_id)
    cells = {(cell["n_max"], cell["c"]): cell for cell in house.store.cells.of_run(run_id) if cell["n"]}
    recipe = house.store.cells.recipe(cells[arm]["recipe_id"]) if arm in cells else None
    if arm is None or recipe is None:
        return None
    servers = [row for row in house.store.cells.servers(run_id) if (row["n_max"], row["c"]) == arm]
    sweep = {key: value for key, value in run["request"].items() if key not in _NOT_WRITTEN}
    text = write_recipe(
        sweep=as_json(sweep),
        recipe=recipe,
        argv=servers[-1]["argv"] if servers else [],
        measured=as_json(_measured(house, run, cells[arm], cells.get((0, arm[1])))),
    )
    return file_name(run["request"]["model"], arm[0], arm[1], cells[arm]["recipe_id"]), text


def _measured(house: House, run: dict[str, Any], cell: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    shown = measured_cell(cell, baseline)
    end = _end_of(house, run["run_id"])
    return {
        "run": run["run_id"],
        "cell": shown["cell_id"],
        "box": run["box_id"],
        "at": run["created_at"].isoformat(),
        "n_max": "off" if cell["n_max"] == 0 else cell["n_max"],
        "c": cell["c"],
        "tok_s": shown["tok_s"],
        "tok_s_min": shown["tok_s_min"],
        "tok_s_max": shown["tok_s_max"],
        "repetitions": shown["n"],
        "speedup": shown["speedup"],
        "verdict": shown["verdict"],
        "accept_share": shown["accept_share"],
        "accept_denominator": shown["accept_denominator"],
        "drifted": end.get("drifted"),
        "supports_keep": end.get("supports_keep"),
        "stop": (end.get("stop") or {}).get("text"),
        "cell_gate": _cell_gate(house, run["run_id"], cell),
        "gates": _gates(house, run) or "not recorded: no worksheet rests on this run",
    }


def _cell_gate(house: House, run_id: str, cell: dict[str, Any]) -> str:
    """What the cell gate says of the arm, in a sentence."""
    gate = gates_of_run(house, run_id).get((cell["n_max"], cell["c"]))
    if gate is None:
        return "not recorded"
    return "pass" if gate["usable"] else f"{'fail' if gate['state'] == 'fail' else 'not recorded'}: {gate['why']}"


def _gates(house: House, run: dict[str, Any]) -> dict[str, str]:
    """The gates of the run's worksheet as they stand; empty for a run without one, or where the worksheet rests on another run."""
    from core.services.worksheets import show_worksheet

    if not run["worksheet_id"] or house.store.worksheets.get(run["worksheet_id"]) is None:
        return {}
    view = show_worksheet(house, run["worksheet_id"])
    return {gate["name"]: gate["state"] for gate in view["gates"]} if view["run_id"] == run["run_id"] else {}


def sweep_of_recipe(data: bytes) -> dict[str, Any]:
    """What a recipe file asks for, as the form of `start_run` and `propose`. Raises InvalidInput that names the line or the key."""
    found = read_recipe(data)
    values = {**found["sweep"], "recipe_id": found["recipe_id"]}
    try:
        return checked(Proposal, values).model_dump()
    except InvalidInput as error:
        problems = {f"sweep.{key}": text for key, text in error.problems.items()}
        raise InvalidInput(problems, hint=KEPT) from error


def compared_with_recipe(house: House, run_id: str) -> dict[str, Any] | None:
    """For a run that started from a recipe file: {recipe_id, same: arms with that very recipe, differs}; None for other runs.

    `differs`: key → (file, run) against the arm of the same n_max and slots, where the file's recipe is known here.
    """
    authorize(house, "see", run_id)
    run = house.store.runs.get(run_id)
    wanted = (run or {}).get("request", {}).get("recipe_id")
    if not wanted:
        return None
    servers = house.store.cells.servers(run_id)
    same = sorted({(row["n_max"], row["c"]) for row in servers if row["recipe_id"] == wanted})
    known = house.store.cells.recipe(wanted)
    mine = next((row for row in servers if known and (row["n_max"], row["c"]) == (known["n_max"], known["slots"])), None)
    differs = differences(known, house.store.cells.recipe(mine["recipe_id"]) or {}) if known and mine and not same else {}
    return {"recipe_id": wanted, "same": same, "differs": differs, "is_known": known is not None}
