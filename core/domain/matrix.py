"""The results matrix: rows model × spill, columns n_max. Joins a cell to its baseline, says what it shows and why."""

from __future__ import annotations

import math
from typing import Any

from core.domain.looks import limit_for
from core.domain.price import Price, price_pair
from core.domain.stats import ABOVE, BELOW, MIN_GAIN, TOO_FEW, compare

COLUMNS = ("off", "1", "2", "3")
SHOWN = ("ok", "stale")  # a stale cell keeps its figures
NO_BASELINE = "no usable baseline beside it: a speed-up cannot be told"
_VERDICTS = {ABOVE: "wins", BELOW: "loses"}


def column(n_max: int) -> str:
    """Column key of an n_max: "off" for the baseline."""
    return "off" if n_max == 0 else str(n_max)


def not_run() -> dict[str, Any]:
    """A blank that says so: nothing was measured here, which is not zero."""
    return {
        "tok_s": None, "tok_s_min": None, "tok_s_max": None, "n": 0, "speedup": None, "accept_share": None, "accept_denominator": None,
        "a": None, "step_in_h": None, "status": "not_run", "verdict": None, "provenance": None, "source": None, "run_id": None,
        "cell_id": None, "why": "",
    }  # fmt: skip


def is_rate(value: Any) -> bool:
    """Whether this can be a decode rate: a finite number above 0."""
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def rate_words(value: float) -> str:
    """What is wrong with a rate that cannot be: “0 tok/s”, “not a number”."""
    if math.isnan(value):
        return "a rate that is not a number"
    return "an infinite rate" if math.isinf(value) else f"{value:g} tok/s"


def with_price(cell: dict[str, Any], price: Price | None) -> dict[str, Any]:
    """Speed-up, a and the step's cost in plain steps, where they can be told."""
    return {**cell, "speedup": price.speedup, "a": price.a, "step_in_h": price.step_in_h} if price else cell


def invalid_cell(cell: dict[str, Any], why: str) -> dict[str, Any]:
    """A cell whose figures cannot be: it keeps its place and source, shows no figure and says why."""
    blank = {key: None for key in ("tok_s", "tok_s_min", "tok_s_max", "speedup", "accept_share", "a", "step_in_h", "verdict")}
    return {**cell, **blank, "status": "invalid", "why": f"{why} ({cell['source']})"}


def published_accepted(n_max: int, accept_share: float | None) -> float | None:
    """a of a published cell: tokens per step when every step proposed n_max tokens (assumed where the source is silent)."""
    return None if accept_share is None else 1.0 + n_max * accept_share


