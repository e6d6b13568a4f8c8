"""What the matrix costs beside the smallest question the database can answer, with 200 stored runs."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from core.bootstrap import build
from core.config import Settings
from core.services.matrix import matrix_rows
from tests.fakes.measured_run import write_run


def median_ms(work, times: int = 9) -> float:
    """Median wall time of a call, ms."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - start))
    return statistics.median(found)


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as folder:
        services = build(Settings(db=Path(folder) / "b.duckdb", local_dir=Path(folder)))
        for _ in range(200):
            write_run(services.house)
        plain = median_ms(lambda: services.database.rows("SELECT 1"))
        rows = median_ms(lambda: matrix_rows(services.house))
        print(f"matrix of 200 runs {rows:.1f} ms, SELECT 1 {plain:.2f} ms, ratio {rows / plain:.0f}")
        services.database.close()
        services.jobs.close()


if __name__ == "__main__":
    main()
