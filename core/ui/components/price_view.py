"""What the explorer's values come to: the sentence first, then the inequality, the curves, and what-ifs marked as assumptions."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.price import Need, add_assumption, needed_figure, speedup_figure
from core.domain.break_even import Ledger, ledger_of
from core.domain.explorer import Outcome, WhatIf
from core.ui.components.figures import VERDICTS, ms, plain, share_exact, sign, speedup
from core.ui.components.links import receipt_link
from core.ui.components.price_form import ORIGIN
from core.ui.components.price_ledger import a_words, got_words, inequality, needed_words
from core.ui.components.theme import is_dark

Row = dict[str, Any]
CHART = {"displayModeBar": False}


def sentence(found: Outcome, ledger: Ledger | None) -> None:
    """The verdict and one sentence, before any formula."""
    if ledger and found.price:
        price = found.price
        st.subheader(f"{sign(price.verdict)} {VERDICTS[price.verdict]} {speedup(price.speedup)}", anchor=False)
        st.write(ledger.sentence)
    elif found.problems:
        st.subheader("Some values cannot be", anchor=False)
        st.write("What is wrong stands below each field; everything you typed is still there.")
    elif found.needed_share is not None and found.step_ms and found.known.h:
        st.subheader("No speed yet", anchor=False)
        cost = found.step_ms / found.known.h
        st.write(f"A step costs {cost:.1f} plain steps: it pays once {_needed(found.needed_share)} of the guesses are right.")
    else:
        st.subheader("No speed yet", anchor=False)
        st.write("Type what verifying takes and how many tokens a step commits, or the speed with speculation.")


def _needed(share: float) -> str:
    return f"more than 100% (that is: never) – {share:.0%}" if share > 1 else f"{max(0.0, share):.0%}"


def ledger_of_outcome(found: Outcome) -> Ledger | None:
    """The ledger of what was typed."""
    return ledger_of(found.price, found.known.n_max) if found.price and found.known.n_max else None


def origin_line() -> None:
    """Where the values came from."""
    if st.session_state.get(ORIGIN):
        receipt_link(st.session_state[ORIGIN], "Values taken from this cell, changes since then are yours ↗")


def figures(ledger: Ledger) -> None:
    """The inequality with both sides in ms, and the figures in a row."""
    kind = "Bookkeeping, not a forecast, as long as all values come from one run: both sides then restate its speed-up."
    inequality(ledger.per_token_ms, ledger.h_ms, kind=kind)
    step = f"{ms(ledger.step_ms)} ms" if ledger.step_ms is not None else f"≤ {ms(ledger.step_ms_max)} ms"
    shown = {
        "Speed-up": f"{speedup(ledger.speedup)} {sign(ledger.verdict)}",
        "D + V, a speculative step": step,
        "a, tokens per step": a_words(ledger),
        "Acceptance needed": needed_words(ledger),
        "Acceptance got": got_words(ledger),
    }
    with st.container(horizontal=True, gap="medium"):
        for label, text in shown.items():
            st.metric(label, text, width="content")


def assumption(found: Outcome, result: WhatIf | None) -> None:
    """What would come of the assumptions."""
    if result is None:
        if found.known.what_accept is not None or found.known.what_v is not None:
            st.text("Nothing follows yet: the cost of a step or the tokens it commits are still unknown.")
        return
    word = "faster" if result.speedup >= 1 else "slower"
    st.badge(f"assumption: {', '.join(result.assumed)}", color="violet", width="content")
    st.write(f"Text would come out {abs(result.speedup - 1):.0%} {word}: {speedup(result.speedup)}, at {plain(result.a)} tokens a step.")
    st.caption(
        f"At this cost of {ms(result.step_ms)} ms a step it pays from {share_exact(result.needed_share)} right guesses on. Not measured."
    )


def curves(found: Outcome, ledger: Ledger | None, row: Row | None, assumed: WhatIf | None) -> None:
    """Acceptance needed against n, and speed-up against a; or why there is none."""
    left, right = st.columns(2)
    with left:
        st.markdown("**Acceptance needed against n**")
        needs = needs_of(found, ledger, row)
        figure = needed_figure(needs, dark=is_dark())
        st.plotly_chart(figure, key="price-needed", config=CHART, alt=needs_words(needs))
        st.caption("Dotted: what a step of 1.5, 2, 3 or 4 plain steps needs. Longer drafts cost more per step; measure to know how much.")
    with right:
        st.markdown("**Speed-up against a**")
        if ledger is None or ledger.a is None or ledger.step_in_h is None:
            st.text("Not drawn: without recorded acceptance the cost of a step is only bounded." if ledger else "Not drawn yet.")
            return
        figure = speedup_figure(ledger.n_max, ledger.step_in_h, ledger.a, dark=is_dark())
        if assumed is not None:
            add_assumption(figure, assumed.a, assumed.speedup)
        st.plotly_chart(figure, key="price-speedup", config=CHART, alt=f"speed-up against a; here a {ledger.a:.2f}, {ledger.speedup:.2f}×")
        st.caption("The same step cost with better or worse drafts: none right (left end) to all right (right end). Star: your assumption.")


def needs_of(found: Outcome, ledger: Ledger | None, row: Row | None) -> list[Need]:
    """What was typed, and the other priced lengths of the row that the values were taken from."""
    here = [Need(found.known.n_max, found.needed_share, ledger.got_share if ledger else None)] if _is_needed(found) else []  # type: ignore[arg-type]
    others = []
    for name, cell in (row["cells"] if row else {}).items():
        price = cell["price"]
        if price and price["a"] is not None and int(name) != found.known.n_max:
            others.append(Need(int(name), price["break_even_accept_share"], (price["a"] - 1.0) / int(name)))
    return sorted([*here, *others], key=lambda need: need.n_max)


def _is_needed(found: Outcome) -> bool:
    return found.needed_share is not None and found.known.n_max is not None


def needs_words(needs: list[Need]) -> str:
    """The curve in words."""
    parts = [f"n {need.n_max} needs {need.needed_share:.0%}" for need in needs]
    return "acceptance needed by draft length" + (": " + ", ".join(parts) if parts else "")
