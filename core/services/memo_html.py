"""A memo as one self-contained HTML page: no outside request, no script, every word from people or logs escaped."""

from __future__ import annotations

from html import escape

from core.services.memo import Memo, Table

_STYLE = """
body { font: 13px/1.45 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem }
h1 { font-size: 1.35rem; margin: 0 0 .2rem } h2 { font-size: .95rem; margin: .9rem 0 .2rem } p { margin: .15rem 0; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid #d8dde3; padding: .15rem .5rem .15rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { font-weight: 600; color: #57606a } code { font-size: .85em; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { background: #14171b; color: #e6e8eb } th { color: #9aa4af } th, td { border-color: #363c44 } }
@media print { @page { size: A4; margin: 12mm } body { font-size: 9.5px; margin: 0; max-width: none; background: #fff; color: #000 } }
"""


def memo_html(memo: Memo) -> str:
    """The whole page as text, UTF-8."""
    parts = [f"<h1>{escape(memo.title)}</h1>", f"<p>{escape(memo.facts)}</p>"]
    parts += [f"<p><strong>{escape(name)}:</strong> {escape(text)}</p>" for name, text in memo.paragraphs.items()]
    parts += [_table(table) for table in memo.tables]
    parts += ["<h2>What this does not show</h2>", f"<p>{escape(memo.not_shown)}</p>", "<h2>Hashes (SHA-256)</h2>", "<table>"]
    parts += [f"<tr><td>{escape(name)}</td><td><code>{escape(sha)}</code></td></tr>" for name, sha in memo.hashes]
    body = "\n".join([*parts, "</table>"])
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(memo.title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(word)}</th>" for word in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(word)}</td>" for word in row) + "</tr>" for row in table.rows)
    return f"<h2>{escape(table.title)}</h2><table><tr>{head}</tr>{rows}</table>"
