"""Why a cell paid or not: break-even ledger, price tag, diagnosis, failure modes, projection, residuals and what to measure next."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

from core.domain.break_even import Ledger, Point, ledger_of
from core.domain.diagnosis import Sight, diagnose
from core.domain.failure_modes import failure_modes
from core.domain.matrix import measured_cell
from core.domain.next_cell import Advice, advise
from core.domain.price import Price
from core.domain.price_tag import Tag, held_mib, price_tag
from core.domain.projection import Projected, expected_a, order_to_measure, positions_fault, project
from core.domain.telemetry_view import first_last, readings_of, throttled
from core.services.access import authorize
from core.services.forecast import cost_lines, residuals
from core.services.house import House
from core.services.next_cells import facts_of_receipt
from core.services.suites import suites_of_side

View = dict[str, Any]


def explain(house: House, view: View) -> View:
    """{ledger, tags, findings, failure_modes, projection, positions, advice, residuals}; None or empty where it cannot be told."""
    authorize(house, "see")
    price = price_of(view)
    ledger = ledger_of_view(view) if price else None
    sight = sight_of(house, view, ledger)
    positions = positions_of(view)
    projected = projection_of(house, view, positions)
    return {
        "ledger": ledger,
        "tags": tags_of(view),
        "findings": diagnose(sight),
        "failure_modes": failure_modes(sight),
        "positions": positions,
        "projection": projected,
        "advice": advice_of(view, projected),
        "residuals": residuals(house, view["run"]["run_id"], view["n_max"], view["c"]) if view["kind"] == "measured" else None,
    }


def explained_json(found: View) -> View:
    """The same as plain values, for files and machines."""
    rows: dict[str, list[Any]] = {name: found[name] for name in ("tags", "projection", "advice")}
    return {
        **found,
        "ledger": found["ledger"].as_json() if found["ledger"] else None,
        **{name: [one.as_json() for one in row] for name, row in rows.items()},
        **{name: [vars(one) for one in found[name]] for name in ("findings", "failure_modes")},
    }


def price_of(view: View) -> Price | None:
    """The receipt's price as the rule knows it."""
    return Price(**view["price"]) if view["price"] else None


def ledger_of_view(view: View) -> Ledger:
    """Break-even ledger of a priced receipt, the row's other lengths beside it."""
    return ledger_of(Price(**view["price"]), view["n_max"], others=points_of(view["row"]))


def points_of(row: dict[int, View]) -> list[Point]:
    """Draft lengths of a row whose step cost and a are known, in ms and tokens."""
    known = [(n, cell["price"]) for n, cell in row.items() if cell["price"] and cell["price"]["a"] is not None]
    return [Point(n, price["step_ms"], price["a"]) for n, price in sorted(known, key=lambda item: item[0])]


def positions_of(view: View) -> list[float]:
    """P_i of the cell over its counted repetitions, as the engine counted them; empty where it printed none or they cannot be."""
    rows = [row for row in view["samples"] if row["counted"] and row["status"] == "ok" and not row["excluded_reason"]]
    shares = [row["per_position"] for row in rows if row["per_position"]]
    found = [sum(column) / len(shares) for column in zip(*shares, strict=False)] if shares else []
    return [] if positions_fault(found) else found


def projection_of(house: House, view: View, positions: list[float]) -> list[Projected]:
    """Shorter drafts, predicted from this cell's positions and the measured cost of each: by the forced pass, else its own cell."""
    authorize(house, "see")
    if view["price"] is None or len(positions) < 2:
        return []
    costs = {point.n_max: (point.step_ms, "D + V of its own cell") for point in points_of(view["row"])}
    if view["kind"] == "measured" and view["c"] == 1:
        lines = [line for line in cost_lines(house, view["run"]["run_id"]) if line.n_max < len(positions)]
        costs |= {line.n_max: (line.step_ms(expected_a(positions, line.n_max)), "forced-acceptance pass") for line in lines}
    measured = {n: cell["speedup"] for n, cell in view["row"].items() if cell["speedup"] is not None}
    return project(positions, view["price"]["h_ms"], costs, measured)


def advice_of(view: View, projected: list[Projected]) -> list[Advice]:
    """What to measure next in the receipt's row; lengths without a cell stand by their predicted speed-up."""
    known = {one.n_max: one.speedup for one in projected}
    predicted = {n: speedup for n in order_to_measure(projected) if (speedup := known[n]) is not None}
    return advise(replace(facts_of_receipt(view), predicted=predicted))


def tags_of(view: View) -> list[Tag]:
    """The price tag of a speculative cell with a baseline; nothing for a figure that came alone."""
    if view["kind"] != "measured" or not view["n_max"] or view["baseline"] is None:
        return []
    took = arm_seconds(view["events"])
    sides = [
        {**{key: cell.get(key) for key in ("prefill_tok_per_s", "ttft_ms")}, "held_mib": held_mib(_last(readings))}
        for cell, readings in ((view["baseline"], view["baseline_readings"]), (view["counts"], view["log_readings"]))
    ]
    mine, whole = took.get((view["n_max"], view["c"])), sum(took.values())
    return price_tag(
        *sides,
        differences=view["recipe_differences"] if view["recipe"] else None,
        minutes=None if mine is None else mine / 60.0,
        run_minutes=whole / 60.0 if took else None,
    )


def _last(readings: list[View]) -> View | None:
    return next((one["values"] for one in reversed(readings) if one["values"]), None)


