"""The runbook: what holds today, the winner of each decision beside the cells that lost, each with its reason, kept on purpose."""

from __future__ import annotations

import re
from typing import Any

from core.domain.decision import NOT_SHOWN
from core.domain.price import verdict_of
from core.services.access import authorize
from core.services.house import House
from core.services.ledger import ledger_entries, summary_of

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|<>~$&])")


def runbook(house: House) -> list[dict[str, Any]]:
    """Decisions in force, newest first: {entry, title, model, winner: cell or None (off), losing: [cell], stale}."""
    authorize(house, "see")
    found = []
    for entry in ledger_entries(house):
        if entry["standing"] != "in force":
            continue
        summary, n_max = summary_of(entry), (entry.get("details") or {}).get("n_max") or entry["evidence"]["suggestion"]["n_max"]
        found.append(
            {
                "entry": entry,
                "title": summary["title"],
                "model": summary["model"],
                "winner": next((cell for cell in summary["steps"] if n_max and cell["n_max"] == n_max), None),
                "losing": summary["losing"],
                "stale": entry["stale"],
            }
        )
    return found


def winner_words(page: dict[str, Any]) -> str:
    """What to run: the winning draft length, speculation off, or that it was never priced."""
    cell, entry = page["winner"], page["entry"]
    if cell is not None:
        gain = f"{cell['speedup']:.2f}×" if cell["speedup"] is not None else "speed-up not recorded"
        shown = f"n_max {cell['n_max']}: {gain} at one stream"
        return shown if entry["verdict"] == "keep" else f"speculation off (the fastest measured was {shown})"
    return "speculation off" if page["losing"] else "speculation off; the change was never priced"


def losing_words(cell: dict[str, Any]) -> str:
    """“n_max 2: 0.97×, no difference shown: …”, the one-line reason of a cell that is not run."""
    if cell["status"] != "ok" or cell["speedup"] is None:
        return f"n_max {cell['n_max']}: {cell['status']}{': ' + cell['why'] if cell['why'] else ''}"
    verdict = cell["verdict"] or verdict_of(cell["speedup"])
    said = {"wins": "pays, and less than the winner", "loses": "loses", "no-difference": "no difference shown"}[verdict]
    return f"n_max {cell['n_max']}: {cell['speedup']:.2f}×, {said}; {cell['why']}"


def runbook_markdown(house: House) -> str:
    """The same as Markdown; words from people are escaped, so they stay text wherever it is rendered."""
    authorize(house, "see")
    pages = runbook(house)
    lines = ["# Runbook: speculation", ""]
    lines += [] if pages else ["Nothing is decided yet.", ""]
    for page in pages:
        entry = page["entry"]
        lines += [f"## {plain(page['model'])}: {plain(page['title'])}", ""]
        lines += [f"- Run: {plain(winner_words(page))}"]
        why = f": {plain(entry['reason'])}" if entry["reason"] else ""
        lines += [f"- Decision: {entry['verdict']} ({entry['action']}), entry {entry['number']}, {plain(entry['owner'])}{why}"]
        lines += [f"- Stale: {plain(one['what'])}: {plain(one['was'] or '')} → {plain(one['now'])}" for one in page["stale"]]
        lines += ["", "Not run, on purpose:", ""]
        lines += [f"- {plain(losing_words(cell))}" for cell in page["losing"]] or ["- no other draft length was measured"]
        lines += ["", f"entry sha256 `{entry['sha']}`", ""]
    return "\n".join([*lines, "## What this does not show", "", NOT_SHOWN, ""])


def plain(text: Any) -> str:
    """Words on one line that no Markdown reader turns into anything."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))
