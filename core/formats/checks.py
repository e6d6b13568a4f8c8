"""Checks that catch a misread request: sums and ratios that must hold in what a server prints. At most one sentence per request."""

from __future__ import annotations

from core.formats.requests import Request, RequestFacts
from core.formats.statistics import warnings_of as statistics_warnings

LONGEST_LIST = 20  # sentences; a file that is wrong everywhere is not told line by line


def rises(rates: list[float] | tuple[float, ...]) -> bool:
    """Whether a later position is accepted more often than an earlier one, which unconditional rates cannot be."""
    return any(later > earlier + 0.0011 for earlier, later in zip(rates, rates[1:], strict=False))


def request_warning(request: Request) -> str | None:
    """The first check that fails; None where all hold or nothing can be checked."""
    return _counts(request) or _positions(request) or _times(request)


def _counts(request: Request) -> str | None:
    accepted, drafted = request.accepted, request.drafted
    if accepted is None or drafted is None:
        return None
    if accepted > drafted:
        return f"More draft tokens accepted ({accepted}) than drafted ({drafted})."
    share = accepted / drafted if drafted else None
    if share is not None and request.share_printed is not None and abs(share - request.share_printed) > 0.0006:
        return f"The printed acceptance {request.share_printed} is not accepted over drafted ({share:.5f})."
    if request.predicted_n is not None and accepted >= request.predicted_n:
        return f"More draft tokens accepted ({accepted}) than tokens generated after the first ({request.predicted_n - 1})."
    return None


def _positions(request: Request) -> str | None:
    rates = request.per_pos
    if rates and rises(rates):
        return "An acceptance rate per position rises, which unconditional rates cannot do."
    if rates and request.mean_len is not None and abs(sum(rates) - (request.mean_len - 1)) > 0.006 + 0.0006 * len(rates):
        return f"The rates per position add up to {sum(rates):.3f}, the mean length less one is {request.mean_len - 1:.2f}."
    if rates and request.predicted_n and request.accepted is not None and request.drafted is not None:
        steps = request.predicted_n - 1 - request.accepted
        if request.drafted > (steps + 1) * len(rates):
            return f"More drafted ({request.drafted}) than {steps} steps of {len(rates)} positions can hold."
    return None


def _times(request: Request) -> str | None:
    if request.predicted_ms == 0 and request.predicted_n:
        return "The eval time is printed as 0 ms: a known fault of some builds, the time is unknown."
    if request.predicted_ms and request.predicted_n and request.tps_printed:
        rates = [1000 * n / request.predicted_ms for n in (request.predicted_n, request.predicted_n - 1)]
        if all(abs(rate - request.tps_printed) > 0.006 + 0.002 * rate for rate in rates):
            return f"The printed {request.tps_printed} tokens/s agrees with neither tokens nor tokens - 1 over the time."
    parts = (request.prompt_ms, request.predicted_ms, request.total_ms)
    if None not in parts and abs(parts[0] + parts[1] - parts[2]) > 0.03:  # type: ignore[operator]
        return "Prompt and eval time do not add up to the total time."
    counts = (request.prompt_n, request.predicted_n, request.total_tokens)
    if None not in counts and abs(counts[0] + counts[1] - counts[2]) > 1:  # type: ignore[operator]
        return "Prompt and generated tokens do not add up to the total."
    return None


def request_warnings(facts: RequestFacts) -> list[str]:
    """Sentences for a whole log: requests first, then the statistics lines."""
    found = [warning for request in facts.requests if (warning := request_warning(request))]
    for entry in facts.statistics.values():
        found += statistics_warnings(entry)
    found += _since_start(facts)
    if facts.dropped:
        found.append(f"{facts.dropped} later requests were not summed up: too many in one file.")
    return list(dict.fromkeys(found))[:LONGEST_LIST]


def _since_start(facts: RequestFacts) -> list[str]:
    """What counts since the start cannot be less than the last request alone."""
    own = [request for request in facts.requests if request.drafted is not None]
    entries = [entry for entry in facts.statistics.values() if entry.acc_tokens <= entry.gen_tokens]
    if not own or not entries or len(entries) != len(facts.statistics) or own[-1].accepted is None:
        return []
    accepted = sum(entry.acc_tokens for entry in entries)
    if own[-1].accepted > accepted and own[-1].accepted <= (own[-1].drafted or 0):
        return [f"The statistics count fewer accepted tokens since the start ({accepted}) than one request has ({own[-1].accepted})."]
    return []
