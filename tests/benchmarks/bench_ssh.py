"""Over a real sshd: starting a run against one plain `ssh host true`, and how many looks an event on the box is away from the database."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.domain.run import new_run_id
from core.services import runs
from tests.remote.scripted_box import ask, ends, events_on, house_with, wait_for
from tests.remote.sshd_box import SshdBox

START_LIMIT, POLLS_LIMIT, POLL_S, ROUNDS = 3.0, 2.0, 0.5, 7


def took(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def plain_ssh(box: SshdBox) -> None:
    """One OpenSSH client from nothing to the end of `true`."""
    known = box.folder / "known_hosts"
    known.write_text(f"{box.ip} {box.host_key_line()}\n")
    words = ["-o", f"UserKnownHostsFile={known}", "-o", "BatchMode=yes", "-i", str(box.key), f"{box.user}@{box.ip}", "true"]
    subprocess.run(["ssh", *words], check=True, capture_output=True)


def start_bench(box: SshdBox, folder: Path) -> None:
    """Submit with everything uploaded before and the connection open, as the follower has it; each run is ended before the next."""
    with house_with(box, folder, stall=True) as services:
        house = services.house
        opened = house.open_box(house.box("far"))
        first = ask(house)
        services.follower.start()
        wait_for(lambda: (runs.get_run(house, first)["spec"] or {}).get("plan") and events_on(box, first), "a first run")
        spec = runs.get_run(house, first)["spec"]
        runs.stop_run(house, first, who="Ada")
        ends(house, first)
        starts, plains = [], []
        for _ in range(ROUNDS):
            run_id = new_run_id()
            plains.append(took(lambda: plain_ssh(box)))
            starts.append(took(lambda run_id=run_id: opened.submit(run_id, {**spec, "run_id": run_id})))
            opened.cancel(run_id, "Ada")
            wait_for(lambda run_id=run_id: opened.state(run_id)["finished"], "the end of a run")
        ratio = median(starts) / median(plains)
        print(f"start {median(starts):.0f} ms, ssh host true {median(plains):.0f} ms: ratio {ratio:.2f} (limit {START_LIMIT})")
        print("  " + ("ok" if ratio <= START_LIMIT else "MISSED"))


def row_bench(box: SshdBox, folder: Path) -> None:
    """Time from an event's own stamp on the box until its row can be read, in looks of the follower. Same machine, same clock."""
    with house_with(box, folder, speeds={"0": 100, "1": 140}, pace_s=0.3) as services:
        services.follower._poll_s = POLL_S
        services.follower.start()
        run_id, seen = ask(services.house), {}
        while runs.get_run(services.house, run_id)["state"] in ("queued", "preparing", "running"):
            for event in services.house.store.runs.events(run_id, kinds=("sample",)):
                seen.setdefault(event["seq"], (time.time() - event["noted_at"].timestamp()) / POLL_S)
            time.sleep(0.01)
        late = sorted(seen.values())
        print(f"event to row, {len(late)} repetitions: median {median(late):.2f}, longest {late[-1]:.2f} polls (limit {POLLS_LIMIT})")
        print("  " + ("ok" if late[-1] <= POLLS_LIMIT else "MISSED"))


def main() -> None:
    """Prints the figures."""
    with SshdBox() as box, tempfile.TemporaryDirectory() as folder:
        for name, bench in (("a", start_bench), ("b", row_bench)):
            (Path(folder) / name).mkdir()
            bench(box, Path(folder) / name)


if __name__ == "__main__":
    main()
