"""A house with something of every kind in it: a run to its end, a worksheet with typed figures, an import, an exclusion, a decision."""

from __future__ import annotations

from core.domain.chain import chained
from core.domain.recipe import canonical
from core.domain.run import new_run_id
from core.services import runs, worksheets
from core.services.follow import follow_once
from core.services.imports import import_files
from tests.fakes.event_lines import LOAD_LOG, EventLines
from tests.services.conftest import REQUEST

TABLE = b"| model | size | params | backend | ngl | test | t/s |\n|---|---|---|---|---|---|---|\n| llama 7B Q4_0 | 3.56 GiB | 6.74 B | CUDA | 99 | tg128 | 76.75 +/- 0.31 |\n"  # noqa: E501


def a_finished_run(house, box, **changes) -> str:
    """Asked for, measured, taken in, logs kept."""
    run_id = new_run_id()
    runs.start_run(house, run_id, {**REQUEST, **changes}, who="Ada")
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.whole_sweep(off=[10.0, 10.1, 10.2], steps={1: [12.0, 12.1, 12.2], 2: [13.0, 13.1, 13.2]})
    box.append_events(run_id, lines.take())
    for number in range(1, 6):
        box.append_log(run_id, f"server-{number}.log", LOAD_LOG.encode())
    box.finish(run_id)
    while runs.get_run(house, run_id)["ended_at"] is None:
        follow_once(house, run_id)
    return run_id


def live_in(house, box) -> str:
    """Something of every kind; the run's id."""
    run_id = a_finished_run(house, box)
    proposal = {name: REQUEST[name] for name in ("title", "box_id", "engine_id", "model", "workload_id")}
    worksheet_id = worksheets.propose(house, proposal, who="Ada")
    worksheets.type_text(house, worksheet_id, "fit", "candidate", "fits, says “Ada”", by="Ada")
    import_files(house, [("bench.md", TABLE)], who="Ada")
    house.store.cells.exclude({"run_id": run_id, "seq": 8, "reason": "fan", "who": "Ada", "noted_at": house.clock.now()})
    at = house.clock.now()
    body = {
        "worksheet_id": worksheet_id,
        "verdict": "reject",
        "action": "a",
        "owner": "Ada",
        "reason": "r",
        "at": at.isoformat(),
    }
    entry = chained(1, "", {**body, "evidence": {"share": 0.1 + 0.2}})
    house.archive.append_decision(canonical(entry))
    house.store.decisions.append({**entry, "noted_at": at})
    return run_id
