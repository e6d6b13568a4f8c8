"""What a server's request lines say: the request's own figures, the statistics since the start beside them, and the price of a step.

The arm with drafts is the candidate, an arm without is its baseline. a divides by all steps, with or without a draft.
"""

from __future__ import annotations

import math
import statistics as stats
from typing import Any

from core.domain import price
from core.formats.numbers import kept, ratio, total
from core.formats.requests import Request, RequestFacts
from core.formats.statistics import SpecStatistics, difference

Values = dict[str, Any]


def split_arms(facts: RequestFacts) -> tuple[list[Request], list[Request]]:
    """(requests of the arm with drafts, requests of the arm without). Without any draft all requests stand in the second list.

    A request without a draft on a server that drafts belongs to that server: n-gram methods often have nothing to propose.
    """
    spec = [request for request in facts.requests if request.drafted is not None]
    plain = [request for request in facts.requests if request.drafted is None and request.predicted_ms is not None]
    if not spec or not plain:
        return spec, plain
    drafting = {request.arm for request in spec}
    stamped = any(request.stamp_s is not None for request in facts.requests)
    same = [r for r in plain if r.arm in drafting and (stamped or any("ngram" in name for name in facts.statistics))]
    for request in same:
        request.accepted, request.drafted = 0, 0
    inside = [request for request in facts.requests if request.drafted is not None]
    return inside, [request for request in plain if request.drafted is None]


def decode_sums(requests: list[Request]) -> tuple[int | None, float | None]:
    """(tokens, ms) of decode, summed; the tokens less one for each request after the first, so that one less makes all decode tokens."""
    known = [(r.predicted_n, r.predicted_ms) for r in requests]
    if not known or any(n is None or n < 1 or not ms for n, ms in known):
        return None, None
    return sum(n or 0 for n, _ in known) - (len(known) - 1), math.fsum(ms or 0.0 for _, ms in known)


