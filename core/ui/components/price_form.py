"""Inputs of the price explorer and what they come to. `a` is asked for as a share, the way engines print it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.price import Need, needed_figure, speedup_figure
from core.domain.price import Price, price_pair, tokens_per_step_from_share
from core.errors import NotFound
from core.services.house import House
from core.services.matrix import matrix_rows
from core.services.receipts import receipt
from core.ui.components.figures import VERDICTS, literal, ms, plain, rate, share_exact, sign, speedup
from core.ui.components.grid import row_title
from core.ui.components.theme import is_dark

BASE, SPEC, N_MAX, SHARE, DRAFT, TAKEN, CHOICE = (
    "price-base",
    "price-spec",
    "price-n",
    "price-share",
    "price-d",
    "price-taken",
    "price-cell",
)
START = {BASE: 22.2, SPEC: 26.3, N_MAX: 1, SHARE: 100.0, DRAFT: None}


def cells_to_take(house: House) -> dict[str, str]:
    """Cell id → label, of every cell that can be priced."""
    found = {}
    for row in matrix_rows(house):
        for name, cell in row["cells"].items():
            if cell["speedup"] is not None:
                label = f"{row_title(row)} · n_max {name}: {rate(cell['tok_s'])} tok/s {speedup(cell['speedup'])} {sign(cell['verdict'])}"
                found[cell["cell_id"]] = label
    return found


def seed(house: House, cell_id: str) -> None:
    """Fills the inputs: once with the example, and once for each cell that a link brings."""
    for key, value in START.items():
        st.session_state.setdefault(key, value)
    if cell_id and st.session_state.get(TAKEN) != cell_id:
        st.session_state[TAKEN] = cell_id
        take(house, cell_id)


def take(house: House, cell_id: str) -> None:
    """Copies a cell's values into the inputs. Raises NotFound, also for a cell without a price."""
    view = receipt(house, cell_id)
    price = view["price"]
    if price is None:
        raise NotFound("priced cell", cell_id)
    n_max = int((view["published"] or view["counts"])["n_max"])
    values = (1000.0 / price["h_ms"], price["speedup"] * 1000.0 / price["h_ms"], n_max)
    st.session_state[BASE], st.session_state[SPEC], st.session_state[N_MAX] = round(values[0], 3), round(values[1], 3), n_max
    st.session_state[SHARE] = None if price["a"] is None else round(100.0 * (price["a"] - 1.0) / n_max, 2)
    st.session_state[DRAFT] = None if price["d_ms"] is None else round(price["d_ms"], 2)


def cell_choice(house: House) -> None:
    """“Take values from cell …”"""
    labels = cells_to_take(house)

    def taken() -> None:
        if st.session_state[CHOICE]:
            take(house, st.session_state[CHOICE])

    st.selectbox(
        "Take values from cell …", list(labels), index=None, key=CHOICE, on_change=taken, format_func=lambda one: labels.get(one, one),
        placeholder="a measured or published cell",
    )  # fmt: skip


def inputs() -> Price | None:
    """The five inputs; the price, or None with a sentence when they contradict one another."""
    columns = st.columns(5)
    base = columns[0].number_input("Baseline tok/s", min_value=0.01, key=BASE, format="%.2f", help="Speculation off, one stream.")
    spec = columns[1].number_input("Speculative tok/s", min_value=0.01, key=SPEC, format="%.2f", help="Same workload, same stream count.")
    n_max = columns[2].number_input("n_max", min_value=1, max_value=16, step=1, key=N_MAX, help="Most draft tokens per step.")
    share = columns[3].number_input(
        "Accepted, % of n_max", min_value=0.0, max_value=100.0, key=SHARE, format="%.1f", placeholder="not recorded",
        help="Accepted draft tokens out of n_max proposed in every step. Empty: not recorded, bounds are given.",
    )  # fmt: skip
    draft = columns[4].number_input(
        "D ms (optional)", min_value=0.0, key=DRAFT, format="%.2f", placeholder="not recorded", help="Drafting, per step."
    )
    a = None if share is None else tokens_per_step_from_share(int(n_max), share / 100.0)
    try:
        return price_pair(base, spec, int(n_max), a=a, d_ms=draft)
    except ValueError as problem:
        st.error(f"These values cannot be together: {literal(problem)}.", icon="⚠️")
        return None


def curves(price: Price, *, needs: list[Need]) -> None:
    """The two curves, or why there is none."""
    left, right = st.columns(2)
    with left:
        st.markdown("**Acceptance needed against n_max**")
        st.plotly_chart(
            needed_figure(needs, dark=is_dark()), key="price-needed", config={"displayModeBar": False}, alt="acceptance needed by n_max"
        )
        st.caption("Dotted: what a step of 1.5, 2, 3 or 4 plain steps needs. Longer drafts cost more per step; measure to know how much.")
    with right:
        st.markdown("**Speed-up against a**")
        if price.a is None or price.step_in_h is None:
            st.text("Not drawn: without recorded acceptance the cost of a step is only bounded.")
            return
        figure = speedup_figure(n_of(price), price.step_in_h, price.a, dark=is_dark())
        st.plotly_chart(figure, key="price-speedup", config={"displayModeBar": False}, alt="speed-up by tokens committed per step")
        st.caption("The same step cost with better or worse drafts: from none accepted (left end) to all accepted (right end).")


def n_of(price: Price) -> int:
    """n_max of the inputs, whose price this is."""
    return int(st.session_state[N_MAX])


def needs_of(house: House, price: Price) -> list[Need]:
    """This pair's point, or every priced n of the row that the values were taken from while they are still those."""
    taken = st.session_state.get(CHOICE) or st.session_state.get(TAKEN)
    row = next((r for r in matrix_rows(house) if any(c["cell_id"] == taken for c in r["cells"].values())), None) if taken else None
    here = [] if price.break_even_accept_share is None else [Need(n_of(price), price.break_even_accept_share, _share_seen())]
    if row is None:
        return here
    priced: dict[int, Any] = {int(n): receipt(house, c["cell_id"])["price"] for n, c in row["cells"].items() if c["speedup"] is not None}
    others = [
        Need(n, p["break_even_accept_share"], (p["a"] - 1.0) / n)
        for n, p in priced.items()
        if p and p["a"] is not None and n != n_of(price)
    ]
    return sorted([*here, *others], key=lambda need: need.n_max)


def _share_seen() -> float | None:
    percent = st.session_state[SHARE]
    return None if percent is None else percent / 100.0


def figures(price: Price) -> None:
    """The figures in a row."""
    step = f"{ms(price.step_ms)} ms" if price.step_ms is not None else f"≤ {ms(price.step_ms_max)} ms"
    a = plain(price.a) if price.a is not None else f"{plain(price.a_min)} … {plain(price.a_max)}"
    shown = {
        "Speed-up": f"{speedup(price.speedup)} {sign(price.verdict)}",
        "H, a plain step": f"{ms(price.h_ms)} ms",
        "D + V, a speculative step": step,
        "a, tokens per step": a,
        "Acceptance to break even": share_exact(price.break_even_accept_share),
    }
    with st.container(horizontal=True, gap="medium"):
        for label, text in shown.items():
            st.metric(label, text, width="content")


def verdict_words(price: Price) -> str:
    """“▲ WINS 1.18×”"""
    return f"{sign(price.verdict)} {VERDICTS[price.verdict]} {speedup(price.speedup)}"
