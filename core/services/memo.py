"""What a decision memo says, as plain text and tables: one page, the same for every form it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.domain.break_even import Ledger, ledger_of
from core.domain.matrix import measured_price, published_price
from core.domain.reference_sheet import TRANSCRIBED
from core.services.ledger import Entry, summary_of

SIGNS = {"wins": "▲", "loses": "▼", "no-difference": "="}
UNKNOWN = "—?"
_LONG = 400  # a memo is one page; the whole text stands in the ledger


@dataclass(frozen=True)
class Table:
    """A heading with rows of texts; `head` empty: no header row."""

    title: str
    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Memo:
    """Title, one line of facts, paragraphs {heading: text}, tables, and the closing hashes. All plain text."""

    title: str
    facts: str
    paragraphs: dict[str, str]
    tables: list[Table] = field(default_factory=list)
    not_shown: str = ""
    hashes: list[list[str]] = field(default_factory=list)


def memo_of(entry: Entry) -> Memo:
    """The memo of an entry as `ledger_entry_of` gives it, from its frozen evidence; what went stale since is named as such."""
    evidence, details, summary = entry["evidence"], entry.get("details") or {}, summary_of(entry)
    day = entry["noted_at"].strftime("%Y-%m-%d %H:%M UTC")
    return Memo(
        title=f"Decision memo: {entry['verdict'].upper()}, entry {entry['number']}",
        facts=f"{_cut(summary['title'], 120)} · {summary['model']} · {_owner(entry['owner'], details)} · {day} · {entry['standing']}",
        paragraphs=_paragraphs(entry, evidence, details),
        tables=[_excerpt(summary), *_break_even(evidence), _deltas("What changed", summary["deltas"]), *_old(summary), _gates(evidence)],
        not_shown=evidence["not_shown"],
        hashes=[
            ["entry", entry["sha"]], ["entry before", entry["prev"] or "(first entry)"], ["evidence", entry["evidence_sha256"]],
            ["signed text", details.get("signed_sha256") or UNKNOWN],
            ["run ledger", (evidence.get("run_head") or {}).get("sha") or UNKNOWN],
        ],
    )  # fmt: skip


def _owner(name: str, details: dict[str, Any]) -> str:
    identity = f" ({details['identity']})" if details.get("identity") else ""
    behalf = f" on behalf of {details['on_behalf_of']}" if details.get("on_behalf_of") else ""
    return f"owner {name}{identity}{behalf}"


def _cut(text: str, limit: int = _LONG) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _paragraphs(entry: Entry, evidence: dict[str, Any], details: dict[str, Any]) -> dict[str, str]:
    n_max = {None: "no n_max", 0: "speculation off"}.get(details.get("n_max"), f"n_max {details.get('n_max')}")
    found = {
        "Decision": f"{entry['verdict']}; action: {entry['action']}; {n_max}; dominant cost: {details.get('dominant') or 'not decidable'}.",
        "Reason": _cut(entry["reason"]) or "none given",
        "Suggested": f"{evidence['suggestion']['action'] or 'nothing'}. {_cut(evidence['suggestion']['text'])}",
    }
    if details.get("against_why"):
        second = f" Second person: {details['second']}." if details.get("second") else ""
        found["Against the suggestion, because"] = _cut(details["against_why"]) + second
    if evidence.get("provenance") == TRANSCRIBED:
        found["Origin"] = "Transcribed figures, published elsewhere; nothing here was measured by this product."
    if evidence.get("facts"):
        found["Taken under"] = _taken_under(evidence["facts"])
    watched = ", ".join(details.get("stale_when") or evidence.get("stale_when") or [])
    found["Goes stale when"] = f"{watched or 'nothing is watched'}; older than {details.get('age_days', UNKNOWN)} days."
    if entry["stale"]:
        found["STALE NOW"] = "; ".join(f"{one['what']}: {one['was'] or ''} → {one['now']}" for one in entry["stale"])
    return found


def _taken_under(facts: dict[str, Any]) -> str:
    """What the run stood on, by name; a checksum in its first twelve digits, whole in the ledger's evidence."""
    short = {name: f"{str(value)[:12]}…" if name == "model artifact" else value for name, value in facts.items() if value is not None}
    return "; ".join(f"{name} {value}" for name, value in short.items()) + "."


