"""Workloads by the names that people read; addresses and files carry their ids."""

from __future__ import annotations

from core.ui.context import workload_titles


def workload_words(workload_id: str | None, blank: str = "") -> str:
    """Its title; an unknown id stands for itself, none at all is the blank."""
    return workload_titles().get(workload_id, workload_id) if workload_id else blank