def arm_seconds(events: list[View]) -> dict[tuple[int, int], float]:
    """(n_max, c) → seconds from the start of its stages to their end, all visits together, engine starts included."""
    found: dict[tuple[int, int], float] = {}
    begun: dict[str, Any] = {}
    for event in events:
        stage = event["body"].get("stage") or {}
        if event["kind"] == "stage_started":
            begun[stage["name"]] = event["noted_at"]
        elif event["kind"] == "stage_done" and stage["name"] in begun:
            key = (stage["n_max"], stage["c"])
            found[key] = found.get(key, 0.0) + (event["noted_at"] - begun.pop(stage["name"])).total_seconds()
    return found


def sight_of(house: House, view: View, ledger: Ledger | None) -> Sight:
    """What is known about the cell, in the form the diagnosis reads."""
    authorize(house, "see")
    cell, price = view["cell"], view["price"] or {}
    known: View = {
        "n_max": view["n_max"] or 0, "c": view["c"], "verdict": cell["verdict"], "speedup": cell["speedup"],
        "accept_share": cell["accept_share"], "step_in_h": price.get("step_in_h"), "dominant": price.get("dominant"),
        "draft_share": price["d_ms"] / price["step_ms"] if price.get("d_ms") is not None and price.get("step_ms") else None,
        "placement": view["spill"].get("state") or "unknown", "host_share": view["spill"].get("host_share"), "is_moe": view["is_moe"],
        "measured_n": tuple(sorted(n for n, one in view["row"].items() if n and one["status"] == "ok")), "faults": tuple(cell["faults"]),
    }  # fmt: skip
    return Sight(**known, **(_measured_sight(house, view) if view["kind"] == "measured" else {}))


def _measured_sight(house: House, view: View) -> View:
    cell, base, run = view["counts"], view["baseline"] or {}, view["run"]
    values = _last(view["log_readings"]) or {}
    production_c = run["request"].get("production_c")
    beside = {one["n_max"]: one for one in view["run_cells"] if one["c"] == production_c} if production_c and production_c > 1 else {}
    at_production = measured_cell(beside[view["n_max"]], beside.get(0))["verdict"] if view["n_max"] in beside else None
    return {
        "drifted": next((event["body"].get("drifted") for event in view["events"] if event["kind"] == "run_finished"), None),
        **_heat(arm_samples(view)),
        "cached_tokens": _cached(view),
        "kv_types": tuple(str(values[key]) for key in ("kv_type_k", "kv_type_v") if values.get(key)) or None,
        "ttft_ms": _pair(base.get("ttft_ms"), cell["ttft_ms"]),
        "prefill_tok_per_s": _pair(base.get("prefill_tok_per_s"), cell["prefill_tok_per_s"]),
        "reply_ms": _pair(_reply_ms(house, view, 0), _reply_ms(house, view, view["n_max"])) if view["n_max"] else None,
        "production_c": production_c,
        "production": at_production if view["c"] == 1 else view["cell"]["verdict"],
        "cold_counted": sum(1 for row in view["samples"] if row["counted"] and row["temperature"] == "cold"),
        "suite_runs": _suite_runs(house, view),
    }


def _pair(one: float | None, other: float | None) -> tuple[float, float] | None:
    return (one, other) if one and other else None


def arm_samples(view: View) -> list[View]:
    """Events of the cell's own repetitions, cold ones included, forced ones not."""
    mine = (view["n_max"], view["c"])
    bodies = [event for event in view["events"] if event["kind"] == "sample" and not event["body"].get("synthetic")]
    return [event for event in bodies if (event["body"]["n_max"], event["body"]["c"]) == mine]


def _heat(samples: list[View]) -> View:
    readings = readings_of(samples)
    return {
        "temperature_c": first_last(readings, "temp_c"), "clock_mhz": first_last(readings, "sm_mhz"), "throttled": throttled(samples),
    }  # fmt: skip


def _cached(view: View) -> int | None:
    """Prompt tokens that came from a cache, over the arm's counted repetitions; None where the engine told none."""
    bodies = [event["body"] for event in arm_samples(view) if event["body"].get("counted")]
    counts = [stream.get("cached_tokens") for body in bodies for stream in body.get("streams") or []]
    return None if not counts or None in counts else int(sum(counts))


def _reply_ms(house: House, view: View, n_max: int) -> float | None:
    """Median time of a whole reply, first token included, over the counted repetitions of an arm."""
    rows = view["samples"] if n_max == view["n_max"] else house.store.cells.samples(view["run"]["run_id"], n_max=n_max, c=view["c"])
    times = [row["wall_ms"] for row in rows if row["counted"] and row["status"] == "ok" and row["wall_ms"] and not row["excluded_reason"]]
    return median(times) if times else None


def _suite_runs(house: House, view: View) -> tuple[int, int]:
    """(off, on) scored runs of a tool suite: the run's own, the suite with the fewest, else those typed into its worksheets."""
    made = [suites_of_side(house, view["run"], n) for n in (0, view["n_max"])] if view["run"] else []
    if any(one["scores"] for side in made for one in side):
        off, on = (min(len(one["scores"]) for one in side) for side in made)
        return off, on
    scores = {"baseline": 0, "candidate": 0}
    for sheet in view["worksheets"]:
        for entry in house.store.worksheets.entries(sheet["worksheet_id"]):
            if entry["field"] == "suite" and entry["side"] in scores and isinstance(entry["value"], dict):
                scores[entry["side"]] = len(entry["value"].get("scores", []))
    return scores["baseline"], scores["candidate"]
