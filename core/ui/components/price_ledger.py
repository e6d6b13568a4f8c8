"""The break-even ledger on a receipt: every part in ms and in plain steps, needed against got, the split, marginal token, price tag."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.split import factor_words, split_figure
from core.domain.break_even import Ledger, Marginal
from core.domain.price_tag import Tag
from core.ui.components.figures import NOT_RECORDED, ms, plain, share, share_exact, speedup
from core.ui.components.pairs import pairs
from core.ui.components.theme import is_dark

View = dict[str, Any]
CHART = {"displayModeBar": False}


def price_card(view: View, ledger: Ledger | None) -> None:
    """H, D, V, a, margin, acceptance needed against got, and the inequality with both sides in ms."""
    st.markdown("**Price**")
    if ledger is None:
        st.text("No price: a pair of baseline and speculative cell is needed.")
        return
    per_stream = " per stream" if view["c"] > 1 else ""
    pairs(
        [
            (f"H: a plain step{per_stream}", f"{ms(ledger.h_ms)} ms"),
            ("D: drafting", _part(ledger.d_ms, ledger.d_in_h, f"{NOT_RECORDED} not recorded")),
            ("V: verifying", _part(ledger.v_ms, ledger.v_in_h, f"{NOT_RECORDED} part of D + V")),
            ("D + V: a speculative step", _step_words(ledger)),
            ("a: tokens per step, the target's own included", a_words(ledger)),
            ("margin: H less the time of a token", f"{signed(ledger.margin_ms)} ms = {signed(100 * ledger.margin_share)}% of H"),
            ("acceptance needed to break even", needed_words(ledger)),
            ("acceptance got, of n_max a step", got_words(ledger)),
            ("acceptance seen, as the source counts it", seen_words(view["cell"])),
            ("can a better draft win here?", can_win_words(ledger)),
            ("marginal token", marginal_words(ledger.marginal)),
            (
                "reject cost, an upper bound",
                f"at most {ms(ledger.reject_cost_ms)} ms a token" if ledger.reject_cost_ms is not None else NOT_RECORDED,
            ),
        ]
    )
    inequality(ledger.per_token_ms, ledger.h_ms)


def _part(value: float | None, in_h: float | None, blank: str) -> str:
    return blank if value is None or in_h is None else f"{ms(value)} ms = {plain(in_h)} H"


def _step_words(ledger: Ledger) -> str:
    if ledger.step_ms is None:
        return f"{ms(ledger.step_ms_min)} … {ms(ledger.step_ms_max)} ms = at most {plain(ledger.step_ms_max / ledger.h_ms)} H"
    return f"{ms(ledger.step_ms)} ms = {plain(ledger.step_in_h)} H"


def a_words(ledger: Ledger) -> str:
    """a, or the bounds that the two speeds leave."""
    return plain(ledger.a) if ledger.a is not None else f"not recorded: {plain(ledger.a_min)} … {plain(ledger.a_max)}"


def needed_words(ledger: Ledger) -> str:
    """Acceptance needed; bounds where a is unknown."""
    if ledger.needed_share is not None:
        return share_exact(ledger.needed_share)
    return f"between {share_exact(max(0.0, ledger.needed_share_min))} and {share_exact(ledger.needed_share_max)}"


def got_words(ledger: Ledger) -> str:
    """Acceptance got; bounds where it was not recorded."""
    if ledger.got_share is not None:
        return share_exact(ledger.got_share)
    return f"not recorded: between {share_exact(ledger.got_share_min)} and {share_exact(ledger.got_share_max)}"


def seen_words(cell: View) -> str:
    """Acceptance with its denominator; invalid and not recorded are told apart."""
    if cell["accept_status"] == "invalid":
        return "invalid: see above"
    return share(cell["accept_share"], cell["accept_denominator"]) if cell["accept_share"] is not None else f"{NOT_RECORDED} not recorded"


def can_win_words(ledger: Ledger) -> str:
    """Yes, no, or undecided."""
    if ledger.can_win is None:
        return "cannot be decided without recorded acceptance"
    if not ledger.can_win:
        return "no draft can win here: it would need more than 100%"
    most = ledger.needed_share_max if ledger.needed_share is None else ledger.needed_share
    return f"yes, from {share_exact(max(0.0, most))} on" + ("" if ledger.needed_share is not None else " at the latest")


def marginal_words(found: Marginal | None) -> str:
    """What the last position(s) cost a token, against what a token cost before."""
    if found is None:
        return f"{NOT_RECORDED} needs recorded acceptance"
    start = "off" if found.from_n == 0 else f"n_max {found.from_n}"
    if found.ms_per_token is None:
        return f"{start} → {found.to_n}: brings no token more, so it cannot pay"
    verdict = "pays" if found.pays else "does not pay"
    return f"{start} → {found.to_n}: {ms(found.ms_per_token)} ms for each token gained, {ms(found.present_ms)} before: {verdict}"


def inequality(per_token_ms: float, h_ms: float, *, kind: str = "") -> None:
    """Both sides in ms. The left side is the time of one token, which follows from the measured speed with or without a."""
    relation = "<" if per_token_ms < h_ms else ("=" if per_token_ms == h_ms else ">")
    st.code(f"(D + V) ÷ a = {ms(per_token_ms)} ms  {relation}  {ms(h_ms)} ms = H", language=None, wrap_lines=True)
    st.caption(
        kind
        or "a counts the target's own token. Bookkeeping, not a forecast: both sides come from the same figures and restate the speed-up."
    )


def signed(value: float) -> str:
    """One decimal with its sign, a real minus."""
    return f"{value:+.1f}".replace("-", "−")


def split_card(ledger: Ledger | None) -> None:
    """The speed-up as factors that multiply to it, drawn and in numbers."""
    st.markdown("**Split of the gain or loss**")
    if ledger is None or not ledger.split:
        st.text("Cannot be told without recorded acceptance." if ledger else "Nothing to split.")
        return
    spoken = ", ".join(f"{part.name} {factor_words(part.factor)}" for part in ledger.split)
    figure = split_figure(ledger.split, ledger.speedup, dark=is_dark())
    st.plotly_chart(figure, key="receipt-split", config=CHART, alt=f"{spoken}, speed-up {speedup(ledger.speedup)}")
    lines = [
        (part.name.replace("+", " + "), f"{factor_words(part.factor)} (ln {part.log:+.3f})".replace("-", "−")) for part in ledger.split
    ]
    pairs([*lines, ("speed-up", f"= {speedup(ledger.speedup)}")])
    st.text(f"Dominant cost: {(ledger.dominant or NOT_RECORDED).replace('+', ' + ')}.")


def tag_card(tags: list[Tag]) -> None:
    """What speculation costs beside decode speed."""
    st.markdown("**Price tag**")
    if not tags:
        st.text("Not recorded: the price tag needs a measured pair.")
        return
    pairs([(tag.label, tag_words(tag)) for tag in tags])


def tag_words(tag: Tag) -> str:
    """“400 → 380 tok/s (−20)”; one figure where there is one side only."""
    if tag.state != "ok":
        return f"{NOT_RECORDED} not recorded"
    if tag.text or tag.candidate is None:
        return tag.text
    if tag.baseline is None or tag.change is None:
        return f"{tag.candidate:.1f} {tag.unit}"
    return f"{tag.baseline:.0f} → {tag.candidate:.0f} {tag.unit} ({_change(tag.change)})"


def _change(value: float) -> str:
    """“+3”, “−3”, “±0” where nothing is left of it after rounding."""
    return f"{value:+.0f}".replace("-", "−") if round(value) else "±0"
