"""How runs are told in words: state badge, what happens now, time left, stages. Words only; no widget beyond a badge."""

from __future__ import annotations

import time
from typing import Any, Literal

import streamlit as st

from core.domain.run import CANCELLED, FINAL, PREPARING, QUEUED, RUNNING, STOPPING
from core.services.house import Live
from core.ui.components.figures import ago, duration

_COLOURS: dict[str, Literal["blue", "gray", "orange", "green", "red"]] = {
    "queued": "gray",
    "preparing": "gray",
    "running": "blue",
    "stopping": "orange",
    "done": "green",
    "failed": "red",
    "cancelled": "orange",
    "lost": "red",
}
SILENT_S = 6.0  # the agent's heartbeat moves twice a second
MARKS = {"done": "●", "now": "◐", "planned": "○", "failed": "✕", "stopped": "◌"}


def state_badge(state: str) -> None:
    """The state as a word on a colour."""
    st.badge(state_word(state), color=_COLOURS.get(state, "gray"))


def state_word(state: str) -> str:
    """The state as people say it: a run that was asked to stop is stopped."""
    return "stopped" if state == CANCELLED else state


def now_words(view: dict[str, Any]) -> str:
    """“measuring n=2, repetition 2 of 3”; after the end, why it ended."""
    run, live = view["run"], view["live"]
    if run["state"] in FINAL:
        return str(run["note"] or "")
    if run["state"] == STOPPING or run["cancel_at"]:
        return f"stopping: {run['cancel_by']} asked for it {ago(run['cancel_at'])}"
    if run["state"] in (QUEUED, PREPARING):
        return run["note"] or "waiting for the box"
    return _beat_words(live) or _stage_words(view["stages"]) or run["note"]


def _beat_words(live: Live) -> str:
    beat = live.heartbeat
    words = " ".join(str(part) for part in (beat.get("phase"), beat.get("stage")) if part)
    if words and beat.get("phase") == "measuring":
        words += f", repetition {beat.get('repetition')} of {beat.get('repetitions')}"
    return words


def _stage_words(stages: list[dict[str, Any]]) -> str:
    now = next((stage for stage in stages if stage["state"] == "now"), None)
    return f"measuring {now['name']}, {len(now['tok_s'])} of {now['repetitions']} repetitions done" if now else ""


def left_words(view: dict[str, Any]) -> str:
    """“about 40 s left”, empty where nothing can be estimated."""
    return f"about {duration(view['left_s'])} left" if view["left_s"] is not None else ""


def box_words(run: dict[str, Any]) -> str:
    """Whether the box answers, and since when it does not."""
    if run["unreachable_since"]:
        return f"box: out of reach since {run['unreachable_since']:%H:%M:%S} UTC ({ago(run['unreachable_since'])})"
    return f"box: answered {ago(run['reached_at'])}" if run["reached_at"] else "box: not asked yet"


def agent_words(run: dict[str, Any], live: Live) -> str:
    """Whether the run's agent lives, which is another question than whether its box answers; "" before it can have begun."""
    if run["state"] not in (RUNNING, STOPPING):
        return ""
    if run["unreachable_since"]:
        return "agent: unknown, the box is out of reach"
    if not live.heartbeat:
        return "agent: nothing heard of it yet"
    still_s = time.monotonic() - live.moved_at
    return "agent: alive" if still_s < SILENT_S else f"agent: silent for {duration(still_s)}, the box is being asked"


def last_word(run: dict[str, Any]) -> str:
    """One line for a list: problem, else note."""
    return (run["problem"] or {}).get("message") or run["note"] or ""
