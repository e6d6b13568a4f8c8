"""Workloads by the names that people read; addresses and files carry their ids."""

from __future__ import annotations

from core.ui.context import services


def workload_words(workload_id: str | None, blank: str = "") -> str:
    """Its title; an unknown id stands for itself, none at all is the blank."""
    return services().house.workload_title(workload_id) if workload_id else blank
