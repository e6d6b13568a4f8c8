"""The two columns: which measured recipes stand in them, how those differ, and what the next sweep is asked for."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import short
from core.services.comparison import change_plan, choose_arm, measured_arms
from core.services.house import House
from core.ui.components.autosave import adopt, follow, refusal, save, seen_before
from core.ui.components.field_problems import told
from core.ui.components.figures import when
from core.ui.components.pairs import pairs
from core.ui.components.person import person

LABELS = {"by": "Your name (in the menu)", "production_c": "Production concurrency", "n_max": "Longest draft n_max",
          "repetitions": "Repetitions", "baseline": "Baseline", "candidate": "Candidate"}  # fmt: skip
OWN = "this worksheet's newest run"


def compared(house: House, view: dict[str, Any]) -> None:
    """What differs beside the change stands open; the choices are closed until somebody asks."""
    stray = [one for one in view["differences"] if not one["is_change"]]
    if view["evidence"].baseline_run_id:
        st.warning(
            "Baseline and candidate come from two runs. A speed-up is taken within one: choose both from the same run.",
            icon=":material/warning:",
        )
    if stray:
        st.warning(
            "The two sides differ in more than the change under test: " + ", ".join(one["key"] for one in stray), icon=":material/warning:"
        )
    with st.expander("Recipes compared, and what is asked", key="compare", expanded=bool(stray)):
        if not view["decisions"]:
            _choices(house, view)
        _differences(view["differences"])
        if not view["decisions"]:
            _plan(house, view)


def _choices(house: House, view: dict[str, Any]) -> None:
    arms = measured_arms(house, view["worksheet"])
    for column, side in zip(st.columns(2), ("baseline", "candidate"), strict=True):
        options = {OWN: None, **{_words(house, arm): arm for arm in arms[side]}}
        entry = view["evidence"].typed.get(("recipe", side))
        chosen = entry["value"] if entry else None
        standing = next((words for words, arm in options.items() if arm and chosen and _is(arm, chosen)), OWN)
        key = f"arm-{view['worksheet']['worksheet_id']}-{side}"
        follow(key, entry["entry"] if entry else 0, standing)
        with column:
            st.selectbox(LABELS[side], list(options), key=key, on_change=_chosen, args=(house, view["worksheet"], side, key, options))
            refusal(key, LABELS)


def _is(arm: dict[str, Any], chosen: dict[str, Any]) -> bool:
    return (arm["run_id"], arm["n_max"]) == (chosen["run_id"], chosen["n_max"])


def _words(house: House, arm: dict[str, Any]) -> str:
    build = f"b{arm['build']}" if str(arm["build"]).isdigit() else arm["build"] or "build unknown"
    where = f"{short(arm['run_id'])} {when(arm['at'])} · {arm['model']} · {house.workload_title(arm['workload'])}"
    return f"{arm['n_max'] or 'off'} · {where} · {build} · {arm['spill']}"


def _chosen(house: House, worksheet: dict[str, Any], side: str, key: str, options: dict[str, Any]) -> None:
    words = st.session_state[key]
    arm = options.get(words) or {"run_id": None, "n_max": 0}

    def write(over: int) -> dict[str, Any]:
        entry = choose_arm(house, worksheet["worksheet_id"], side, arm["run_id"], arm["n_max"], by=person(), over=over)
        return {**entry, "value": words}

    save(key, write)


def _differences(found: list[dict[str, Any]]) -> None:
    if not found:
        st.text("Both recipes are listed here once a run has measured them.")
        return
    pairs([(("" if one["is_change"] else "⚠ ") + one["key"], f"{one['baseline']} → {one['candidate']}") for one in found])
    st.caption("⚠ differs beside the change under test" if any(not one["is_change"] for one in found) else "only the change under test")


def _plan(house: House, view: dict[str, Any]) -> None:
    """What the next sweep asks for; runs that were made stay as they are."""
    worksheet, entry = view["worksheet"], view["evidence"].typed.get(("plan", "candidate"))
    number = entry["entry"] if entry else 0
    over, keys, is_done = seen_before(f"plan-seen-{worksheet['worksheet_id']}", number), [], False
    with st.form("plan-form", border=False):
        values = {}
        for column, name in zip(st.columns(3), ("production_c", "n_max", "repetitions"), strict=True):
            key = f"plan-{worksheet['worksheet_id']}-{name}"
            follow(key, number, worksheet["body"][name])
            keys.append(key)
            with column:
                values[name] = st.number_input(LABELS[name], step=1, key=key)
        if st.form_submit_button("Change what is asked", key="change-plan"):
            with told(LABELS):
                change_plan(house, worksheet["worksheet_id"], values, by=person(), over=over)
                is_done = True
    if is_done:
        adopt(*keys)
        st.rerun()
