"""Inputs of the price explorer: H, D, V, n, a as text, so that anything typed stays; values come from an address or from a cell."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.explorer import EXAMPLE, FIELDS, N_MAX, SPEC, WHAT_ACCEPT, WHAT_V, A, D, H, Outcome, V, explore
from core.errors import BenchError, NotFound
from core.services.house import House
from core.services.matrix import matrix_rows
from core.services.receipts import receipt
from core.ui.components.figures import literal, rate, sign, speedup
from core.ui.components.grid import row_title
from core.ui.problem import show
from core.ui.state import CELL

ORIGIN, CHOICE, WRITTEN = "price-origin", "price-cell", "price-written"
MOST_CELLS = 300  # a longer list cannot be searched by eye; a receipt links here with its own values
LONGEST_KEPT = 60  # characters of a field that go into the address
WORDS = {
    H: ("H: a plain step, ms", "The time of one token without speculation."),
    N_MAX: ("n: tokens guessed a step", "The draft length, n_max."),
    A: (
        "a: tokens a step commits",
        "Right guesses and the target's own token: 1 (none right) to n + 1 (all right). Empty: not recorded.",
    ),
    D: ("D: drafting, ms", "The time of guessing, for one step. Empty: counted with V."),
    V: ("V: verifying, ms", "The time of checking n guesses at once. Empty: worked out from the speed beside it."),
    SPEC: ("or: speed with speculation, tok/s", "Only where D, V and a do not already make it."),
    WHAT_ACCEPT: ("What if so many guesses were right, %", "100: every guess right. An assumption, nothing measured."),
    WHAT_V: ("What if verifying took, ms", "A V you assume, for example after moving layers to the GPU."),
}


def key_of(name: str) -> str:
    """Session-state key of a field."""
    return f"price-{name}"


def seed(house: House) -> None:
    """Fills the fields from the address when it is not the one this page wrote: values first, else the cell, else the example."""
    asked = {name: st.query_params[name] for name in (*FIELDS, CELL) if name in st.query_params}
    fresh = key_of(H) not in st.session_state
    if not fresh and asked == st.session_state.get(WRITTEN):
        return
    cell_id = asked.get(CELL, "")
    typed = {name: asked.get(name, "") for name in FIELDS} if any(name in asked for name in FIELDS) else None
    _fill(typed or EXAMPLE, cell_id if typed else "")
    if cell_id and not typed:
        try:
            take(house, cell_id)
        except BenchError as problem:
            show(problem)


def _fill(values: dict[str, str], origin: str) -> None:
    for name in FIELDS:
        st.session_state[key_of(name)] = values[name]
    st.session_state[ORIGIN] = origin


def take(house: House, cell_id: str) -> None:
    """Copies a cell's values into the fields. Raises NotFound, also for a cell without a price."""
    view = receipt(house, cell_id)
    price = view["price"]
    if price is None:
        raise NotFound("priced cell", cell_id)
    is_known = price["a"] is not None
    step = price["step_ms"]
    _fill(
        {
            **dict.fromkeys(FIELDS, ""),
            H: _text(price["h_ms"]),
            N_MAX: str(view["n_max"]),
            A: _text(price["a"], 4),
            D: _text(price["d_ms"]),
            V: _text(step - (price["d_ms"] or 0.0)) if is_known else "",
            SPEC: "" if is_known else _text(1000.0 * price["speedup"] / price["h_ms"]),
        },
        cell_id,
    )


def _text(value: float | None, decimals: int = 3) -> str:
    return "" if value is None else f"{value:.{decimals}f}".rstrip("0").rstrip(".")


def cells_to_take(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Cell id → label, of the cells that can be priced, in the matrix's order."""
    found = {}
    for row in rows:
        for name, cell in row["cells"].items():
            if cell["price"]:
                label = f"{row_title(row)} · n_max {name}: {rate(cell['tok_s'])} tok/s {speedup(cell['speedup'])} {sign(cell['verdict'])}"
                found[cell["cell_id"]] = label
    return dict(list(found.items())[:MOST_CELLS])


def cell_choice(house: House, rows: list[dict[str, Any]]) -> None:
    """“Take values from cell …”"""
    labels = cells_to_take(rows)

    def taken() -> None:
        if st.session_state[CHOICE]:
            take(house, st.session_state[CHOICE])

    st.selectbox(
        "Take values from cell …", list(labels), index=None, key=CHOICE, on_change=taken, format_func=lambda one: labels.get(one, one),
        placeholder="a measured, imported or published cell",
    )  # fmt: skip


def inputs(found: Outcome) -> None:
    """The six fields, each with its own problem below it."""
    for names in ((H, N_MAX, A), (D, V, SPEC)):
        for column, name in zip(st.columns(3), names, strict=True):
            with column:
                _field(name, found)


def what_ifs(found: Outcome) -> None:
    """The two assumptions."""
    for column, name in zip(st.columns(2), (WHAT_ACCEPT, WHAT_V), strict=True):
        with column:
            _field(name, found)


def _field(name: str, found: Outcome) -> None:
    label, help_text = WORDS[name]
    st.text_input(label, key=key_of(name), help=help_text, placeholder="not known" if name not in (H, N_MAX) else "")
    if name in found.problems:
        st.markdown(f":red[⚠ {literal(found.problems[name])}]")


def outcome() -> Outcome:
    """What stands in the fields, priced."""
    return explore({name: st.session_state.get(key_of(name)) or "" for name in FIELDS})


def write_address() -> None:
    """Puts the fields into the address bar: a link shows the same, wrong values included."""
    kept = {name: st.session_state.get(key_of(name)) or "" for name in FIELDS}
    address = {name: text for name, text in kept.items() if text and len(text) <= LONGEST_KEPT}
    if st.session_state.get(ORIGIN):
        address[CELL] = st.session_state[ORIGIN]
    if address != {name: st.query_params[name] for name in (*FIELDS, CELL) if name in st.query_params}:
        st.query_params.from_dict(address)
    st.session_state[WRITTEN] = address


def row_taken_from(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The row of the cell the values came from."""
    origin = st.session_state.get(ORIGIN)
    return next((row for row in rows if any(cell["cell_id"] == origin for cell in row["cells"].values())), None) if origin else None


def rows_of(house: House) -> list[dict[str, Any]]:
    """Every row, with the prices its cells carry."""
    return matrix_rows(house)
