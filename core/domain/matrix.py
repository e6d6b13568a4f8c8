"""The results matrix: rows model × spill, columns n_max. Joins a cell to its baseline, says what it shows and why."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from core.domain.looks import limit_for
from core.domain.price import Price, price_pair
from core.domain.sound import cell_faults, is_rate, rate_fault, share_fault
from core.domain.stats import ABOVE, BELOW, MIN_GAIN, NO_DIFFERENCE, TOO_FEW, compare

COLUMNS = ("off", "1", "2", "3")
SHOWN = ("ok", "stale")  # a stale cell keeps its figures
ARM_FIGURES = (
    "recipe_id", "tok_per_s", "tok_per_s_min", "tok_per_s_max", "decode_tokens", "predicted_ms", "steps", "drafted", "accepted", "d_ms",
    "ttft_ms", "prefill_tok_per_s", "first_at", "last_at", "planned", "recipes", "last_position",
)  # fmt: skip
FEWEST = 3  # repetitions a side, below which nothing can be said of two arms
NO_BASELINE = "no usable baseline beside it: a speed-up cannot be told"
_VERDICTS = {ABOVE: "wins", BELOW: "loses"}


def column(n_max: int) -> str:
    """Column key of an n_max: "off" for the baseline."""
    return "off" if n_max == 0 else str(n_max)


def not_run() -> dict[str, Any]:
    """A blank that says so: nothing was measured here, which is not zero."""
    return {
        "tok_s": None, "tok_s_min": None, "tok_s_max": None, "n": 0, "speedup": None, "accept_share": None, "accept_denominator": None,
        "status": "not_run", "verdict": None, "provenance": None, "source": None, "run_id": None, "cell_id": None, "why": "",
        "accept_status": "not_run", "faults": [], "price": None,
    }  # fmt: skip


def published_accepted(n_max: int, accept_share: float | None) -> float | None:
    """a of a published cell: tokens per step when every step proposed n_max tokens (assumed where the source is silent)."""
    return None if accept_share is None else 1.0 + n_max * accept_share


def accept_status(n_max: int | None, share: float | None, faults: list[str]) -> str:
    """Why there is an acceptance or none: ok | not_applicable (speculation off) | invalid | not_recorded."""
    if n_max == 0:
        return "not_applicable"
    return "ok" if share is not None else "invalid" if faults else "not_recorded"


def invalid_cell(filled: dict[str, Any], fault: str) -> dict[str, Any]:
    """A cell whose figure cannot be: nothing is worked out from it, and it says what came and from where."""
    blank = {"tok_s": None, "tok_s_min": None, "tok_s_max": None, "speedup": None, "verdict": None, "price": None}
    return {**filled, **blank, "status": "invalid", "why": f"{fault} ({filled['source']})", "faults": [fault, *filled["faults"]]}


def published_cell(cell: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    """Matrix cell of one published figure; speed-up worked out from the row's own two speeds."""
    price, wrong = published_price(cell, baseline), share_fault(cell["accept_share"])
    faults = [wrong] if wrong else []
    share = None if wrong else cell["accept_share"]
    filled = {
        **not_run(),
        "tok_s": cell["tok_per_s"], "n": None, "speedup": price.speedup if price else None, "accept_share": share,
        "accept_denominator": cell["accept_denominator"], "status": "ok", "verdict": price.verdict if price else None,
        "provenance": "transcribed", "source": cell["source"], "cell_id": f"published~{cell['row_key']}~{cell['n_max']}",
        "why": pair_why(price, cell["n_max"]), "accept_status": accept_status(cell["n_max"], share, faults), "faults": faults,
        "price": price.as_json() if price else None,
    }  # fmt: skip
    return filled if is_rate(cell["tok_per_s"]) else invalid_cell(filled, str(rate_fault(cell["tok_per_s"])))


def published_price(cell: dict[str, Any], baseline: dict[str, Any] | None) -> Price | None:
    """Price of a published pair; None for the baseline itself or without one."""
    if not cell["n_max"] or baseline is None or not (is_rate(cell["tok_per_s"]) and is_rate(baseline["tok_per_s"])):
        return None
    share = None if share_fault(cell["accept_share"]) else cell["accept_share"]
    return price_pair(baseline["tok_per_s"], cell["tok_per_s"], cell["n_max"], a=published_accepted(cell["n_max"], share))