def request_values(requests: list[Request]) -> Values:
    """Counts and times of some requests, summed; times in ms. A figure missing in one request is unknown in the sum."""
    out: Values = {"requests": len(requests) or None}
    for key in ("prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "accepted", "drafted", "total_ms", "total_tokens"):
        value = total([getattr(request, key) for request in requests])
        out[key] = int(value) if value is not None and not key.endswith("_ms") else value
    out["accept_share"] = kept(ratio(out["accepted"], out["drafted"]))
    if len(requests) == 1:
        one = requests[0]
        out.update(tps_printed=one.tps_printed, mean_len=one.mean_len, per_pos=list(one.per_pos) or None)
        out.update(truncated=one.truncated, n_tokens=one.n_tokens)
    elif requests:
        out["truncated"] = any(r.truncated for r in requests) if any(r.truncated is not None for r in requests) else None
    out.update(_rates(requests))
    return out


def _rates(requests: list[Request]) -> Values:
    """Decode rates per request, tokens/s, each by (tokens - 1) / time."""
    pairs = [(r.predicted_ms, r.predicted_n) for r in requests if r.predicted_ms and r.predicted_n]
    rates = [rate for ms, n in pairs if (rate := price.decode_tok_per_s(ms, n)) is not None]
    if len(rates) < 2 or len(rates) != len(requests):
        return {}
    low, high = min(rates), max(rates)
    return {
        "tps": [round(rate, 6) for rate in rates[:1000]],
        "tps_min": kept(low),
        "tps_median": kept(stats.median(rates)),
        "tps_max": kept(high),
        "spread_over_min_pct": kept(100 * (high - low) / low),
    }


def step_values(requests: list[Request], accepted: int | None) -> Values:
    """steps, a, step_ms, cost_per_token_ms (ms); null where the lines do not suffice."""
    n, ms = decode_sums(requests)
    out: Values = {"steps": None, "a": None, "step_ms": None, "cost_per_token_ms": None}
    if n is None or ms is None:
        return out
    out["cost_per_token_ms"] = kept(price.plain_step_ms(ms, n))
    if accepted is not None and price.steps_taken(n, accepted) >= 1:
        out["steps"] = price.steps_taken(n, accepted)
        out["a"] = kept(price.tokens_per_step(n, accepted))
        out["step_ms"] = kept(price.step_ms(ms, n, accepted))
    return out


def own_statistics(facts: RequestFacts, requests: list[Request]) -> SpecStatistics | None:
    """The statistics of just these requests, where they can be had: one method, and counts that match the requests' own."""
    if len(facts.statistics) != 1 or not requests:
        return None
    (last,) = facts.statistics.values()
    drafted, accepted = total([r.drafted for r in requests]), total([r.accepted for r in requests])
    if last.calls_b == len(requests) and (last.gen_tokens, last.acc_tokens) == (drafted, accepted):
        return last
    (first,) = facts.first_statistics.values()
    rest = difference(first, last) if facts.statistics_lines > 1 else None
    later = requests[1:]
    if rest and rest.calls_b == len(later) and rest.gen_tokens == total([r.drafted for r in later]):
        return rest
    return None


def since_start_values(facts: RequestFacts) -> Values:
    """The newest statistics lines: every request and client since the server started, methods apart."""
    if not facts.statistics:
        return {}
    entries = list(facts.statistics.values())
    drafted, accepted = sum(e.gen_tokens for e in entries), sum(e.acc_tokens for e in entries)
    out: Values = {
        "since_start": {
            e.name: {"drafts": e.gen_drafts, "drafted": e.gen_tokens, "accepted": e.acc_tokens, "accept_share": kept(e.accept_share)}
            for e in entries
        },
        "since_start_accepted": accepted,
        "since_start_drafted": drafted,
        "since_start_accept_share": kept(ratio(accepted, drafted)),
        "since_start_requests": max(e.calls_b for e in entries),
        "since_start_D_ms": kept(entries[0].D_ms) if len(entries) == 1 else None,
    }
    active = [e.name for e in entries if e.gen_tokens] or [e.name for e in entries]
    out["spec_type"] = ",".join(active)
    return out


def draft_values(facts: RequestFacts, values: Values, own: SpecStatistics | None) -> Values:
    """What can be said of the drafts of these requests: their number, length, and the rates by position."""
    out: Values = {"drafts": own.calls_a if own else None, "draft_calls": own.calls_g if own else None}
    mean_len, per_pos = values.get("mean_len"), values.get("per_pos")
    accepted, drafted = values.get("accepted"), values.get("drafted")
    if own and own.calls_a:
        out["mean_len_over_drafts"] = kept(1 + own.acc_tokens / own.calls_a)
        mean_len = out["mean_len"] = mean_len if mean_len is not None else out["mean_len_over_drafts"]
        out["drafted_per_draft"] = kept(own.gen_tokens / own.calls_a)
        per_pos = out["per_pos"] = per_pos or _rates_from_counts(own)
    elif mean_len is not None and mean_len > 1 and accepted:
        implied = accepted / (mean_len - 1)
        out["drafts_implied_min"] = math.ceil(accepted / (mean_len + 0.005 - 1))
        out["drafts_implied_max"] = math.floor(accepted / (mean_len - 0.005 - 1)) if mean_len > 1.005 else None
        out["drafted_per_draft"] = kept(drafted / implied) if drafted is not None else None
    if values.get("per_pos"):
        out["n_max_at_least"] = out["per_pos_len"] = len(values["per_pos"])
    out["per_pos_sum"] = kept(math.fsum(per_pos)) if per_pos else None
    out["n_max_inferred"] = _n_max(facts, values)
    return out


def _rates_from_counts(own: SpecStatistics) -> list[float] | None:
    """Rates by position where counts alone give them: drafts of one length 1 or 2."""
    longest = ratio(own.gen_tokens, own.gen_drafts)
    if own.per_pos:
        return list(own.per_pos)
    if longest == 1:
        return [round(own.acc_tokens / own.calls_a, 6)]
    if longest == 2:
        return [round(own.acc_drafts / own.calls_a, 6), round((own.acc_tokens - own.acc_drafts) / own.calls_a, 6)]
    return None


def _n_max(facts: RequestFacts, values: Values) -> int | None:
    """n_max from drafted tokens and steps; only where every step drafts, which n-gram methods and chains do not."""
    steps, drafted = values.get("steps"), values.get("drafted")
    if not steps or not drafted or len([e for e in facts.statistics.values() if e.gen_tokens]) > 1:
        return None
    if any("ngram" in name or name in ("suffix",) for name in facts.statistics):
        return None
    return max(math.ceil(drafted / steps - 1e-9), len(values.get("per_pos") or ()))


def values_of(facts: RequestFacts) -> Values:
    """The request keys shared by `server_log` and `load_log`."""
    spec, plain = split_arms(facts)
    head = spec or plain
    out = request_values(head)
    out.update(step_values(head, out.get("accepted")))
    own = own_statistics(facts, spec)
    out.update(since_start_values(facts))
    out.update({key: value for key, value in draft_values(facts, out, own).items() if value is not None or key not in out})
    out["D_ms"] = kept(own.D_ms) if own else None
    out["V_ms"] = None if out["D_ms"] is None or out["step_ms"] is None else kept(out["step_ms"] - out["D_ms"])
    out["arms"] = 2 if spec and plain else (1 if head else None)
    out["priceable"] = out["step_ms"] is not None if spec else None
    out.update(_against_base(out, spec, plain))
    out["prompt_progress"], out["prompt_tokens_done"] = facts.prompt_progress, facts.prompt_tokens_done
    return out


def _against_base(values: Values, spec: list[Request], plain: list[Request]) -> Values:
    """H and the speed-up where a baseline stands in the same file."""
    n, ms = decode_sums(plain)
    h_ms = price.plain_step_ms(ms, n) if n is not None and ms is not None else None
    out: Values = {"H_ms": kept(h_ms), "speedup": None}
    if not spec or not plain:
        return out
    base = request_values(plain)
    out.update(base_predicted_n=base["predicted_n"], base_predicted_ms=base["predicted_ms"])
    speedup = ratio(h_ms, values["cost_per_token_ms"])
    if speedup is None:
        return out
    out["speedup"] = kept(speedup)
    out["verdict"] = _verdict(speedup, values, base)
    out["wins"] = out["verdict"] == "wins"
    return out


def _verdict(speedup: float, spec: Values, base: Values) -> str:
    """`noise` where the ranges of repeated requests overlap, else what the speed-up says; `tie` inside the band without repetitions."""
    if spec.get("tps_min") is not None and base.get("tps_min") is not None:
        if spec["tps_min"] <= base["tps_max"] and base["tps_min"] <= spec["tps_max"]:
            return "noise"
    verdict = price.verdict_of(speedup)
    return "tie" if verdict == "no-difference" else verdict
