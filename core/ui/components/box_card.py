"""One registered box: where it is, what its newest check found, the run that holds it, and a button that checks it again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.box import THIS_MACHINE, Box
from core.domain.run import short
from core.services.boxes import check_box
from core.services.house import House
from core.ui.components.box_admin import box_admin
from core.ui.components.errand import errand
from core.ui.components.figures import ago, literal, size
from core.ui.components.links import run_link
from core.ui.components.queue_list import queue_list
from core.ui.components.suite_panel import suite_panel
from core.ui.context import services
from core.ui.problem import show_stored

_MODES = {
    "standard": "standard mode: the app brings the agent and may run it as this user",
    "locked": "locked mode: the box's owner holds agent and list, the app's key opens nothing else",
}


def box_card(house: House, row: dict[str, Any]) -> None:
    """`row` as list_boxes gives it. Everything a box says is text."""
    box, check = row["box"], row["check"]
    job = f"check-{box.box_id}"
    with st.container(border=True, key=f"box-{box.box_id}"):
        words, button = st.columns([5, 1], vertical_alignment="center")
        with words:
            st.subheader(literal(box.name), anchor=False)
            st.caption(_stands(row))
            if box.kind == "ssh":
                st.text(f"{box.where} · host key {box.fingerprint}")
        is_out = services().jobs.state(job) == "running"
        if button.button("Check", key=f"check-{box.box_id}", disabled=is_out, width="stretch"):
            start_check(house, box.box_id)
            st.rerun()
        if row["run"]:
            run_link(row["run"]["run_id"], f"held by run {short(row['run']['run_id'])}: {row['run']['state']}")
        queue_list(house, row["queue"])
        if errand(job, "Asking the box what it has …") == "failed":
            services().jobs.problem(job)  # what a person can act on is stored as a check; anything else is a defect and is raised here
        _check(house, box, check)
        suite_panel(house, box)
        box_admin(house, box)


def _stands(row: dict[str, Any]) -> str:
    box = row["box"]
    where = "on this computer, no network" if box.kind == "local" else f"over SSH, {_MODES[box.mode]}"
    return f"{where} · {'busy' if row['run'] else 'free: no run of this app is on it'}"


def start_check(house: House, box_id: str) -> None:
    """Sends the errand; the answer is kept as a check."""
    services().jobs.start(f"check-{box_id}", lambda: check_box(house, box_id, by_hand=True))


def _check(house: House, box: Box, check: dict[str, Any] | None) -> None:
    if check is None:
        st.text("Never checked. Press Check: it then lists Python, engine, models and GPU.")
        return
    st.caption(f"checked {ago(check['noted_at'])}")
    if not check["ok"]:
        show_stored(check["report"]["error"])
        return
    report = check["report"]
    grid = st.grid(5, wrap=False, min_column_width=50, gap="xxsmall", key=f"facts-{box.box_id}")
    made = house.made_models if box.box_id == THIS_MACHINE else ()
    for label, words in _facts(report, made):
        with grid.cell():
            st.caption(label)
        with grid.cell(column_span=4):
            st.text(words)


def _facts(report: dict[str, Any], made: tuple[str, ...]) -> list[tuple[str, str]]:
    facts = [("python", f"{report['python']} on {report['platform']}, {report['cpu_count']} CPUs, {_mib(report['memory_mib'])} memory")]
    facts += [("engine", _engine(engine)) for engine in report["engines"]] or [("engine", "none registered")]
    facts += [("model", _model(model, made)) for model in report["models"]] or [
        ("model", "none found: check the path or folder of the models")
    ]
    if report.get("allow_error"):
        facts.append(("allow.json", report["allow_error"]))
    if report.get("limits"):
        facts.append(("limits there", ", ".join(f"{name} at most {most}" for name, most in report["limits"].items())))
    if report.get("survives_logout") is not None:
        facts.append(("logout", _LOGOUT[report["survives_logout"]]))
    facts += _link(report.get("link"))
    return [*facts, ("GPU", _gpu(report["gpus"])), ("disk", f"{_mib(report['disk_free_mib'])} free")]


_LOGOUT = {
    True: "what a session started goes on after it",
    False: "✕ the box ends everything at logout, so every run would be lost: `loginctl enable-linger` there, or KillUserProcesses=no",
}


def _link(link: dict[str, Any] | None) -> list[tuple[str, str]]:
    """How the SSH connection is kept safe; nothing where there is none."""
    if not link:
        return []
    strict = "strict key exchange" if link["is_strict_kex"] else "NO strict key exchange: the server is too old for it"
    return [("SSH", f"host key {link['host_key_type']}, {strict}, {link['kex'] or 'key exchange not named'}, {link['cipher']}")]


def _mib(value: int | None) -> str:
    return size(value * 2**20 if value is not None else None)


def _engine(engine: dict[str, Any]) -> str:
    if engine.get("error"):
        return f"{engine['id']}: cannot be used: {engine['error']}"
    lines = str(engine.get("version_text") or "").strip().splitlines()
    return f"{engine['id']}: {lines[0] if lines else 'tells no version'}"


def _model(model: dict[str, Any], made: tuple[str, ...]) -> str:
    if model["name"] in made and model["size_bytes"] is None:
        return f"{model['name']}: not made yet, its first sweep makes it"
    if model.get("error"):
        return f"{model['name']}: {model['error']}"
    header = model.get("header") or {}
    layers = header.get("nextn_predict_layers")
    head = f"{layers} MTP layer{'s' if layers != 1 else ''}" if layers else "no MTP head named"
    return f"{model['name']}: {size(model['size_bytes'])}, {header.get('architecture') or 'unknown architecture'}, {head}"


def _gpu(gpus: dict[str, Any]) -> str:
    if gpus["state"] == "present":
        return "; ".join(f"{gpu['name']}, {_mib(gpu.get('memory_mib'))}, driver {gpu.get('driver') or 'unknown'}" for gpu in gpus["list"])
    return f"{gpus['state']}: {gpus['why']}" if gpus.get("why") else gpus["state"]
