"""The known ways in which a speculation bench misleads, named when they are seen in a cell. Pure."""

from __future__ import annotations

from collections.abc import Callable

from core.domain.diagnosis import DRAFT_SHARE, SEEN, SLOWER, Finding, Sight

Seen = str | None


def failure_modes(sight: Sight) -> list[Finding]:
    """Those that the cell shows, in a fixed order; empty for a baseline or a clean cell."""
    if not sight.n_max:
        return []
    found = [(code, title, look(sight), advice) for code, title, look, advice in MODES]
    return [Finding(code, title, SEEN, evidence, advice) for code, title, evidence, advice in found if evidence]


def _copied_length(sight: Sight) -> Seen:
    skipped = [n for n in range(1, sight.n_max) if n not in sight.measured_n]
    if not skipped or sight.placement == "resident" and sight.is_moe is False:
        return None
    missing = ", ".join(map(str, skipped))
    return f"n_max {sight.n_max} was measured without n_max {missing}: a length that suits a dense, resident model may lose here."


def _no_acceptance(sight: Sight) -> Seen:
    return (
        "How many drafts were right is not known: neither break-even nor the dominant cost can be told."
        if sight.accept_share is None
        else None
    )


def _across_spill(sight: Sight) -> Seen:
    if sight.placement != "spilled":
        return None
    share = f" ({sight.host_share:.0%} of the weights)" if sight.host_share is not None else ""
    return f"Part of the model lies on the host{share}; every verified token reads it."


def _contending(sight: Sight) -> Seen:
    if sight.draft_share is None or sight.draft_share < DRAFT_SHARE:
        return None
    return f"Drafting takes {sight.draft_share:.0%} of a step: draft and target contend."


def _no_suite(sight: Sight) -> Seen:
    if sight.suite_runs is None or min(sight.suite_runs) >= 2:
        return None
    return f"Tool suite runs: {sight.suite_runs[0]} with speculation off, {sight.suite_runs[1]} on; two a side are needed."


def _cold_mixed(sight: Sight) -> Seen:
    return f"{sight.cold_counted} counted repetitions were cold." if sight.cold_counted else None


def _one_stream(sight: Sight) -> Seen:
    if sight.c > 1 or sight.production is not None:
        return None
    served = f"; the product serves at c={sight.production_c}" if sight.production_c and sight.production_c > 1 else ""
    return f"Measured at one stream only{served}."


def _slow_prefill(sight: Sight) -> Seen:
    seen = []
    if sight.prefill_tok_per_s and sight.prefill_tok_per_s[1] < sight.prefill_tok_per_s[0] * (1 - SLOWER):
        seen.append(f"prefill {sight.prefill_tok_per_s[0]:.0f} → {sight.prefill_tok_per_s[1]:.0f} tok/s")
    if sight.ttft_ms and sight.ttft_ms[1] > sight.ttft_ms[0] * (1 + SLOWER):
        seen.append(f"first token after {sight.ttft_ms[0]:.0f} → {sight.ttft_ms[1]:.0f} ms")
    return f"Decode {sight.speedup:.2f}×, but {', '.join(seen)}." if seen and (sight.speedup or 0) > 1 else None


def _drift(sight: Sight) -> Seen:
    return "The baseline moved during the run." if sight.drifted else None


def _reply(sight: Sight) -> Seen:
    if not sight.speedup or sight.speedup <= 1 or not sight.reply_ms:
        return None
    before, after = sight.reply_ms
    gain = before / after
    if gain >= 1 + (sight.speedup - 1) / 2:
        return None
    return f"Decode is {sight.speedup:.2f}×, a whole reply {gain:.2f}× ({before:.0f} → {after:.0f} ms): chat latency is not decode speed."


MODES: tuple[tuple[str, str, Callable[[Sight], Seen], str], ...] = (
    ("copied_length", "draft length copied from another class of model", _copied_length, "Measure the shorter lengths first."),
    ("no_acceptance", "acceptance not recorded", _no_acceptance, "Run it with the engine's own counts."),
    ("across_spill", "verification across host spill", _across_spill, "Keep more on the GPU, or draft shorter."),
    ("contending", "draft and target contending", _contending, "A smaller or shorter draft."),
    ("no_suite", "speed claim without a suite run", _no_suite, "Run the tool suite, off and on."),
    ("cold_mixed", "cold and warm mixed", _cold_mixed, "Leave the cold repetitions out."),
    ("one_stream", "one stream only", _one_stream, "Measure baseline and candidate at the production concurrency."),
    ("slow_prefill", "prefill slowed while decode gained", _slow_prefill, "Weigh it by the workload's prompt length."),
    ("drift", "heat or drift", _drift, "Repeat the run on a quiet box."),
    ("reply", "chat latency claimed from decode speed", _reply, "State the time of a whole reply."),
)
