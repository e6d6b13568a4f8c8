"""The parts of a receipt: verdict, price, split, samples, recipe, command, raw log, decisions. What came from outside is shown as text."""

from __future__ import annotations

import math
import shlex
from typing import Any

import pandas as pd
import streamlit as st

from core.domain.decision import NOT_SHOWN
from core.domain.run import short
from core.services.house import House
from core.services.runs import read_raw
from core.ui.components.figures import (
    NOT_RECORDED,
    VERDICTS,
    ms,
    plain,
    rate,
    rate_range,
    share,
    share_exact,
    sign,
    size,
    speedup,
    when,
)
from core.ui.components.imported_card import NOT_SHOWN_IMPORTED, imported_card
from core.ui.components.links import page_link, run_link, worksheet_link
from core.ui.components.pairs import pairs
from core.ui.problem import shown
from core.ui.state import CELL

View = dict[str, Any]
TAIL_BYTES = 6000
NOT_SHOWN_PUBLISHED = (
    "One published row: box, build, context length and repetitions are not given, so neither noise nor drift can be judged."
    " Where the source does not say what an acceptance counts, its denominator is assumed."
)
_RIGHT = ("tok/s", "client tok/s", "TTFT ms", "prefill tok/s", "accepted / proposed", "D ms")
_SAMPLE_COLUMNS = {name: st.column_config.TextColumn(name, alignment="right") for name in _RIGHT}
_COLORS = {"wins": "blue", "loses": "orange", "no-difference": "gray"}


def headline(view: View) -> None:
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
    st.text(price["note"] if price else _why_no_price(view))


def _is_baseline(view: View) -> bool:
    return bool((view["published"] or view["counts"])["n_max"] == 0)


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
    return "Nothing can be priced: the row has no baseline with a counted repetition."


def price_card(view: View) -> None:
    """H, D, V, a, break-even, and the inequality with both sides in ms."""
    price = view["price"]
    st.markdown("**Price**")
    if price is None:
        st.text("No price: a pair of baseline and speculative cell is needed.")
        return
    per_stream = " per stream" if view.get("counts", {}).get("c", 1) > 1 else ""
    pairs(
        [
            (f"H: a plain step{per_stream}", f"{ms(price['h_ms'])} ms"),
            ("D: drafting", f"{ms(price['d_ms'])} ms" if price["d_ms"] is not None else f"{NOT_RECORDED} not recorded"),
            ("V: verifying", f"{ms(price['v_ms'])} ms" if price["v_ms"] is not None else f"{NOT_RECORDED} part of D + V"),
            ("D + V: a speculative step", _step_words(price)),
            ("a: tokens per step, the target's own included", _a_words(price)),
            ("acceptance needed to break even", share_exact(price["break_even_accept_share"])),
            ("acceptance seen", share(view["cell"]["accept_share"], view["cell"]["accept_denominator"])),
        ]
    )
    inequality(price)


def _step_words(price: View) -> str:
    if price["step_ms"] is None:
        return f"at most {ms(price['step_ms_max'])} ms"
    return f"{ms(price['step_ms'])} ms = {plain(price['step_in_h'])} H"


def _a_words(price: View) -> str:
    return plain(price["a"]) if price["a"] is not None else f"not recorded: {plain(price['a_min'])} … {plain(price['a_max'])}"


def inequality(price: View) -> None:
    """Both sides in ms. The left side is the time of one token, which follows from the measured speed with or without a."""
    per_token = price["h_ms"] / price["speedup"]
    relation = "<" if per_token < price["h_ms"] else ("=" if per_token == price["h_ms"] else ">")
    st.code(f"(D + V) ÷ a = {ms(per_token)} ms  {relation}  {ms(price['h_ms'])} ms = H", language=None, wrap_lines=True)
    st.caption(
        "a counts the target's own token. Bookkeeping, not a forecast: both sides come from the same figures and restate the speed-up."
    )


def split_card(view: View) -> None:
    """The speed-up as factors that multiply to it."""
    price = view["price"]
    st.markdown("**Split of the gain or loss**")
    if price is None or price["parts"] is None:
        st.text("Cannot be told without recorded acceptance." if price else "Nothing to split.")
        return
    parts = price["parts"]
    lines = [("best case: every draft accepted", f"× {plain(math.exp(parts['best_case']))}")]
    lines.append(("acceptance", f"÷ {plain(math.exp(parts['acceptance']))}"))
    known = ("verify", "draft") if parts["verify"] is not None else ("verify+draft",)
    lines += [(name.replace("+", " + "), f"÷ {plain(math.exp(parts[name]))}") for name in known]
    lines.append(("speed-up", f"= {speedup(price['speedup'])}"))
    pairs(lines)
    st.text(f"Dominant cost: {price['dominant'].replace('+', ' + ')}.")


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


