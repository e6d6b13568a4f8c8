"""What adding a box and changing one have in common: the fields of a registration, and the errand to a host for its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.ui.components.errand import errand
from core.ui.components.field_problems import show_problems
from core.ui.context import services

LABELS = {
    "name": "Name",
    "host": "Host",
    "port": "Port",
    "user": "User",
    "jump": "Jump host, if the box is behind one",
    "key_path": "Key file on this computer",
    "engine": "Engine path on the box",
    "models": "Models on the box",
    "python": "Python on the box",
    "mode": "Mode",
    "by": "Your name (in the menu)",
    "fingerprint": "The fingerprint",
    "box": "The box",
}
EMPTY: dict[str, Any] = {
    "name": "", "host": "", "port": 22, "user": "", "jump": "", "key_path": "", "engine": "", "models": "", "python": "python3",
}  # fmt: skip
_EXAMPLES = {
    "name": "gpu-1",
    "host": "gpu-1.lab or 10.0.0.7",
    "jump": "user@gateway.lab:22",
    "key_path": "/home/me/.ssh/id_ed25519",
    "engine": "/opt/llama.cpp/llama-server",
    "models": "/models or /models/one.gguf",
}
_HELP = {"jump": "It is entered with the same key file; its own host key is compared and pinned, as the box's."}


def box_fields(shown: Mapping[str, Any], *, key: str, labels: Mapping[str, str] = LABELS, **more: Any) -> dict[str, Any]:
    """The fields of EMPTY that are among `shown`, in two columns: name → what stands in it. `more`: for every field alike."""
    names = [name for name in EMPTY if name in shown]
    columns, half = st.columns(2), (len(names) + 1) // 2
    values = {}
    for position, name in enumerate(names):
        given = {"value": shown[name], "key": f"{key}-{name.replace('_', '-')}", "help": _HELP.get(name), **more}
        with columns[position // half]:
            if name == "port":
                values[name] = st.number_input(labels[name], step=1, **given)
            else:
                values[name] = st.text_input(labels[name], placeholder=_EXAMPLES.get(name), **given)
    return values


def came(job: str, sentence: str) -> bool:
    """Whether the errand is back with an answer; a problem is shown."""
    state = errand(job, sentence)
    problem = services().jobs.problem(job) if state == "failed" else None
    if problem:
        show_problems(problem, LABELS)
    return state == "done"
