"""How numbers, blanks and words from outside are written, everywhere the same. Turns values into text; draws nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from core.domain.matrix import SHOWN

NOT_RUN, NOT_APPLICABLE, NOT_RECORDED, FAILED, EXCLUDED, STALE, INVALID = "·", "n/a", "—?", "✕", "▨", "◷", "⚠"
BLANKS = {
    "not_run": NOT_RUN,
    "not_applicable": NOT_APPLICABLE,
    "not_recorded": NOT_RECORDED,
    "failed": FAILED,
    "excluded": EXCLUDED,
    "stale": STALE,
    "invalid": INVALID,
}
BLANK_WORDS = {name: name.replace("_", " ") for name in BLANKS}
SIGNS = {"wins": "▲", "loses": "▼", "no-difference": "="}
VERDICTS = {"wins": "WINS", "loses": "LOSES", "no-difference": "NO DIFFERENCE"}
LEGEND = (
    f"▲ wins · ▼ loses · = no difference shown · {NOT_RUN} not run · {NOT_APPLICABLE} not applicable · {NOT_RECORDED} not recorded"
    f" · {FAILED} failed · {EXCLUDED} excluded · {STALE} stale · {INVALID} invalid"
)

_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]()#+-.!|<>~$^&=\"':/@%;,?"})
_PARTED = re.compile(r"(:(?=\S)|@|www)", re.IGNORECASE)
_JOINER = "\u2060"  # keeps ":smile:", "https://…" and "a@b" from turning into something after the escapes are taken off


def literal(text: Any, limit: int = 300) -> str:
    """Words from outside (names, titles, notes) for a label that knows Markdown: shown as they are, on one line, never rendered."""
    words = " ".join(str(text).split())
    words = words if len(words) <= limit else words[: limit - 1] + "…"
    return _PARTED.sub(rf"\1{_JOINER}", words).translate(_ESCAPES)


def blank(status: str) -> str:
    """Sign of a value that is not there: `·` not run, `n/a`, `—?` not recorded, `✕` failed, `▨` excluded, `◷` stale, `⊘` not usable."""
    return BLANKS.get(status, NOT_RECORDED)


def rate(tok_per_s: float | None) -> str:
    """tok/s: one decimal below 100, none above. None: not recorded."""
    if tok_per_s is None:
        return NOT_RECORDED
    return f"{tok_per_s:.1f}" if round(tok_per_s, 1) < 100 else f"{tok_per_s:.0f}"


def rate_range(low: float | None, high: float | None, count: int | None = None) -> str:
    """“21.9–22.4 (3)”: lowest and highest tok/s, and how many repetitions."""
    if low is None or high is None:
        return NOT_RECORDED
    return f"{rate(low)}–{rate(high)}" + (f" ({count})" if count is not None else "")


def speedup(ratio: float | None) -> str:
    """Two decimals and ×."""
    return NOT_RECORDED if ratio is None else f"{ratio:.2f}×"


def sign(verdict: str | None) -> str:
    """▲ ▼ = for a verdict, empty where none can be said."""
    return SIGNS.get(verdict or "", "")


def share(part: float | None, denominator: str | None = None) -> str:
    """Whole percent, with its denominator in words: “78% of proposed”. None: not recorded."""
    if part is None:
        return NOT_RECORDED
    return f"{part:.0%}" + (f" {denominator}" if denominator else "")


def share_exact(part: float | None) -> str:
    """One decimal, for a computed share such as the break-even acceptance."""
    return NOT_RECORDED if part is None else f"{part:.1%}"


def ms(value: float | None) -> str:
    """Milliseconds, one decimal, without the unit."""
    return NOT_RECORDED if value is None else f"{value:.1f}"


def plain(value: float | None, decimals: int = 2) -> str:
    """A bare figure such as a, or a cost in plain steps."""
    return NOT_RECORDED if value is None else f"{value:.{decimals}f}"


def size(count: float | None) -> str:
    """Bytes in the largest unit that leaves a number above 1."""
    if count is None:
        return NOT_RECORDED
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit in ("B", "KiB") else f"{count:.1f} {unit}"
        count /= 1024
    return NOT_RECORDED


def duration(seconds: float | None) -> str:
    """“40 s”, “6 min”, “2 h 5 min”."""
    if seconds is None:
        return NOT_RECORDED
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def when(moment: datetime | None) -> str:
    """Date and minute, UTC."""
    return NOT_RECORDED if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """“2 s ago”, “6 min ago”, “3 days ago”."""
    if moment is None:
        return NOT_RECORDED
    passed = max(0.0, ((now or datetime.now(UTC)) - moment).total_seconds())
    return f"{passed / 86400:.0f} days ago" if passed >= 2 * 86400 else f"{duration(passed)} ago"


def cell_lines(cell: dict[str, Any]) -> tuple[str, str, str]:
    """A matrix cell in three lines: tok/s (or its blank), speed-up with sign, acceptance with denominator."""
    if cell["status"] not in SHOWN or cell["tok_s"] is None:
        return blank(cell["status"]), "", ""
    accepted = INVALID if cell.get("accept_status") == "invalid" else share(cell["accept_share"])
    if cell["speedup"] is None:
        return rate(cell["tok_s"]), "", accepted if accepted != NOT_RECORDED else ""
    return rate(cell["tok_s"]), f"{speedup(cell['speedup'])} {sign(cell['verdict'])}".strip(), accepted


def _accepted_words(cell: dict[str, Any]) -> str:
    """Acceptance in words; one that cannot be says what came and from where."""
    if cell.get("accept_status") == "invalid":
        return f"{INVALID} invalid: {'; '.join(cell['faults'])} ({cell['source']})"
    return share(cell["accept_share"], cell["accept_denominator"]) if cell["accept_share"] is not None else "—? not recorded"


def cell_words(cell: dict[str, Any]) -> str:
    """The same in one line with every word spelled out, for tables, hover texts and screen readers."""
    if cell["status"] not in SHOWN or cell["tok_s"] is None:
        reason = f": {cell['why']}" if cell["why"] else ""
        return f"{blank(cell['status'])} {BLANK_WORDS.get(cell['status'], 'not recorded')}{reason}"
    words = [f"{rate(cell['tok_s'])} tok/s"]
    if cell["tok_s_min"] is not None and cell["n"]:
        words.append(rate_range(cell["tok_s_min"], cell["tok_s_max"], cell["n"]))
    told = f"acceptance {_accepted_words(cell)}"
    if cell["speedup"] is not None:
        words += [f"{speedup(cell['speedup'])} {sign(cell['verdict'])}".strip(), told]
    elif cell["accept_share"] is not None or cell.get("accept_status") == "invalid":
        words += [told, "no baseline beside it"]
    if cell["status"] == "stale":
        words.append(f"{STALE} stale")
    return " · ".join(words)
