"""Results published elsewhere: from a transcribed row to typed figures, the ratio worked out from its pair, and its caveats.

Provenance is `transcribed`, always. An interval keeps both ends, an empty field stays unknown. No row enters a cell, median or gate.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from core.domain.reported import speedup_bounds

CAVEAT = (
    "Most of these are single posts by volunteers, often one run, and their methods differ. A row says what somebody reported, not what"
    " another box will do: compare the two speeds within a row, not speeds across rows."
)
SOURCE = "published elsewhere"
_PAIR = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?")
_TEXTS = (
    "engine", "engine_build", "model", "architecture", "quant", "hardware", "placement", "draft_kind", "workload", "accept_denominator",
    "note",
)  # fmt: skip
_WHOLE = ("n_cpu_moe", "n_max", "context_tokens", "concurrency", "repeats")
_RANGES = {
    "baseline_tok_per_s": "baseline_tok_s",
    "spec_tok_per_s": "spec_tok_s",
    "speedup_published": "speedup_published",
    "accept_share": "accept_share",
    "tokens_per_step": "tokens_per_step",
}


def row_of(fields: dict[str, str], position: int) -> dict[str, Any]:
    """One line of the file as a typed row; empty → None. Raises ValueError naming the row where a field is no number."""
    row: dict[str, Any] = {"id": fields["id"], "position": position, "source_url": web_address(fields["source_url"])}
    try:
        row["published"] = date.fromisoformat(fields["published"]) if fields["published"] else None
        row.update({name: fields[name] or None for name in _TEXTS})
        row.update({name: int(fields[name]) if fields[name] else None for name in _WHOLE})
        row["p_min"] = float(fields["p_min"]) if fields["p_min"] else None
        for name in _RANGES:
            row[f"{name}_min"], row[f"{name}_max"] = ends_of(fields[name])
    except ValueError as error:
        raise ValueError(f"public result {row['id']}: {error}") from error
    row["is_second_hand"] = fields["note"].endswith("second-hand")
    return row


def ends_of(text: str) -> tuple[float | None, float | None]:
    """“44-46” → (44, 46); “45.7” → both ends the same; empty → unknown. Raises ValueError."""
    if not text:
        return None, None
    found = _PAIR.fullmatch(text)
    if found is None:
        raise ValueError(f"“{text[:40]}” is neither a number nor an interval")
    low = float(found[1])
    return low, float(found[2]) if found[2] else low


def web_address(text: str) -> str | None:
    """An http or https address, else None: no other scheme becomes a link."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    plain = all(33 <= ord(ch) < 127 for ch in text)
    return text if plain and parts.scheme in ("http", "https") and parts.hostname else None


def shown_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row in the form of the API, with the worked-out ratio beside the published one, and its caveats."""
    texts = {name: row[name] for name in ("id", "source_url", *_TEXTS, *_WHOLE, "p_min")}
    ranges = {f"{name}_{end}": row[f"{key}_{end}"] for key, name in _RANGES.items() for end in ("min", "max")}
    low, high = worked_out(row)
    return {
        **texts,
        **ranges,
        "published": row["published"].isoformat() if row["published"] else None,
        "speedup_worked_out_min": low,
        "speedup_worked_out_max": high,
        "second_hand": row["is_second_hand"],
        "caveat": caveats_of(row),
        "provenance": "transcribed",
        "source": SOURCE,
    }


def worked_out(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """(least, most) speed-up that follows from the row's own two speeds; unknown without a baseline."""
    base, spec = ((row[f"{name}_min"], row[f"{name}_max"]) for name in ("baseline_tok_per_s", "spec_tok_per_s"))
    if None in (*base, *spec) or not base[0] > 0:
        return None, None
    return speedup_bounds(spec, base)


def caveats_of(row: dict[str, Any]) -> str:
    """What to keep in mind about this one row."""
    found = []
    if row["is_second_hand"]:
        found.append("second-hand: copied from a summary, not compared with its source page")
    if row["repeats"] in (None, 1):
        found.append("one run" if row["repeats"] == 1 else "number of runs not given")
    if row["baseline_tok_per_s_min"] is None:
        found.append("no baseline, cannot be priced")
    if (row["concurrency"] or 1) > 1:
        found.append(f"speeds are totals over {row['concurrency']} streams")
    if row["placement"] in ("moe-spill", "dense-spill", "disk"):
        found.append("the baseline may lie elsewhere")
    if row["accept_share_min"] is not None and row["accept_denominator"] in (None, "unknown"):
        found.append("acceptance without a stated denominator")
    return "; ".join(found)
