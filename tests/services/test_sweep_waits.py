"""The command line's sweep on a box that somebody else has: it says so and takes its run back, or waits where it was told to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.commands.sweep import _follow_to_the_end
from core.domain.run import CANCELLED, QUEUED
from core.errors import BoxBusy
from core.services import runs
from core.services.follow import follow_once


def follow(house, run_id):
    _follow_to_the_end(SimpleNamespace(house=house), run_id, quiet=True, waits=False)


def test_behind_another_run_it_is_taken_back(house, box, start):
    first = start()
    follow_once(house, first)
    second = start(title="b")
    with pytest.raises(BoxBusy) as busy:
        follow(house, second)
    assert busy.value.message.startswith(f"Number 1 in the queue, behind r-{first[:4]} (Ada).") and "--wait" in busy.value.hint
    assert runs.get_run(house, second)["state"] == CANCELLED and box.starts == [first]
    assert runs.get_run(house, first)["state"] == "running", "the run that has the box is left alone"


def test_held_by_a_stranger_it_is_taken_back_and_starts_nothing(house, box, start):
    box.busy_with = "f" * 32
    run_id = start()
    with pytest.raises(BoxBusy, match="is held by run r-ffff, which was not started from here"):
        follow(house, run_id)
    assert runs.get_run(house, run_id)["state"] == CANCELLED
    box.busy_with = ""
    follow_once(house, run_id)
    assert box.starts == [] and runs.get_run(house, run_id)["state"] != QUEUED
