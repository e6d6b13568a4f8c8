"""The agent's guard: a process that only waits for the agent's end, and sees to it when the agent cannot.

It shares no loop and no lock with the agent, so whatever hangs there does not hang here. What the agent leaves comes to the guard as an
orphan: it is a child-subreaper too.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import TYPE_CHECKING

from core.agent import locks
from core.agent.ending import close_for, prove
from core.agent.journal import is_finished
from core.agent.leftovers import read_agent, who_asked
from core.agent.telemetry import GPU_LEAST_S, held_since_start
from core.domain.arms import Stop, cancelled

if TYPE_CHECKING:
    from core.agent.spec import Spec

_LOOK_S = 2.0


def keep(root: str, folder: str, spec: Spec, alive: int) -> None:
    """Waits until nobody holds the other end of the pipe `alive` any more, or the agent is overdue; then does what is left to do."""
    hangs = _wait(folder, spec, alive)
    if hangs or not is_finished(folder):
        _clear(root, folder, spec, hangs)


def _wait(folder: str, spec: Spec, alive: int) -> bool:
    """False when the agent has ended; True when it is overdue: its lifetime is over, or it was asked to stop, and so much longer."""
    over = spec.limits.grace_s + spec.limits.over_s
    deadline, marker, asked = time.monotonic() + spec.limits.lifetime_s + over, os.path.join(folder, "cancel"), False
    while not select.select([alive], [], [], min(_LOOK_S, max(0.0, deadline - time.monotonic())))[0]:
        if time.monotonic() >= deadline:
            return True
        if not asked and os.path.lexists(marker):
            asked, deadline = True, min(deadline, time.monotonic() + over)
    return False


def _clear(root: str, folder: str, spec: Spec, hangs: bool) -> None:
    """Ends everything of the run. Only a ledger whose agent had to be ended from here is closed: a death by itself stays one."""
    proof = prove(root, spec.run_id, read_agent(folder), lambda: held_since_start(folder, max(GPU_LEAST_S, spec.limits.grace_s)))
    sys.stderr.write("guard: the agent %s.%s\n" % ("was overdue and was ended" if hangs else "ended without a last word", proof.sentence()))
    if not hangs:
        return
    with locks.door(root):
        if not is_finished(folder):
            close_for(folder, _why(folder, spec), proof)


def _why(folder: str, spec: Spec) -> Stop:
    """A stop that was asked for and not carried out is still a stop; else the lifetime."""
    if os.path.lexists(os.path.join(folder, "cancel")):
        return cancelled(who_asked(folder))
    text = "The run's lifetime of %g s is over and the agent did not end by itself: it was ended from outside." % spec.limits.lifetime_s
    return Stop("lifetime", text)
