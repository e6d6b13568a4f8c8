"""Three checklists as data: failure modes, sweep protocol, what to do this week. A line is ticked by evidence, never by hand.

A line is {text, state: done | seen | open, evidence, advice, door: (page, query) | None}. `seen`: the mode was found; `open`: not told yet.
"""

from __future__ import annotations

from typing import Any

from core.domain.diagnosis import Sight
from core.domain.failure_modes import MODES
from core.domain.worksheet import Evidence, rate_range

Line = dict[str, Any]
DONE, SEEN, OPEN = "done", "seen", "open"
NOT_MEASURED = "Nothing is measured for it yet."
RECIPE_FILE = "The product writes the recipe file from the run's page; what production starts, it cannot see."


def line(text: str, state: str, evidence: str, *, advice: str = "", door: tuple[str, dict[str, str]] | None = None) -> Line:
    """One line of a list."""
    return {"text": text, "state": state, "evidence": evidence, "advice": advice, "door": door}


def failure_mode_lines(sight: Sight | None, *, serves_one_stream: bool = False) -> list[Line]:
    """Every known mode against one candidate cell: found, ruled out with its figure, or not told by what was recorded."""
    return [_mode(code, title, look, advice, sight, serves_one_stream) for code, title, look, advice in MODES]


def _mode(code: str, title: str, look: Any, advice: str, sight: Sight | None, serves_one_stream: bool) -> Line:
    if sight is None:
        return {**line(title, OPEN, NOT_MEASURED, advice=advice), "code": code}
    seen, clear = look(sight), _CLEAR[code](sight)
    if code == "one_stream" and serves_one_stream:
        seen, clear = None, "production serves one stream, and one stream was measured"
    state = SEEN if seen else DONE if clear else OPEN
    return {**line(title, state, seen or clear or "Not recorded.", advice=advice), "code": code}


def _lengths(sight: Sight) -> str | None:
    return f"n_max {', '.join(map(str, sight.measured_n))} measured in one run" if sight.measured_n else None


def _accepted(sight: Sight) -> str | None:
    return f"{sight.accept_share:.0%} of the proposed tokens were accepted" if sight.accept_share is not None else None


def _placed(sight: Sight) -> str | None:
    return f"placement {sight.placement}" if sight.placement != "unknown" else None


def _drafting(sight: Sight) -> str | None:
    return f"drafting takes {sight.draft_share:.0%} of a step" if sight.draft_share is not None else None


def _suite(sight: Sight) -> str | None:
    return f"{sight.suite_runs[0]} suite runs off, {sight.suite_runs[1]} on" if sight.suite_runs else None


def _production(sight: Sight) -> str | None:
    return f"at c={sight.production_c}: {sight.production}" if sight.production else None


def _prompt(sight: Sight) -> str | None:
    if not sight.prefill_tok_per_s or not sight.ttft_ms:
        return None
    prefill, ttft = sight.prefill_tok_per_s, sight.ttft_ms
    return f"prefill {prefill[0]:.0f} → {prefill[1]:.0f} tok/s, first token {ttft[0]:.0f} → {ttft[1]:.0f} ms"


def _whole(sight: Sight) -> str | None:
    return f"a whole reply took {sight.reply_ms[0]:.0f} → {sight.reply_ms[1]:.0f} ms" if sight.reply_ms else None


_CLEAR: dict[str, Any] = {
    "copied_length": _lengths,
    "no_acceptance": _accepted,
    "across_spill": _placed,
    "contending": _drafting,
    "no_suite": _suite,
    "cold_mixed": lambda sight: f"{sight.cold_counted} counted repetitions were cold",
    "one_stream": _production,
    "slow_prefill": _prompt,
    "drift": lambda sight: "the baseline was measured again and did not move" if sight.drifted is False else None,
    "reply": _whole,
}


def protocol_lines(evidence: Evidence, gates: list[dict[str, Any]]) -> list[Line]:
    """The sweep protocol against one worksheet's run."""
    state = {gate["name"]: gate["state"] for gate in gates}
    off, first, c = evidence.baseline.single, evidence.steps.get(1), evidence.asked["production_c"]
    tried = sorted(n for n, cell in evidence.steps.items() if n and (cell["n"] or cell["n_bad"]))
    is_gapless = bool(tried) and tried == list(range(1, len(tried) + 1))
    lengths = f"tried: {', '.join(map(str, tried))}"
    moved = {True: "it moved: repeat on a quiet box", False: "it did not move", None: NOT_MEASURED}[evidence.drifted]
    stop = (evidence.stop or {}).get("text")
    production = evidence.candidate.production
    return [
        _told("Fix the recipe, then measure it with speculation off, three warm repetitions or more.",
              off and off["n"] >= 3, rate_range(off) + " tok/s" if off and off["n"] else None),
        _told("Measure n_max 1 with its acceptance.", first and first["n"] >= 3 and first["steps"], _step_words(first)),
        _told("Run the product's suite with speculation off and on.", state.get("suite") in ("pass", "fail"),
              "scores on both sides" if state.get("suite") in ("pass", "fail") else None),
        _told("Go on one token at a time, only while each step pays; keep the step that lost.", stop, stop),
        _told("Skip no length, least of all on a spilled mixture of experts.", is_gapless, lengths if tried else None),
        _told("Measure the baseline again at the end.", evidence.drifted is False, moved),
        _told(f"Measure winner and baseline again at the production concurrency (c={c}).", state.get("production") == "pass",
              rate_range(production) + f" tok/s at c={c}" if production and production["n"] else None),
        line("Put the winning n_max into the recipe file that production starts from.", OPEN, RECIPE_FILE),
    ]  # fmt: skip


def _told(text: str, is_done: Any, evidence: str | None) -> Line:
    return line(text, DONE if is_done else OPEN, evidence or NOT_MEASURED)


def _step_words(cell: dict[str, Any] | None) -> str | None:
    if not cell or not cell["n"]:
        return None
    accepted = f"{cell['accepted'] / cell['drafted']:.0%} of {cell['drafted']} proposed" if cell["drafted"] else "acceptance not recorded"
    return f"{rate_range(cell)} tok/s, {accepted}"
