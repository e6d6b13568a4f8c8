"""Origin of an imported figure: the file it was read from, and the figure as it stands there."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.ui.components.figures import NOT_RECORDED, plain, rate, rate_range, share, size, when
from core.ui.components.pairs import pairs

NOT_SHOWN_IMPORTED = (
    "Read from another tool's output: neither the box, the load beside it nor drift can be judged. It is compared within its own file"
    " only, never mixed with measured samples, and no keep can rest on it."
)


def imported_card(view: dict[str, Any]) -> None:
    """File, digest, kind, what the file says of the recipe; blanks where it is silent."""
    one, file = view["imported"], view["imported"]["file"]
    st.markdown("**Imported file**")
    lines = [
        ("file", f"{file['name']} · {size(file['bytes'])}"),
        ("sha256", f"{file['sha256'][:24]}…"),
        ("read as", file["kind"]),
        ("taken in", f"{when(file['noted_at'])} by {file['imported_by']}"),
        ("model", one["model"] or NOT_RECORDED),
        ("engine build", one["build"] or NOT_RECORDED),
        ("settings", one["settings"] or NOT_RECORDED),
        ("placement", one["placement"]["label"]),
        ("workload", one["workload"] or NOT_RECORDED),
        ("concurrency", str(one["c"] or NOT_RECORDED)),
        ("tok/s", f"{rate(one['tok_per_s'])} ({one['basis']})"),
        ("lowest to highest", rate_range(one["tok_per_s_min"], one["tok_per_s_max"], one["n"])),
        ("acceptance", share(one["accept_share"], one["accept_denominator"])),
        ("a: tokens per step", plain(one["a"])),
    ]
    pairs(lines)
    for sentence in file["warnings"]:
        st.text(f"⚠ {sentence}")
