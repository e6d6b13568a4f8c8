"""llama-speculative and llama-speculative-simple: the tool's own summary beside a target-only arm (`runs` line of another tool)."""

from __future__ import annotations

import re
from typing import Any

from core.domain import price
from core.formats.lines import Line
from core.formats.numbers import count, kept, number, percent, ratio

_SPEED = re.compile(r"(generated|decoded) +(\d+) tokens in +([\d.]+) seconds, speed: +([\d.]+|inf|nan) t/s")
_FIGURE = re.compile(r"^(n_draft|n_predict|n_drafted|n_accept) += (\d+)$")
_ACCEPT = re.compile(r"^accept += +([\d.]+)%$")
_RUNS = re.compile(r"(?<!prompt )eval time = +([\d.]+) ms / +(\d+) runs")
SAME_LENGTH = 0.1  # arms whose lengths differ by more are no pair: later tokens cost more


class ToolFacts:
    """Collects the summary; the last one of several counts."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.base: tuple[float, int] | None = None
        self.summaries = 0
        self._own_section = False

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "tokens in": "on_speed",
            "n_draft": "on_figure",
            "n_predict": "on_figure",
            "n_accept": "on_figure",
            "accept ": "on_figure",
            "draft:": "on_section",
            "target:": "on_section",
            " runs": "on_runs",
        }

    def on_speed(self, line: Line) -> None:
        """The result line: `decoded` (2023: `generated`) tokens, seconds, tokens/s."""
        found = _SPEED.search(line.text)
        if found:
            self.summaries += 1
            self._own_section = True  # eval lines from here on are the tool's own models
            self.values.update(predicted_n=count(found[2]), seconds=number(found[3]), tps=number(found[4]))

    def on_figure(self, line: Line) -> None:
        """`n_drafted = 104` and its like, and the printed per cent."""
        found, accept = _FIGURE.match(line.text), _ACCEPT.match(line.text)
        if found:
            self.values[found[1]] = count(found[2])
        if accept:
            self.values["accept_share"] = percent(accept[1])

    def on_section(self, line: Line) -> None:
        """`draft:` and `target:` head the tool's own timings."""
        if line.text in ("draft:", "target:"):
            self._own_section = True

    def on_runs(self, line: Line) -> None:
        """`eval time = … ms / N runs` outside those sections: the target alone."""
        found = _RUNS.search(line.text) if " runs" in line.text else None
        ms, runs = (number(found[1]), count(found[2])) if found else (None, None)
        if ms and runs and not self._own_section and self.base is None:
            self.base = (ms, runs)

    def result(self) -> dict[str, Any]:
        """The keys of kind `speculative_tool`."""
        n, accepted, drafted = self.values.get("predicted_n"), self.values.get("n_accept"), self.values.get("n_drafted")
        tps = self.values.get("tps")
        steps, a = None, None
        if n is not None and accepted is not None and price.steps_taken(n, accepted) >= 1:
            steps, a = price.steps_taken(n, accepted), price.tokens_per_step(n, accepted)
        base_tps = 1000 * self.base[1] / self.base[0] if self.base else None
        base_n = self.base[1] + 1 if self.base else None  # a run decodes one token after the first
        rate = ratio(n, self.values.get("seconds"))  # three printed digits are too few for a ratio
        speedup = ratio(rate if rate is not None else tps, base_tps)
        share = self.values.get("accept_share")
        return {
            "n_draft": self.values.get("n_draft"),
            "predicted_n": n,
            "drafted": drafted,
            "accepted": accepted,
            "accept_share": share if share is not None else kept(ratio(accepted, drafted)),
            "seconds": self.values.get("seconds"),
            "tps": tps,
            "steps": steps,
            "a": kept(a),
            "drafted_per_step": kept(ratio(drafted, steps)),
            "base_tps": kept(base_tps),
            "base_predicted_n": base_n,
            "comparable": abs(base_n - n) <= SAME_LENGTH * n if base_n and n else None,
            "speedup": kept(speedup),
            "wins": speedup > 1 if speedup is not None else None,
        }

    def warnings(self) -> list[str]:
        """The first check that fails."""
        out = self.result()
        n, accepted, drafted, share = out["predicted_n"], out["accepted"], out["drafted"], out["accept_share"]
        if self.summaries > 1:
            return [f"{self.summaries} results in one file: the figures are those of the last."]
        if accepted is not None and drafted is not None and accepted > drafted:
            return [f"More draft tokens accepted ({accepted}) than drafted ({drafted})."]
        computed = ratio(accepted, drafted)
        if computed is not None and share is not None and abs(computed - share) > 0.0001:
            return [f"The printed acceptance {share:.5f} is not accepted over drafted ({computed:.5f})."]
        if n is not None and accepted is not None and accepted >= n:
            return [f"More draft tokens accepted ({accepted}) than tokens decoded after the first ({n - 1})."]
        if n and out["seconds"] and out["tps"] and abs(n / out["seconds"] - out["tps"]) > 0.003 * out["tps"] + 0.0006:
            return [f"The printed {out['tps']} tokens/s does not follow from {n} tokens in {out['seconds']} s."]
        return []