def published_cell(cell: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    """Matrix cell of one published figure; speed-up worked out from the row's own two speeds."""
    price = published_price(cell, baseline)
    shown = {
        **not_run(),
        "tok_s": cell["tok_per_s"], "n": None, "accept_share": cell["accept_share"],
        "accept_denominator": cell["accept_denominator"], "status": "ok", "verdict": price.verdict if price else None,
        "provenance": "transcribed", "source": cell["source"], "cell_id": f"published~{cell['row_key']}~{cell['n_max']}",
        "why": cell_why(price, cell["n_max"]) or (NO_BASELINE if cell["n_max"] else ""),
    }  # fmt: skip
    problem = problem_of(cell["tok_per_s"], cell["accept_share"])
    return invalid_cell(shown, problem) if problem else with_price(shown, price)


def problem_of(tok_per_s: float, accept_share: float | None) -> str:
    """Why a figure from outside cannot be; empty where it can."""
    if not is_rate(tok_per_s):
        return f"it says {rate_words(tok_per_s)}"
    if accept_share is not None and not 0.0 <= accept_share <= 1.0:
        return f"it says an acceptance of {accept_share:.0%}" if math.isfinite(accept_share) else "its acceptance is no number"
    return ""


def published_price(cell: dict[str, Any], baseline: dict[str, Any] | None) -> Price | None:
    """Price of a published pair; None for the baseline itself, without one, or where a figure cannot be."""
    if not cell["n_max"] or baseline is None or not is_rate(baseline["tok_per_s"]):
        return None
    if problem_of(cell["tok_per_s"], cell["accept_share"]):
        return None
    return price_pair(baseline["tok_per_s"], cell["tok_per_s"], cell["n_max"], a=published_accepted(cell["n_max"], cell["accept_share"]))


def measured_problem(cell: dict[str, Any]) -> str:
    """Why the figures of a measured arm cannot be shown as one; empty where they can."""
    wrong = next((rate for rate in cell["rates"] or [] if not is_rate(rate)), None)
    if wrong is not None:
        return f"a repetition says {rate_words(wrong)}"
    if (cell.get("recipes") or 1) > 1:
        return f"{cell['recipes']} recipes ran under this arm: they are never averaged"
    if cell["n_max"] and cell["drafted"] is not None and (cell["accepted"] or 0) > cell["drafted"]:
        return f"{cell['accepted']} of {cell['drafted']} proposed tokens accepted: more than all"
    return ""


def _is_usable(cell: dict[str, Any] | None) -> bool:
    return cell is not None and bool(cell["n"]) and not measured_problem(cell)


def measured_price(cell: dict[str, Any], baseline: dict[str, Any] | None) -> Price | None:
    """Price from a run's own counts: medians for the speed-up, a over all steps. None where either side has no good repetition.

    Above c=1 the step cost is per stream (1000 · c / aggregate), worked out from the same counts.
    """
    if not cell.get("n_max") or baseline is None or not (_is_usable(cell) and _is_usable(baseline)):
        return None
    a = cell["decode_tokens"] / cell["steps"] if cell["steps"] else None
    if a is not None and not 1.0 <= a <= cell["n_max"] + 1:
        a = None  # counts that cannot be: priced as unknown, the receipt shows the raw ones
    base, spec = baseline["tok_per_s"] / cell["c"], cell["tok_per_s"] / cell["c"]
    d_ms = cell["d_ms"] if a is not None and cell["d_ms"] is not None and cell["d_ms"] <= 1000.0 * a / spec else None
    return price_pair(base, spec, cell["n_max"], a=a, d_ms=d_ms, verdict=measured_verdict(cell, baseline) or "no-difference")


def measured_verdict(cell: dict[str, Any], baseline: dict[str, Any] | None) -> str | None:
    """wins | loses | no-difference by the noise rule; None for a baseline or where too few repetitions allow no word.

    A cell that got more repetitions than planned was looked at more than once and has to clear the stricter limit.
    """
    if not cell["n_max"] or baseline is None or not (_is_usable(cell) and _is_usable(baseline)):
        return None
    found = compare(cell["rates"], baseline["rates"], p_limit=limit_for(cell["rates"], cell.get("planned") or 3)).verdict
    return None if found == TOO_FEW else _VERDICTS.get(found, "no-difference")


def measured_cell(cell: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    """Matrix cell of one measured arm; failed, invalid and excluded ones keep their place with the reason."""
    price = measured_price(cell, baseline)
    status = cell_status(cell)
    drafted = cell["drafted"] if cell["n_max"] else None
    shown = {
        **not_run(),
        "tok_s": cell["tok_per_s"], "tok_s_min": cell["tok_per_s_min"], "tok_s_max": cell["tok_per_s_max"], "n": cell["n"],
        "accept_share": cell["accepted"] / drafted if drafted and cell["accepted"] is not None else None,
        "accept_denominator": f"of {drafted} proposed" if drafted else None, "status": status,
        "verdict": measured_verdict(cell, baseline), "provenance": "measured", "source": f"run {cell['run_id']}", "run_id": cell["run_id"],
        "cell_id": f"{cell['run_id']}-{cell['n_max']}-{cell['c']}",
        "why": _measured_why(cell, price) if status == "ok" else (cell["why_bad"] or "no counted repetition"),
    }  # fmt: skip
    problem = measured_problem(cell) if status == "ok" else ""
    return invalid_cell(shown, problem) if problem else with_price(shown, price)


def _measured_why(cell: dict[str, Any], price: Price | None) -> str:
    return NO_BASELINE if price is None and cell["n_max"] else cell_why(price, cell["n_max"])


def failed_cell(run_id: str, reason: str) -> dict[str, Any]:
    """An arm whose stage failed before one repetition was kept: it has no receipt, its run has the story."""
    return {
        **not_run(),
        "status": "failed",
        "provenance": "measured",
        "source": f"run {run_id}",
        "run_id": run_id,
        "why": reason or "failed",
    }


def cell_status(cell: dict[str, Any]) -> str:
    """ok as soon as one counted repetition is good; otherwise what kept the others out. Only a warm-up so far: not run."""
    if cell["n"]:
        return "ok"
    if cell["n_excluded"]:
        return "excluded"
    return "failed" if cell["n_bad"] else "not_run"


def tied_with_best(cells: dict[str, dict[str, Any]]) -> tuple[str | None, set[str]]:
    """The row's best column (the smaller n_max wins a tie, off included) and all columns that cannot be told from the fastest."""
    good = {name: cell for name, cell in cells.items() if cell["status"] in SHOWN and cell["tok_s"]}
    if len(good) < 2:
        return None, set()
    fastest = max(good.values(), key=lambda cell: cell["tok_s"])
    tied = {name for name, cell in good.items() if _is_close(cell, fastest)}
    return min(tied, key=lambda name: 0 if name == "off" else int(name)), tied


def _is_close(cell: dict[str, Any], fastest: dict[str, Any]) -> bool:
    if cell["tok_s"] * (1.0 + MIN_GAIN) > fastest["tok_s"]:
        return True
    return None not in (cell["tok_s_max"], fastest["tok_s_min"]) and cell["tok_s_max"] >= fastest["tok_s_min"]


def cell_why(price: Price | None, n_max: int) -> str:
    """One clause for the matrix: why this cell pays or does not."""
    if price is None:
        return ""
    lead = f"{price.speedup:.2f}× at n={n_max}"
    if price.step_in_h is None or price.break_even_accept_share is None:
        return f"{lead}; acceptance not recorded, a step costs at most {price.step_ms_max / price.h_ms:.1f} plain steps"
    if price.break_even_accept_share > 1:
        return f"no draft can win at n={n_max}: it would need {price.break_even_accept_share:.0%}"
    return f"{lead}: a step commits {price.a:.1f} tokens and costs {price.step_in_h:.1f} plain steps"


def row_why(cells: dict[str, dict[str, Any]]) -> str:
    """The row's sentence: its best n, and the worst one tried where that loses."""
    tried = {int(key): cell for key, cell in cells.items() if key != "off" and cell["speedup"] is not None}
    if not tried:
        if any(cell["tok_s"] for key, cell in cells.items() if key != "off"):
            return NO_BASELINE
        return "nothing but the baseline is measured" if cells.get("off", {}).get("tok_s") else _nothing_why(cells)
    best = max(tried, key=lambda n: (tried[n]["speedup"], -n))
    last = max(tried)
    lead = f"n={best} pays" if tried[best]["verdict"] == "wins" else "no n pays"
    shown = tried[best if len(tried) == 1 or last == best else last]
    return f"{lead}; {shown['why']}" if shown["why"] else lead


def _nothing_why(cells: dict[str, dict[str, Any]]) -> str:
    broken = next((cell for cell in cells.values() if cell["status"] in ("failed", "invalid", "excluded")), None)
    return f"{broken['status']}: {broken['why']}" if broken else "nothing is measured yet"


def losing_why(cells: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Column → one line, for every cell that loses."""
    return {name: cell["why"] for name, cell in cells.items() if cell["verdict"] == "loses" and cell["why"]}
