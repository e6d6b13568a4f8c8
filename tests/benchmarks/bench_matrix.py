"""What the matrix costs with a million stored repetitions: the service beside the bare SQL it needs, the page beside a static table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.bootstrap import Services, build
from core.config import ROOT, Settings
from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads, known_of
from core.ui import context, menu
from core.ui.components.grid import ROWS_AT_ONCE, table_of
from core.ui.components.matrix_views import PICTURE, TABLE
from core.ui.menu import ENTRIES, Entry
from core.ui.state import PERSON, SERVER_START
from tests.fakes.measured_run import write_run

ROWS, RUNS_A_ROW = 5_000, 5  # 25,000 runs of four arms, cold and closing repetitions included: 1.1 million samples
SERVICE_LIMIT, PAGE_LIMIT = 1.5, 4.0
_COPY = "SELECT s.* REPLACE (md5(CAST(i AS VARCHAR)) AS run_id{}) FROM (SELECT * FROM {} WHERE run_id = ?) s, range(?) t(i)"
_RUN = ", json_merge_patch(request, json_object('model', 'model ' || i % {})) AS request, created_at - to_seconds(i * 60) AS created_at"


def least_ms(*works: Callable[[], object], times: int = 15) -> list[float]:
    """Least wall time of each call, ms, taken in turns after one round that does not count.

    The least, and in turns: what other programs on the machine add is no property of either.
    """
    found: list[list[float]] = [[] for _ in works]
    for turn in range(times + 1):
        for work, times_of in zip(works, found, strict=True):
            start = time.perf_counter()
            work()
            if turn:
                times_of.append(1000 * (time.perf_counter() - start))
    return [min(times_of) for times_of in found]


def fill(services: Services, rows: int, runs: int) -> int:
    """Copies one run of 32 counted samples; answers with the number of samples stored."""
    spread = [20.0 + place / 10 for place in range(8)]
    rates = {n: [rate * (1 + 0.2 * n) for rate in spread] for n in range(4)}
    run_id = write_run(services.house, rates=rates)
    with services.database.tx() as cursor:
        cursor.execute("INSERT INTO runs " + _COPY.format(_RUN.format(rows), "runs"), [run_id, rows * runs])
        for table in ("run_state", "servers", "samples"):
            cursor.execute(f"INSERT INTO {table} " + _COPY.format("", table), [run_id, rows * runs])
    return int(services.database.rows("SELECT count(*) AS n FROM samples")[0]["n"])  # type: ignore[call-overload]


def first_page(services: Services) -> list[dict[str, object]]:
    """What the first opening of the matrix after a write asks for: nothing is kept from before."""
    services.house.kept.clear()
    heads = all_heads(services.house)
    known_of(services.house)
    return rows_of(services.house, fitting(services.house, heads)[:ROWS_AT_ONCE])


def statements(services: Services, work: Callable[[], object]) -> list[tuple[str, list[object]]]:
    """The questions that a call asks the database, in order."""
    asked: list[tuple[str, list[object]]] = []
    real = services.database.rows

    def noting(sql: str, params: list[object] | None = None) -> list[dict[str, object]]:
        asked.append((sql, params or []))
        return real(sql, params)

    services.database.rows = noting  # type: ignore[method-assign]
    try:
        work()
    finally:
        del services.database.rows  # type: ignore[method-assign]
    return asked


def bare(services: Services, asked: list[tuple[str, list[object]]]) -> None:
    """The same questions and nothing else."""
    with services.database.reader() as cursor:
        for sql, params in asked:
            cursor.execute(sql, params).fetchall()


def service_bench(services: Services) -> None:
    """Service against its own SQL."""
    first_page(services)  # what is worked out once for a finished run and then stored is no part of it
    asked = statements(services, lambda: first_page(services))
    sql, service = least_ms(lambda: bare(services, asked), lambda: first_page(services))
    print(
        f"service {service:.0f} ms, its {len(asked)} SQL statements alone {sql:.0f} ms: ratio {service / sql:.2f} (limit {SERVICE_LIMIT})"
    )
    print("  " + ("ok" if service / sql <= SERVICE_LIMIT else "MISSED"))


STATIC = """
import streamlit as st
from core.ui.guard import enter
enter("Static", "A table of the same shape.")
st.table(st.session_state["bench-table"], width=4000)
"""


class Static(Entry):
    """A page of the same shell with the same table and nothing to ask."""

    where = ""

    @property
    def path(self) -> str:
        return Static.where


def page_bench(services: Services) -> None:
    """Script time of the page against one with a static table of the same shape: same shell, nothing written in between."""
    context.build = lambda: services
    st.cache_resource.clear()
    script = services.database.path.with_name("static.py")
    script.write_text(STATIC, "utf-8")
    Static.where = str(script)
    menu.ENTRIES = (*ENTRIES, Static("Results", "static", "Static"))
    frame = table_of(first_page(services))  # type: ignore[arg-type]
    page, static = opened(menu.entry("matrix").path, frame), opened(Static.where, frame)
    again, anew, alone = least_ms(page, lambda: (forget(services), page()), static, times=25)
    menu.ENTRIES = ENTRIES
    shape = f"{len(frame)} × {len(frame.columns)}"
    for name, took in (("the same rows again", again), ("picture and table drawn anew", anew)):
        print(f"page, {name} {took:.0f} ms, static table of {shape} {alone:.0f} ms: ratio {took / alone:.1f} (limit {PAGE_LIMIT})")
        print("  " + ("ok" if took / alone <= PAGE_LIMIT else "MISSED"))


def forget(services: Services) -> None:
    """The picture and the table of the rows last shown, as when a filter changed."""
    for name in (PICTURE, TABLE):
        del services.house.kept[name]


def opened(path: str, frame: pd.DataFrame) -> Callable[[], object]:
    """A tab on one page; each call is one whole script run, shell included."""
    at = AppTest.from_file(str(ROOT / "core" / "ui" / "shell.py"), default_timeout=120)
    at.session_state[PERSON], at.session_state[SERVER_START], at.session_state["bench-table"] = "", "bench", frame
    at.run()
    at.switch_page(path)
    at.run()
    assert not at.exception and len(at.table[0].value) == len(frame)
    return at.run


def both(services: Services) -> None:
    """One filled store serves both."""
    service_bench(services)
    page_bench(services)


def with_store(rows: int, runs: int, work: Callable[[Services], None]) -> None:
    """A filled store for one bench."""
    with tempfile.TemporaryDirectory() as folder:
        services = build(Settings(db=Path(folder) / "b.duckdb", local_dir=Path(folder), local_token="off"))
        services.follower.start = lambda: None  # type: ignore[method-assign]
        print(f"{fill(services, rows, runs):,} samples, {rows * runs + 1:,} runs, {len(all_heads(services.house)):,} rows")
        work(services)
        services.jobs.close()
        services.database.close()


def main() -> None:
    """Prints the figures."""
    with_store(ROWS, RUNS_A_ROW, both)


if __name__ == "__main__":
    main()
