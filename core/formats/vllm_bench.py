"""`vllm bench serve` and SGLang's twin: `Key (unit): value` lines, or the saved JSON. TPOT is the decode price; ITL is per event.

The peak rate counts events, which hold several tokens each under speculation: it is unknown wherever it cannot be right.
"""

from __future__ import annotations

import re
from typing import Any

from core.formats.checks import rises
from core.formats.lines import Line
from core.formats.numbers import count, kept, number, ratio

_KEYS = {
    "successful requests": "requests",
    "failed requests": "failed",
    "maximum request concurrency": "concurrency",
    "max request concurrency": "concurrency",
    "benchmark duration (s)": "duration_s",
    "total input tokens": "input_tokens",
    "total generated tokens": "output_tokens",
    "request throughput (req/s)": "req_per_s",
    "output token throughput (tok/s)": "out_tps",
    "peak output token throughput (tok/s)": "peak_out_tps",
    "total token throughput (tok/s)": "total_tps",
    "mean ttft (ms)": "ttft_mean_ms",
    "mean tpot (ms)": "tpot_mean_ms",
    "median tpot (ms)": "tpot_median_ms",
    "mean itl (ms)": "itl_mean_ms",
    "median itl (ms)": "itl_median_ms",
    "acceptance rate (%)": "accept_pct",
    "acceptance length": "mean_len",
    "accept length": "mean_len",
    "drafts": "drafts",
    "draft tokens": "drafted",
    "accepted tokens": "accepted",
}
_FIELDS = {
    "completed": "requests",
    "failed": "failed",
    "max_concurrency": "concurrency",
    "duration": "duration_s",
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "request_throughput": "req_per_s",
    "output_throughput": "out_tps",
    "max_output_tokens_per_s": "peak_out_tps",
    "total_token_throughput": "total_tps",
    "mean_ttft_ms": "ttft_mean_ms",
    "mean_tpot_ms": "tpot_mean_ms",
    "median_tpot_ms": "tpot_median_ms",
    "mean_itl_ms": "itl_mean_ms",
    "median_itl_ms": "itl_median_ms",
    "spec_decode_acceptance_rate": "accept_pct",
    "spec_decode_acceptance_length": "mean_len",
    "spec_decode_num_drafts": "drafts",
    "spec_decode_draft_tokens": "drafted",
    "spec_decode_accepted_tokens": "accepted",
}
_COUNTS = ("requests", "failed", "concurrency", "input_tokens", "output_tokens", "drafts", "drafted", "accepted")
_LINE = re.compile(r"^([A-Z][\w /()%-]{1,60}?) *: +([\d.]+)\s*$")
_POSITION = re.compile(r"^Position (\d{1,4}) *: +([\d.]+)\s*$")
_WORDS = ("throughput", "requests:", "concurrency:", "tokens:", "duration (s)", "TTFT", "TPOT", "ITL", "ccept", "Drafts:", "Position ")


class ServeFacts:
    """Collects the report's lines."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.positions: dict[int, float] = {}
        self.reports = 0

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {**dict.fromkeys(_WORDS, "on_line"), "Serving Benchmark Result": "on_report"}

    def on_report(self, line: Line) -> None:
        """A report begins: of several the last one counts."""
        self.reports += 1
        self.values, self.positions = {}, {}

    def on_line(self, line: Line) -> None:
        """One `Key (unit): value` line."""
        position = _POSITION.match(line.text)
        if position:
            self.positions[int(position[1])] = number(position[2]) or 0.0
            return
        found = _LINE.match(line.text)
        key = _KEYS.get(found[1].strip().lower()) if found else None
        value = number(found[2]) if found else None
        if key and value is not None:
            self.values[key] = value

    def on_object(self, fields: dict[str, Any]) -> bool:
        """The saved JSON of a run; True where it is one."""
        if "output_throughput" not in fields and "mean_tpot_ms" not in fields:
            return False
        self.values.update({key: value for name, key in _FIELDS.items() if (value := number(fields.get(name))) is not None})
        rates = fields.get("spec_decode_per_position_acceptance_rates")
        if isinstance(rates, list):
            self.positions = {i: 100 * (number(rate) or 0.0) for i, rate in enumerate(rates[:4096])}
        return True

    @property
    def found(self) -> bool:
        """Whether enough was read to be such a report."""
        return len(set(self.values) & {"duration_s", "out_tps", "req_per_s", "tpot_mean_ms", "output_tokens", "requests"}) >= 2

    def result(self) -> dict[str, Any]:
        """The keys of kind `vllm_bench`."""
        out: dict[str, Any] = {key: self.values.get(key) for key in _KEYS.values() if key != "accept_pct"}
        out.update({key: count(self.values.get(key)) for key in _COUNTS})
        peak, mean = out["peak_out_tps"], out["out_tps"]
        speculative = any(out[key] is not None for key in ("drafted", "mean_len", "accepted"))
        if peak is not None and (speculative or (mean is not None and peak < mean)):
            out["peak_out_tps"] = None
        rates = [round(self.positions[i] / 100, 6) for i in sorted(self.positions)]
        share = ratio(out["accepted"], out["drafted"])
        printed = self.values.get("accept_pct")
        length = ratio(out["drafted"], out["drafts"])
        events = ratio(out["itl_mean_ms"], out["tpot_mean_ms"])
        out.update(
            accept_share=kept(share) if share is not None else (printed / 100 if printed is not None else None),
            per_pos=rates or None,
            per_pos_sum=kept(sum(rates)) if rates else None,
            n_max=len(rates) or (int(length) if length is not None and length == int(length) else None),
            tokens_per_event=kept(events),
        )
        return out

    def warnings(self) -> list[str]:
        """The first check that fails."""
        out = self.result()
        accepted, drafted, printed = out["accepted"], out["drafted"], self.values.get("accept_pct")
        if self.reports > 1:
            return [f"{self.reports} reports in one file: the figures are those of the last."]
        if accepted is not None and drafted is not None and accepted > drafted:
            return [f"More draft tokens accepted ({accepted}) than drafted ({drafted})."]
        if accepted is not None and drafted and printed is not None and abs(100 * accepted / drafted - printed) > 0.011:
            return [f"The printed acceptance {printed} % is not accepted over drafted ({100 * accepted / drafted:.2f} %)."]
        if rises(out["per_pos"] or []):
            return ["An acceptance rate per position rises, which unconditional rates cannot do."]
        if (
            out["per_pos"]
            and out["mean_len"] is not None
            and abs(out["per_pos_sum"] - (out["mean_len"] - 1)) > 0.0061 + 0.0001 * len(out["per_pos"])
        ):
            return ["The rates per position do not add up to the mean length less one."]
        for many, rate, what in ((out["output_tokens"], out["out_tps"], "output token"), (out["requests"], out["req_per_s"], "request")):
            computed = ratio(many, out["duration_s"])
            if computed is not None and rate and abs(computed - rate) > 0.002 * rate + 0.0061:
                return [f"The printed {what} rate {rate} is not the count over the duration ({computed:.2f})."]
        return []
