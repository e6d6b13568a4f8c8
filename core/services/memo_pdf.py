"""A memo as a PDF of one A4 page. The font travels with the product (data/fonts): the built-in ones of PDF have no ▼."""

from __future__ import annotations

from pathlib import Path

from fpdf import FPDF
from fpdf.enums import Align, TableBordersLayout, XPos, YPos
from fpdf.fonts import FontFace

from core.services.memo import Memo, Table

FONTS = Path(__file__).resolve().parents[2] / "data" / "fonts"
MISSING = "\ufffd"  # what stands for a character that the font lacks; the HTML memo and the ledger hold the text as it is
_SENTENCE = 45  # characters of a cell beyond which its column grows no more
_SIZES = (8.5, 7.5, 6.5, 5.5, 4.8)


def memo_pdf(memo: Memo) -> bytes:
    """The page; the text is set smaller until it fits, and only in the smallest size may it run on to a second page."""
    for size in _SIZES:
        pages, data = _written(memo, size)
        if pages == 1:
            break
    return data


def _written(memo: Memo, size: float) -> tuple[int, bytes]:
    page = _Page(size)
    page.line(memo.title, size + 5, bold=True)
    page.line(memo.facts, size)
    for name, text in memo.paragraphs.items():
        page.line(f"{name}: {text}", size)
    for table in memo.tables:
        page.table(table)
    page.line("What this does not show", size + 1, bold=True)
    page.line(memo.not_shown, size)
    page.table(Table("Hashes (SHA-256)", ["of", "hash"], memo.hashes))
    return page.pdf.page, bytes(page.pdf.output())


class _Page:
    """One document with its two weights of one font."""

    def __init__(self, size: float) -> None:
        self.pdf, self.size = FPDF(format="A4"), size
        self.pdf.set_margin(12)
        self.pdf.set_auto_page_break(True, margin=10)
        for style, name in (("", "DejaVuSans"), ("B", "DejaVuSans-Bold")):
            self.pdf.add_font("memo", style, str(FONTS / f"{name}.ttf"))
        self.pdf.set_font("memo", "", size)
        self._known = set(self.pdf.current_font.cmap)  # type: ignore[union-attr]
        self.pdf.add_page()

    def line(self, text: str, size: float, *, bold: bool = False) -> None:
        self.pdf.set_font("memo", "B" if bold else "", size)
        self.pdf.multi_cell(0, size * 0.48, self._shown(text), align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def table(self, table: Table) -> None:
        self.pdf.ln(1)
        self.line(table.title, self.size + 1, bold=True)
        self.pdf.set_font("memo", "", self.size - 0.5)
        widths = _widths(table)
        with self.pdf.table(
            line_height=self.size * 0.46,
            col_widths=widths,
            text_align=Align.L,
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
            headings_style=FontFace(emphasis="BOLD"),
            padding=(0.2, 1.0),
        ) as drawn:
            for row in (table.head, *table.rows):
                drawn.row([self._shown(word) for word in row])

    def _shown(self, text: str) -> str:
        return "".join(ch if ord(ch) in self._known else MISSING for ch in text)


def _widths(table: Table) -> tuple[int, ...]:
    """Columns by their longest text, none narrower than a tenth; a sentence may wrap and takes no more than half a line's share."""
    longest = [min(_SENTENCE, max(len(row[place]) for row in (table.head, *table.rows))) for place in range(len(table.head))]
    whole = sum(longest) or 1
    return tuple(max(10, round(100 * length / whole)) for length in longest)
