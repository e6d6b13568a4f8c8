"""The head of a receipt: verdict, the one sentence, where the figure comes from, and what nobody should read out of it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.break_even import Ledger
from core.domain.decision import NOT_SHOWN
from core.domain.matrix import column
from core.domain.run import short
from core.ui.components.computed import computed
from core.ui.components.figures import (
    VERDICTS,
    cell_lines,
    literal,
    rate,
    share,
    sign,
    speedup,
)
from core.ui.components.grid import column_title
from core.ui.components.imported_card import NOT_SHOWN_IMPORTED, imported_card
from core.ui.components.links import page_link, receipt_link, run_link
from core.ui.components.pairs import pairs
from core.ui.state import CELL

View = dict[str, Any]
NOT_SHOWN_PUBLISHED = (
    "One published row: box, build, context length and repetitions are not given, so neither noise nor drift can be judged."
    " Where the source does not say what an acceptance counts, its denominator is assumed."
)
_COLORS = {"wins": "blue", "loses": "orange", "no-difference": "gray"}


def headline(view: View, ledger: Ledger | None) -> None:
    """Title, verdict, where the figure comes from, and the one sentence."""
    cell, price = view["cell"], view["price"]
    st.text(view["title"])
    with st.container(horizontal=True, vertical_alignment="center"):
        if cell["verdict"]:
            words = f"{sign(cell['verdict'])} {VERDICTS[cell['verdict']]} {speedup(cell['speedup'])}"
            st.badge(words, color=_COLORS[cell["verdict"]], width="content")  # type: ignore[arg-type]
        elif cell["status"] == "ok":
            st.badge(_no_word(view), color="gray", width="content")
        else:
            st.badge(f"{cell['status'].replace('_', ' ')}", color="red", width="content")
        if view["kind"] == "published":
            st.badge("✎ transcribed: not usable for keep", color="violet", width="content")
        elif view["kind"] == "imported":
            st.badge("⇣ imported: not usable for keep", color="violet", width="content")
        if cell["tok_s"] is not None:
            st.text(f"{rate(cell['tok_s'])} tok/s", width="content")
        if view["run"]:
            run_link(view["run"]["run_id"], f"run {short(view['run']['run_id'])} ↗")
    if ledger and price:
        st.subheader(ledger.sentence, anchor=False)
        st.caption(price["note"])
    else:
        st.text(_why_no_price(view))
    for fault in cell["faults"]:
        st.warning(literal(f"Invalid: {fault}. Source: {cell['source']}. It is left out of every figure."), icon=":material/warning:")


def row_cells(view: View) -> None:
    """Doors to the other cells of the row, those included that failed before anything was measured."""
    others = {n: cell for n, cell in view["row"].items() if n is not None and n != view["n_max"] and cell["cell_id"]}
    if not others:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Same row:", width="content")
        for n, cell in others.items():
            big, gain, _ = cell_lines(cell)
            receipt_link(cell["cell_id"], " ".join(part for part in (column_title(column(n)), big, gain) if part), help=cell["why"] or None)


def _is_baseline(view: View) -> bool:
    return bool(view["n_max"] == 0)


def _no_word(view: View) -> str:
    if view["kind"] == "imported" and not _is_baseline(view):
        return "no baseline beside it in the file"
    return "baseline: speculation off" if _is_baseline(view) else "too few repetitions for a verdict"


def _why_no_price(view: View) -> str:
    if view["cell"]["status"] != "ok":
        return f"Nothing can be priced: {view['cell']['why']}."
    if _is_baseline(view):
        return "This is the baseline: the others of its row are priced against it."
    if view["kind"] == "imported":
        return "Nothing can be priced: the file holds no baseline beside it."
    base = view["row"].get(0)
    if base and base["status"] == "invalid":
        return f"No speed-up: its baseline is invalid: {base['why']}."
    return "No speed-up: the row has no baseline with a counted repetition."


def origin_card(view: View) -> None:
    """Where the figure comes from: the recipe that ran, or the source it was copied from."""
    if view["kind"] == "published":
        published_card(view)
    elif view["kind"] == "imported":
        imported_card(view)
    else:
        recipe_card(view)


def published_card(view: View) -> None:
    """Source, and the published rounding beside the computed value."""
    published = view["published"]
    st.markdown("**Published figure**")
    lines = [
        ("source", published["source"]),
        ("as published, tok/s", rate(published["tok_per_s"])),
        ("speed-up as published", speedup(published["speedup_published"])),
        ("speed-up computed from the row", speedup(view["cell"]["speedup"])),
        ("acceptance as published", share(published["accept_share"], published["accept_denominator"])),
        ("note", published["note"]),
    ]
    pairs([line for line in lines if line[1]])
    st.text("Transcribed by hand, not measured here: it can be compared with, but no keep can rest on it.")


def recipe_card(view: View) -> None:
    """What ran, and in what it differs from its baseline."""
    st.markdown("**Recipe**")
    if view["recipe"] is None:
        st.text("Not recorded by the source.")
        return
    changed = view["recipe_differences"]
    st.text(
        "Differs from its baseline in: " + ", ".join(f"{k} {a} → {b}" for k, (a, b) in changed.items())
        if changed
        else "The baseline itself."
    )
    with st.expander("Whole recipe"):
        st.text(f"identity {view['recipe_id']}")
        st.json(view["recipe"], expanded=1)


def not_shown(view: View) -> None:
    """What nobody should read out of this cell."""
    st.text({"published": NOT_SHOWN_PUBLISHED, "imported": NOT_SHOWN_IMPORTED}.get(view["kind"], NOT_SHOWN))


def formulas(view: View) -> None:
    """How everything on the receipt is worked out."""
    of_source = ["published_a"] if view["kind"] == "published" else []
    computed("inequality", "a", *of_source, "h", "step", "break_even", "split", "marginal", "reject", "projection", "noise")


def onward(view: View) -> None:
    """To the price explorer, with this cell's values."""
    if view["price"]:
        page_link("price", "Play with these values", **{CELL: view["cell"]["cell_id"]})