def measured_price(cell: dict[str, Any], baseline: dict[str, Any] | None) -> Price | None:
    """Price from a run's own counts: medians for the speed-up, a over all steps. None where either side has no good repetition.

    Above c=1 the step cost is per stream (1000 · c / aggregate), worked out from the same counts.
    """
    if not _is_pair(cell, baseline) or baseline is None:
        return None
    a = cell["decode_tokens"] / cell["steps"] if cell["steps"] and not cell_faults(cell) else None  # counts that cannot be: as unknown
    base, spec = baseline["tok_per_s"] / cell["c"], cell["tok_per_s"] / cell["c"]
    d_ms = cell["d_ms"] if a is not None and cell["d_ms"] is not None and cell["d_ms"] <= 1000.0 * a / spec else None
    return price_pair(base, spec, cell["n_max"], a=a, d_ms=d_ms, verdict=measured_verdict(cell, baseline) or "no-difference")


def _is_pair(cell: dict[str, Any], baseline: dict[str, Any] | None) -> bool:
    """Whether both sides have a good repetition and speeds that can be."""
    if not cell["n_max"] or baseline is None or not cell["n"] or not baseline["n"]:
        return False
    return not (arm_fault(cell) or arm_fault(baseline))


def measured_verdict(cell: dict[str, Any], baseline: dict[str, Any] | None) -> str | None:
    """wins | loses | no-difference by the noise rule; None for a baseline or where too few repetitions allow no word."""
    if not _is_pair(cell, baseline) or baseline is None:
        return None
    found = against(cell, baseline)
    return None if found == TOO_FEW else _VERDICTS.get(found, "no-difference")


