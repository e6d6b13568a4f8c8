"""What a run's forced-acceptance pass foretells, and the two residuals that say whether the arithmetic may be believed."""

from __future__ import annotations

from statistics import median
from typing import Any

from core.domain.cell_gate import BOOKS_LIMIT
from core.domain.cost_line import FORECAST_LIMIT, CostLine, residual
from core.domain.matrix import measured_cell
from core.errors import NotFound
from core.services.access import authorize
from core.services.house import House

CURVE_POINTS = 25
BOOKKEEPING = (
    "The inequality shown here comes from one run: it restates the measured speed and cannot fail. It becomes a forecast only with V"
    " from a run of its own, such as the forced-acceptance pass, an option of the sweep."
)


def cost_lines(house: House, run_id: str) -> list[CostLine]:
    """D + V(n) of the run's forced pass as lines over a, by n; empty where there was none, or it brought nothing."""
    authorize(house, "see", run_id)
    fits = house.store.runs.events(run_id, kinds=("forced_fit",))
    return [CostLine(**line) for line in fits[-1]["body"]["lines"]] if fits else []


def speedup_curve(house: House, run_id: str) -> dict[str, Any]:
    """The plot “speed-up against a”, at one stream, from the forced pass; the real a dropped on it. Raises NotFound for an unknown run.

    {state: ok | not_run | failed, why, h_ms (None without a baseline), across: {fixed_ms, per_token_ms} | None, lines: [one for each n]}
    A line: {n_max, d_ms | None, a: [from nothing to all accepted], step_ms: […], speedup: […] (foretold, same length), break_even_a (None:
    no draft can pay), can_pay: bool, real: {a, speedup, step_ms, speedup_foretold, verdict} | None (this n was not measured)}.
    Everything but `real` is synthetic: forced acceptance, invalid text; no decision may rest on it.
    """
    authorize(house, "see", run_id)
    run = house.store.runs.get(run_id)
    if run is None:
        raise NotFound("run", run_id)
    empty: dict[str, Any] = {"h_ms": None, "across": None, "lines": []}
    fits = house.store.runs.events(run_id, kinds=("forced_fit",))
    if not fits:
        asked = run["request"].get("forced")
        return {"state": "failed" if asked else "not_run", "why": _why_no_pass(run, bool(asked)), **empty}
    cells = {cell["n_max"]: cell for cell in house.store.cells.of_run(run_id) if cell["c"] == 1 and cell["n"]}
    lines, short = cost_lines(house, run_id), _left_out(fits[-1]["body"])
    if not lines and short:
        return {"state": "not_run", "why": short, **empty}
    if not lines or 0 not in cells:
        why = "The forced pass brought no n with both of its points; the reasons stand beside its stages." if not lines else "No baseline."
        return {"state": "failed", "why": why, **empty}
    h_ms = 1000.0 / cells[0]["tok_per_s"]
    shown = [_line(line, h_ms, cells.get(line.n_max), cells[0]) for line in lines]
    return {"state": "ok", "why": short, "h_ms": h_ms, "across": fits[-1]["body"].get("across"), "lines": shown}


def _left_out(fit: dict[str, Any]) -> str:
    """Which points the time budget had no room for, "" where all were tried."""
    points = [f"n={one['n_max']} {one['point']} accepted" for one in fit.get("left_out", [])]
    return f"The time budget had no room for {', '.join(points)}: not run." if points else ""


def _why_no_pass(run: dict[str, Any], asked: bool) -> str:
    if asked:
        return "The forced pass was asked for but has not come to its end: the run goes on, or ended before it."
    return "The run had no forced-acceptance pass; it is an option when a run is started."


def _line(line: CostLine, h_ms: float, cell: dict[str, Any] | None, baseline: dict[str, Any]) -> dict[str, Any]:
    a = [line.a_none + (line.a_all - line.a_none) * place / (CURVE_POINTS - 1) for place in range(CURVE_POINTS)]
    even = line.break_even_a(h_ms)
    real = None
    if cell and cell["steps"]:
        shown, mine = measured_cell(cell, baseline), cell["decode_tokens"] / cell["steps"]
        real = {
            "a": mine,
            "speedup": shown["speedup"],
            "step_ms": 1000.0 * mine / cell["tok_per_s"],
            "speedup_foretold": line.speedup(mine, h_ms),
            "verdict": shown["verdict"],
        }
    return {
        "n_max": line.n_max,
        "d_ms": line.d_ms,
        "a": a,
        "step_ms": [line.step_ms(one) for one in a],
        "speedup": [line.speedup(one, h_ms) for one in a],
        "break_even_a": even,
        "can_pay": even is not None,
        "real": real,
    }


