"""The short field worksheet of one worksheet, as data for the page and as one self-contained page to print."""

from __future__ import annotations

from html import escape
from typing import Any

from core.domain.field_sheet import UNPRICED, Question, questions_of
from core.services.access import authorize
from core.services.house import House

_STYLE = (
    "body{font:11pt/1.45 sans-serif;max-width:44em;margin:2em auto;padding:0 1em;color:#1b1f24}h1{font-size:15pt}"
    "h2{font-size:11pt;margin:1.1em 0 .2em}p{margin:.1em 0;white-space:pre-wrap;overflow-wrap:anywhere}.open{color:#b35806}"
    "small{color:#57606a}@media print{body{margin:0}}"
)


def field_questions(view: dict[str, Any]) -> list[Question]:
    """The seven questions of a worksheet's view (see `show_worksheet`)."""
    taken = view["decisions"][-1] if view["decisions"] else None
    decision = f"decided: {taken['verdict']} by {taken['owner']}" if taken else None
    return questions_of(view["evidence"], view["fields"], view["suggestion"], decision)


def field_sheet_html(house: House, view: dict[str, Any]) -> str:
    """One page, everything typed or measured escaped, no script, no outside request."""
    authorize(house, "export")
    row, now = view["worksheet"], house.clock.now()
    parts = []
    for number, one in enumerate(field_questions(view), 1):
        lines = "".join(f"<p>{escape(line)}</p>" for line in one["answers"])
        still = '<p class="open">○ not answered yet</p>' if one["is_open"] else ""
        parts.append(f"<h2>{number}. {escape(one['question'])}</h2>{lines}{still}")
    done, whole = view["priced"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(row["title"])}</title>'
        f"<style>{_STYLE}</style></head><body>"
        f"<h1>{escape(row['title'])}</h1><p><small>{escape(row['worksheet_id'])} · revision {view['revision']} · {done} of {whole} priced"
        f" · printed {now:%Y-%m-%d %H:%M} UTC · Draftledger {escape(house.version)}</small></p>{''.join(parts)}"
        f"<p><small>{escape(UNPRICED)}</small></p></body></html>\n"
    )
