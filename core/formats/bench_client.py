"""Community clients with one line per request: mtp-bench (`pred= draft= acc=`, then JSON or `AGG`) and probe (`tok/s median | runs`)."""

from __future__ import annotations

import math
import re
import statistics as stats
from typing import Any

from core.domain import price
from core.formats.lines import Line
from core.formats.numbers import count, kept, number, numbers, ratio

KEPT = 50_000
_REQUEST = re.compile(r"pred= *(\d+) +draft= *(\d+) +acc= *(\d+) +rate= *([\d.]+|nan|n/a) +tok/s= *([\d.]+)")
_AGG = re.compile(r"\b(draft|acc|pred|wall)= *([\d.]+)")
_JSON = re.compile(r'"(n_requests|total_predicted|total_draft|total_draft_accepted|aggregate_accept_rate|wall_s_total)": *([\d.]+)')
_PROBE = re.compile(r"([\d.]+) tok/s median \| runs: \[([^\]]{0,4000})\]")
_TOTALS = {"draft": "total_draft", "acc": "total_draft_accepted", "pred": "total_predicted", "wall": "wall_s_total"}


class ClientFacts:
    """Collects requests and the totals printed after them."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, int, int, float | None, float | None]] = []
        self.totals: dict[str, float] = {}
        self.probes: list[float] = []
        self.probe_median: float | None = None

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"tok/s": "on_request", "AGG": "on_aggregate", '": ': "on_json"}

    def on_request(self, line: Line) -> None:
        """One request, or one probe line."""
        found, probe = _REQUEST.search(line.text), _PROBE.search(line.text)
        if found and len(self.requests) < KEPT:
            n, drafted, accepted = (count(text) or 0 for text in found.groups()[:3])
            self.requests.append((n, drafted, accepted, number(found[4]), number(found[5])))
        if probe:
            self.probe_median = number(probe[1])
            self.probes = numbers(probe[2])

    def on_aggregate(self, line: Line) -> None:
        """`AGG accept= draft= acc= pred= wall=`."""
        if line.text.startswith("AGG"):
            self.totals.update({_TOTALS[name]: value for name, text in _AGG.findall(line.text) if (value := number(text)) is not None})

    def on_json(self, line: Line) -> None:
        """A line of the aggregate object."""
        self.totals.update({name: value for name, text in _JSON.findall(line.text) if (value := number(text)) is not None})

    @property
    def found(self) -> bool:
        """Whether anything of a client was read."""
        return bool(self.requests or self.probe_median is not None or "total_predicted" in self.totals)

    def _sum(self, index: int, name: str) -> int | None:
        """A total: printed, else summed over the requests."""
        if self.requests:
            return sum(int(request[index] or 0) for request in self.requests)
        return count(self.totals.get(name))

    def result(self) -> dict[str, Any]:
        """The keys of kind `bench_client`; rates in tokens/s as the client saw them."""
        n, drafted, accepted = self._sum(0, "total_predicted"), self._sum(1, "total_draft"), self._sum(2, "total_draft_accepted")
        many = len(self.requests) or count(self.totals.get("n_requests")) or len(self.probes) or None
        steps, a = None, None
        if n is not None and accepted is not None and drafted and many:
            decoded = n - (many - 1)
            steps = price.steps_taken(decoded, accepted)
            steps, a = (steps, kept(price.tokens_per_step(decoded, accepted))) if steps >= 1 else (None, None)
        rates = [request[4] for request in self.requests if request[4] is not None] or self.probes
        return {
            "requests": many,
            "predicted_n": n,
            "drafted": drafted if drafted else None,
            "accepted": accepted if drafted else None,
            "accept_share": kept(ratio(accepted, drafted)),
            "steps": steps,
            "a": a,
            "n_max_inferred": math.ceil(drafted / steps - 1e-9) if drafted and steps else None,
            "tps_min": min(rates) if rates else None,
            "tps_median": self.probe_median
            if not self.requests and self.probe_median is not None
            else (stats.median(rates) if rates else None),
            "tps_max": max(rates) if rates else None,
            "wall_s": self.totals.get("wall_s_total"),
        }

    def warnings(self) -> list[str]:
        """The first check that fails."""
        for n, drafted, accepted, rate, _ in self.requests:
            if accepted > drafted:
                return [f"More draft tokens accepted ({accepted}) than drafted ({drafted})."]
            if drafted and rate is not None and abs(accepted / drafted - rate) > 0.0011:
                return [f"The printed rate {rate} is not accepted over drafted ({accepted / drafted:.3f})."]
            if accepted >= n > 0:
                return [f"More draft tokens accepted ({accepted}) than tokens generated after the first ({n - 1})."]
        for index, name in ((0, "total_predicted"), (1, "total_draft"), (2, "total_draft_accepted")):
            printed = self.totals.get(name)
            if self.requests and printed is not None and printed != self._sum(index, name):
                return [f"The printed total {printed:.0f} is not the sum over the requests ({self._sum(index, name)})."]
        return []