def residuals(house: House, run_id: str, n_max: int, c: int) -> dict[str, dict[str, Any]]:
    """The two residuals of a measured arm: {books, forecast}, each {state, share, text}.

    state: ok | failed (beyond its limit) | not_run | not_applicable | not_recorded. `forecast` also has foretold_ms, realised_ms and
    `of`: V, or D + V where D is not known on both sides.
    """
    authorize(house, "see", run_id)
    return {"books": _books(house, run_id, n_max, c), "forecast": _forecast(house, run_id, n_max, c)}


def _word(state: str, text: str, share: float | None = None, **more: Any) -> dict[str, Any]:
    return {"state": state, "share": share, "text": text, **more}


def _books(house: House, run_id: str, n_max: int, c: int) -> dict[str, Any]:
    bodies = [event["body"] for event in house.store.runs.events(run_id, kinds=("sample",))]
    mine = [one for one in bodies if (one["n_max"], one["c"]) == (n_max, c) and one["counted"] and not one.get("synthetic")]
    streams = [stream for one in mine for stream in one.get("streams", [])]
    apart = [gap for gap in map(_clock_gap, streams) if gap is not None]
    if not apart:
        return _word("not_recorded", "Books: engine's counts and the client's clock were not both recorded.")
    share = median(apart)
    lead = f"Books: the engine's counts and the client's own clock differ by {share:.1%}"
    if share > BOOKS_LIMIT:
        return _word("failed", f"{lead}, more than {BOOKS_LIMIT:.0%}: a wrong clock, a misread log, or steps that drafted nothing.", share)
    return _word("ok", f"{lead}, within {BOOKS_LIMIT:.0%}.", share)


def _clock_gap(stream: dict[str, Any]) -> float | None:
    """How far the two clocks are apart on one stream, as a share; the engine's rate leaves the first token out as the client's does."""
    timings = stream.get("timings") or {}
    count, took, client = timings.get("predicted_n"), timings.get("predicted_ms"), stream.get("client_tok_s")
    if not isinstance(count, int) or count < 2 or not isinstance(took, int | float) or took <= 0 or not client:
        return None
    return abs(client * took / (1000.0 * (count - 1)) - 1.0)


def _forecast(house: House, run_id: str, n_max: int, c: int) -> dict[str, Any]:
    nothing = {"of": None, "foretold_ms": None, "realised_ms": None}
    if not n_max:
        return _word("not_applicable", "Forecast: nothing to foretell for the baseline.", **nothing)
    line = next((one for one in cost_lines(house, run_id) if one.n_max == n_max), None)
    if line is None:
        return _word("not_run", f"Forecast: none. {BOOKKEEPING}", **nothing)
    if c > 1:
        return _word("not_applicable", "Forecast: none at several streams; the forced pass measures one.", **nothing)
    cell = next((one for one in house.store.cells.of_run(run_id) if (one["n_max"], one["c"]) == (n_max, c) and one["n"]), None)
    if cell is None or not cell["steps"]:
        return _word("not_recorded", "Forecast: the steps of this arm were not recorded.", **nothing)
    a = cell["decode_tokens"] / cell["steps"]
    realised = 1000.0 * a / cell["tok_per_s"]
    share, of = residual(line, a, realised, cell["d_ms"])
    foretold = line.step_ms(a)
    if of == "V":
        foretold, realised = foretold - (line.d_ms or 0.0), realised - (cell["d_ms"] or 0.0)
    lead = f"Forecast: {of} foretold by the forced pass {foretold:.1f} ms, realised {realised:.1f} ms ({share:+.1%})"
    figures = {"of": of, "foretold_ms": foretold, "realised_ms": realised}
    if abs(share) > FORECAST_LIMIT:
        text = f"{lead}, further apart than {FORECAST_LIMIT:.0%}: expert routing, heat or other load. Find out before believing a forecast."
        return _word("failed", text, share, **figures)
    return _word("ok", f"{lead}: V from its own pass and the run agree.", share, **figures)
