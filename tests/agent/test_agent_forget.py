"""The box's copy of a run goes only when the app has shown that it holds the run's last event, and after its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.agent.forget import forget
from core.agent.journal import Journal
from core.agent.proc import boot_id, look
from core.config import ROOT

RUN = "ab" * 16
DAY = 86_400.0


@pytest.fixture
def over(tmp_path):
    """A run that ended two days ago: (root, folder, acknowledgement)."""
    folder = tmp_path / "runs" / RUN
    folder.mkdir(parents=True)
    journal = Journal(str(folder))
    journal.append("run_started", run_id=RUN)
    last = journal.append("run_finished", outcome="done")
    journal.close()
    os.utime(folder / "events.jsonl", (time.time() - 2 * DAY,) * 2)
    return tmp_path, folder, f"{last['seq']}:{last['sha']}"


def test_it_goes_when_it_is_acknowledged_and_old_enough(over):
    root, folder, ack = over
    assert forget(str(root), RUN, ack, 3 * DAY) == {"answer": "kept", "why": "it is younger than the retention"}
    assert forget(str(root), RUN, "1:" + "0" * 64, DAY)["why"] == "the app does not hold its last event"
    assert folder.exists()
    assert forget(str(root), RUN, ack, DAY) == {"answer": "forgotten", "why": ""}
    assert not folder.exists() and forget(str(root), RUN, ack, DAY)["answer"] == "unknown-run"


def test_a_living_agents_run_stays(over):
    root, folder, ack = over
    me = look(os.getpid())
    (folder / "agent.json").write_text(json.dumps({"pid": os.getpid(), "start_time": me.start, "boot_id": boot_id()}))
    assert forget(str(root), RUN, ack, DAY)["why"] == "its agent is alive" and folder.exists()


def test_a_link_in_the_folder_is_removed_as_a_link(over, tmp_path_factory):
    root, folder, ack = over
    outside = tmp_path_factory.mktemp("outside")
    (outside / "kept.txt").write_text("x")
    (folder / "link").symlink_to(outside)
    assert forget(str(root), RUN, ack, DAY)["answer"] == "forgotten" and Path(outside / "kept.txt").exists()


def test_the_verb_answers_in_a_frame(over):
    root, _, ack = over
    word = "import sys; from core.agent.main import main; sys.exit(main())"
    argv = [sys.executable, "-c", word, "--root", str(root), "--ack", ack, "--age-s", str(DAY), "forget", RUN]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1].removeprefix("@@draftledger ")) == {"answer": "forgotten", "why": ""}