def _excerpt(summary: dict[str, Any]) -> Table:
    """The measured row as the matrix has it, losing cells included, then the production concurrency."""
    production = [cell for cell in summary["cells"] if cell["c"] > 1]
    rows = [
        [
            ("off" if cell["n_max"] == 0 else f"n={cell['n_max']}") + (f" at c={cell['c']}" if cell["c"] > 1 else ""),
            _rates(cell),
            "" if cell["speedup"] is None else f"{cell['speedup']:.2f}× {SIGNS.get(cell['verdict'] or '', '')}".strip(),
            ""
            if not cell["n_max"]
            else UNKNOWN
            if cell["accept_share"] is None
            else f"{cell['accept_share']:.0%} {cell['accept_denominator']}",
            _cut(cell["why"], 90),
        ]
        for cell in [*summary["steps"], *production]
    ]
    return Table("Matrix excerpt", ["arm", "tok/s (n)", "speed-up", "acceptance", "why"], rows or [["nothing measured", "", "", "", ""]])


def _rates(cell: dict[str, Any]) -> str:
    if cell["status"] != "ok" or cell["tok_s"] is None:
        return f"{UNKNOWN} {cell['status']}"
    if cell["tok_s_min"] is None:
        return f"{cell['tok_s']:.1f}"
    return f"{cell['tok_s_min']:.1f}–{cell['tok_s_max']:.1f} ({cell['n']})"


def _break_even(evidence: dict[str, Any]) -> list[Table]:
    base, cand = evidence["baseline"]["single"], evidence["candidate"]["single"]
    if not base or not cand:
        return []
    price = (published_price if evidence.get("provenance") == TRANSCRIBED else measured_price)(cand, base)
    return [_ledger_table(ledger_of(price, cand["n_max"]))] if price else []


def _ledger_table(ledger: Ledger) -> Table:
    d_v = "" if ledger.d_ms is None or ledger.v_ms is None else f"D {ledger.d_ms:.1f} ms, V {ledger.v_ms:.1f} ms"
    needed = _share_or_bounds(ledger.needed_share, ledger.needed_share_min, ledger.needed_share_max)
    rows = [
        ["plain step H", f"{ledger.h_ms:.1f} ms", "1.00 H", ""],
        ["speculative step D + V", _or_bounds(ledger.step_ms, ledger.step_ms_min, ledger.step_ms_max, "{:.1f} ms"),
         UNKNOWN if ledger.step_in_h is None else f"{ledger.step_in_h:.2f} H", d_v],
        ["tokens a step commits, a", _or_bounds(ledger.a, ledger.a_min, ledger.a_max, "{:.2f}"), "", ""],
        ["acceptance needed", needed, "got " + _share_or_bounds(ledger.got_share, ledger.got_share_min, ledger.got_share_max),
         "no draft can win here" if ledger.can_win is False else ""],
    ]  # fmt: skip
    return Table(f"Break-even ledger, n_max {ledger.n_max}, one stream", ["part", "value", "", ""], rows)


def _or_bounds(value: float | None, low: float, high: float, form: str) -> str:
    return f"{form.format(low)} to {form.format(high)} (bounds)" if value is None else form.format(value)


def _share_or_bounds(value: float | None, low: float, high: float) -> str:
    return f"{low:.1%} to {high:.1%} (bounds)" if value is None else f"{value:.1%}"


def _deltas(title: str, deltas: list[dict[str, str]]) -> Table:
    rows = [[one["name"], _cut(one["before"], 70), _cut(one["after"], 70), _cut(one["change"], 90)] for one in deltas]
    return Table(title, ["delta", "before", "after", "change"], rows)


def _old(summary: dict[str, Any]) -> list[Table]:
    old = summary["old"]
    return [_deltas(f"Against the old production recipe “{_cut(old['label'], 60)}”, apart from it", summary["old_deltas"])] if old else []


def _gates(evidence: dict[str, Any]) -> Table:
    """Two gates a row, so that all of them fit."""
    words = [[gate["label"], gate["state"]] for gate in evidence["gates"]]
    half = (len(words) + 1) // 2
    pairs = zip(words[:half], [*words[half:], *[["", ""]] * (2 * half - len(words))], strict=True)
    return Table("Gates", ["gate", "state", "gate", "state"], [[*one, *other] for one, other in pairs])