def measured_cell(cell: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    """Matrix cell of one measured arm; failed, invalid and excluded ones keep their place with the reason."""
    price = measured_price(cell, baseline)
    status = cell_status(cell)
    drafted = cell["drafted"] if cell["n_max"] else None
    faults = cell_faults(cell)
    share = cell["accepted"] / drafted if drafted and cell["accepted"] is not None and not faults else None
    filled = {
        **not_run(),
        "tok_s": cell["tok_per_s"], "tok_s_min": cell["tok_per_s_min"], "tok_s_max": cell["tok_per_s_max"], "n": cell["n"],
        "speedup": price.speedup if price else None, "accept_share": share,
        "accept_denominator": f"of {drafted} proposed" if drafted else None, "status": status,
        "verdict": measured_verdict(cell, baseline), "provenance": "measured", "source": f"run {cell['run_id']}", "run_id": cell["run_id"],
        "cell_id": f"{cell['run_id']}-{cell['n_max']}-{cell['c']}",
        "why": pair_why(price, cell["n_max"]) if status == "ok" else (cell["why_bad"] or "no counted repetition"),
        "accept_status": accept_status(cell["n_max"], share, faults), "faults": faults, "price": price.as_json() if price else None,
    }  # fmt: skip
    wrong = arm_fault(cell) if status == "ok" else None
    return invalid_cell(filled, wrong) if wrong else filled


def arm_fault(cell: dict[str, Any]) -> str | None:
    """Why the repetitions of an arm cannot be shown as one figure; None where they can."""
    if (cell.get("recipes") or 1) > 1:
        return f"{cell['recipes']} recipes ran under this arm, and they are never averaged"
    return next((rate_fault(rate) for rate in (cell["tok_per_s"], *cell["rates"]) if not is_rate(rate)), None)


def unmeasured_arm(run_id: str, n_max: int, c: int, reason: str) -> dict[str, Any]:
    """An arm whose stage failed before one repetition was kept, in the form of a measured one: it has a receipt that says why."""
    counts = {"n": 0, "n_bad": 1, "n_excluded": 0, "rates": [], "why_bad": reason or "failed, without a reason"}
    return {**dict.fromkeys(ARM_FIGURES), "run_id": run_id, "n_max": n_max, "c": c, **counts}


def cell_status(cell: dict[str, Any]) -> str:
    """ok as soon as one counted repetition is good; otherwise what kept the others out. Only a warm-up so far: not run."""
    if cell["n"]:
        return "ok"
    if cell["n_excluded"]:
        return "excluded"
    return "failed" if cell["n_bad"] else "not_run"


def tied_with_best(cells: dict[str, dict[str, Any]], arms: dict[str, dict[str, Any]] | None = None) -> tuple[str | None, set[str]]:
    """The row's best column, as a sweep chooses its winner: the n that beats every smaller one, off included; the smaller n wins a tie.

    With it all columns that cannot be told from it beyond noise. `arms`: column → measured arm with its single `rates`; without them two
    figures are apart from 2 % on, and where they carry ranges only if these do not overlap. (None, nothing) where nothing can be said.
    """
    arms = arms or {}
    good = [name for name in sorted(cells, key=_length) if cells[name]["status"] in SHOWN and cells[name]["tok_s"]]
    good = [name for name in good if name not in arms or len(arms[name]["rates"]) >= FEWEST]
    if len(good) < 2:
        return None, set()

    def order(longer: str, shorter: str) -> str:
        if longer in arms and shorter in arms:
            return against(arms[longer], arms[shorter])
        return _apart(cells[longer], cells[shorter])

    best = good[0]
    for name in good[1:]:
        best = name if order(name, best) == ABOVE else best
    return best, {best} | {name for name in good if order(*sorted((name, best), key=_length, reverse=True)) not in (ABOVE, BELOW)}


def _length(name: str) -> int:
    return 0 if name == "off" else int(name)


def against(longer: dict[str, Any], shorter: dict[str, Any]) -> str:
    """Above, below, no difference or too few: the noise rule for two measured arms, off being the shortest.

    An arm that got more repetitions than planned was looked at more than once and has to clear the stricter limit.
    """
    return _against(tuple(longer["rates"]), tuple(shorter["rates"]), longer.get("planned") or FEWEST)


@lru_cache(maxsize=8192)
def _against(longer: tuple[float, ...], shorter: tuple[float, ...], planned: int) -> str:
    """A row asks the same of its arms several times."""
    return compare(longer, shorter, p_limit=limit_for(longer, planned)).verdict


def _apart(longer: dict[str, Any], shorter: dict[str, Any]) -> str:
    """Two single figures, with or without ranges."""
    ratio = longer["tok_s"] / shorter["tok_s"]
    if 1.0 - MIN_GAIN < ratio < 1.0 + MIN_GAIN:
        return NO_DIFFERENCE
    fast, slow = (longer, shorter) if ratio > 1 else (shorter, longer)
    if None not in (slow["tok_s_max"], fast["tok_s_min"]) and slow["tok_s_max"] >= fast["tok_s_min"]:
        return NO_DIFFERENCE
    return ABOVE if ratio > 1 else BELOW


def pair_why(price: Price | None, n_max: int) -> str:
    """As cell_why; an arm with drafts and no price says that its baseline is missing."""
    return NO_BASELINE if price is None and n_max else cell_why(price, n_max)


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


def row_why(cells: dict[str, dict[str, Any]], best: str | None) -> str:
    """The row's sentence: its best n, and the longest one tried, where drafts stop to pay."""
    tried = {int(key): cell for key, cell in cells.items() if key != "off" and cell["speedup"] is not None and cell["status"] in SHOWN}
    if not tried:
        if any(cell["status"] == "invalid" and cell["tok_s"] for cell in cells.values()):
            return _nothing_why({name: cell for name, cell in cells.items() if cell["status"] == "invalid"})
        if any(cell["tok_s"] for key, cell in cells.items() if key != "off"):
            return NO_BASELINE
        return "nothing but the baseline is measured" if cells.get("off", {}).get("tok_s") else _nothing_why(cells)
    lead = "too few repetitions for a word" if best is None else "no n pays" if best == "off" else f"n={best} pays"
    shown = tried[max(tried)]
    return f"{lead}; {shown['why']}" if shown["why"] else lead


def _nothing_why(cells: dict[str, dict[str, Any]]) -> str:
    broken = next((cell for cell in cells.values() if cell["status"] in ("failed", "invalid", "excluded")), None)
    return f"{broken['status']}: {broken['why']}" if broken else "nothing is measured yet"


def losing_why(cells: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Column → one line, for every cell that loses."""
    return {name: cell["why"] for name, cell in cells.items() if cell["verdict"] == "loses" and cell["why"]}
