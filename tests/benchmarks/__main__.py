"""`make bench`: every bench of this folder, one after another. Each prints ratios taken within one run; none of them fails a build."""

from __future__ import annotations

import contextlib
import runpy
from pathlib import Path

for script in sorted(Path(__file__).parent.glob("bench_*.py")):
    print(f"\n== {script.stem.removeprefix('bench_').replace('_', ' ')}", flush=True)
    with contextlib.suppress(SystemExit):  # a target that was missed is printed by the bench itself
        runpy.run_path(str(script), run_name="__main__")