def samples_table(view: View) -> None:
    """Every repetition, cold, failed and excluded ones included."""
    cell = view["cell"]
    st.markdown("**Samples**")
    if not view["samples"]:
        alone = "the file gives no single ones" if view["kind"] == "imported" else "a published figure comes alone"
        st.text(f"No repetitions: {alone}.")
        return
    frame = pd.DataFrame([_sample(number, row) for number, row in enumerate(view["samples"], 1)])
    st.dataframe(frame, hide_index=True, width="stretch", column_config=_SAMPLE_COLUMNS)
    counted = f"Counted: {rate_range(cell['tok_s_min'], cell['tok_s_max'], cell['n'])} tok/s, lowest to highest. The cell shows the median."
    st.caption(counted if cell["n"] else "No repetition counts.")


def _sample(number: int, row: View) -> View:
    return {
        "#": number,
        "stage": row["stage"],
        "counts": _standing(row),
        "tok/s": rate(row["tok_per_s"]),
        "client tok/s": rate(row["client_tok_per_s"]),
        "TTFT ms": ms(row["ttft_ms"]),
        "prefill tok/s": rate(row["prefill_tok_per_s"]),
        "accepted / proposed": f"{row['accepted']} / {row['drafted']}" if row["drafted"] is not None else "n/a",
        "accepted to position 1, 2, …": ", ".join(share(part) for part in row["per_position"]) if row["per_position"] else "n/a",
        "D ms": ms(row["d_ms"]) if row["n_max"] else "n/a",
        "at": when(row["noted_at"]),
    }


def _standing(row: View) -> str:
    if row["excluded_reason"]:
        return f"▨ excluded by {row['excluded_by']}: {row['excluded_reason']}"
    if row["status"] != "ok":
        return f"✕ {row['status']}: {row['reason']}"
    return "yes" if row["counted"] else f"no: {row['temperature']} warm-up" if row["temperature"] == "cold" else "no"


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


def commands(view: View) -> None:
    """The exact argument lists, as they could be typed; the API key was never stored."""
    for server in view["servers"]:
        st.caption(f"engine start {server['server']}, loaded in {plain(server['load_s'], 1)} s · key replaced by \\*\\*\\*")
        st.code(shlex.join(server["argv"]), language=None, wrap_lines=True)
        st.text(f"Placement read back: {server['placement'].get('label', 'unknown')}")
    if not view["servers"]:
        st.text("No engine start is recorded.")


def raw_logs(house: House, view: View) -> None:
    """Raw files kept beside the database: the end of each, literally, and the whole as a download."""
    if not view["raw_files"]:
        st.text("No raw log is kept (it comes home when the run ends).")
    for kept in view["raw_files"]:
        with shown():
            data = read_raw(house, kept["run_id"], kept["name"])
            st.caption(f"{kept['name']} · {size(kept['bytes'])} · sha256 {kept['sha256'][:16]}…")
            st.code(data[-TAIL_BYTES:].decode("utf-8", "replace") or "(empty)", language=None, height=260)
            st.download_button(
                f"Download {kept['name']}", data, file_name=kept["name"], mime="application/octet-stream", key=f"raw-{kept['name']}"
            )


def decisions(view: View) -> None:
    """What was decided on this run."""
    for entry in view["decisions"]:
        worksheet_link(entry["worksheet_id"], f"{entry['verdict'].upper()} · {entry['owner']} · {when(entry['noted_at'])}")
        st.text(entry["reason"])
    if not view["decisions"]:
        st.text("No decision rests on this cell.")


def not_shown(view: View) -> None:
    """What nobody should read out of this cell."""
    st.text({"published": NOT_SHOWN_PUBLISHED, "imported": NOT_SHOWN_IMPORTED}.get(view["kind"], NOT_SHOWN))


def onward(view: View) -> None:
    """To the price explorer, with this cell's values."""
    if view["price"]:
        page_link("price", "Play with these values", **{CELL: view["cell"]["cell_id"]})
