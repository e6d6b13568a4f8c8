"""Prints how often the sweep protocol is right on paper boxes, and what share of the full grid's time it takes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.simulator.play import figures, run

SEEDS = (20261129, 1, 2, 3)
TARGETS = {
    "pick within 2%": (">=", 0.95),
    "keep for a true loss": ("<=", 0.01),
    "keep for a true gain over 5%": (">=", 0.90),
    "drifts over 8% flagged": (">=", 0.95),
    "driftless flagged": ("<=", 0.05),
    "time of the full grid": ("<=", 0.50),
}
ALSO = ("keep where some n gains over 5%", "time of the full grid, summed")
OTHERS = {
    "block order": {"order": "block"},
    "interleaved order": {"order": "interleaved"},
    "mixture, placement unknown (the first step without a gain stops)": {"is_moe": True, "placement": "unknown"},
    "all drafts of a step cost D once": {"drafts_at_once": True},
}


def line(name: str, values: list[float], target: str = "") -> str:
    """One figure, a column a seed."""
    return f"{name:34}" + "".join(f"{value:9.1%}" for value in values) + f"   {target}"


def main() -> int:
    """Exit 1 when a figure misses its target on any seed."""
    begun = time.process_time()
    found = [figures(run(seed)) for seed in SEEDS]
    print(f"{'1,000 boxes a seed':34}" + "".join(f"{seed:>9}" for seed in SEEDS))
    missed = 0
    for name, (sign, limit) in TARGETS.items():
        values = [one[name] for one in found]
        missed += any(value < limit if sign == ">=" else value > limit for value in values)
        print(line(name, values, f"target {sign} {limit:.0%}"))
    for name in ALSO:
        print(line(name, [one[name] for one in found], "no target"))
    print(f"processor time {time.process_time() - begun:.1f} s")
    for title, changes in OTHERS.items():
        other = figures(run(SEEDS[1], **changes))
        print(f"\n{title}, seed {SEEDS[1]}, no target:\n  " + ", ".join(f"{name} {other[name]:.1%}" for name in TARGETS))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
