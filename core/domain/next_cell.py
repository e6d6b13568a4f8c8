"""The next-best cell: what to measure next in a row, why, about how long it takes, and which word it could turn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_REPETITIONS = 8
HELD = 0.5  # of steps that reach the last position: a longer draft may bring more


@dataclass(frozen=True)
class Brief:
    """What a row knows of one cell. `verdict`: against its baseline; `repetitions`: counted warm ones."""

    status: str = "ok"
    verdict: str | None = None
    speedup: float | None = None
    accept_share: float | None = None
    repetitions: int | None = None


@dataclass(frozen=True)
class RowFacts:
    """One row at one stream, by n (0: off); `production` by n at `production_c`. `arm_s`: seconds one arm took, None where unknown.

    `last_position`: share of steps that reach the end of the longest draft. `predicted`: n → predicted speed-up of lengths without a cell.
    `rests`: decisions that rest on the row, in words.
    """

    cells: dict[int, Brief]
    production: dict[int, Brief] = field(default_factory=dict)
    production_c: int | None = None
    drifted: bool | None = None
    spilled: bool = False
    last_position: float | None = None
    predicted: dict[int, float] = field(default_factory=dict)
    arm_s: float | None = None
    rests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Advice:
    """One cell to measure. `rank`: 0 first. `minutes`: of the whole sweep that brings it, None where nothing was timed."""

    rank: int
    n_max: int | None
    c: int
    what: str
    why: str
    could_change: str
    minutes: float | None
    rests: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


Draft = tuple[int | None, int, str, str, str, int]  # n, c, what, why, could change, arms the sweep needs


def advise(row: RowFacts) -> list[Advice]:
    """What to measure next, the most telling first; empty where nothing is open."""
    found = [draft for rule in _RULES for draft in rule(row)]
    return [
        Advice(rank, n, c, what, why, change, None if row.arm_s is None else row.arm_s * arms / 60.0, row.rests)
        for rank, (n, c, what, why, change, arms) in enumerate(found)
    ]


def _good(row: RowFacts) -> dict[int, Brief]:
    return {n: cell for n, cell in row.cells.items() if n and cell.status == "ok"}


def _has_baseline(row: RowFacts) -> bool:
    return 0 in row.cells and row.cells[0].status == "ok"


def _sweep_to(n: int) -> int:
    """Arms of a sweep to n: baseline, 1 … n, baseline again."""
    return n + 2


def best_of(row: RowFacts) -> int | None:
    """The winning n at one stream, the smaller one where two are alike; None where none wins."""
    wins = {n: cell.speedup or 0.0 for n, cell in _good(row).items() if cell.verdict == "wins"}
    return min(wins, key=lambda n: (-round(wins[n], 2), n)) if wins else None


def _baseline(row: RowFacts) -> Iterator[Draft]:
    if not _has_baseline(row) and row.cells:
        yield 0, 1, "speculation off", "There is no baseline: no speed-up can be told.", "every verdict of the row", 1


def _drift(row: RowFacts) -> Iterator[Draft]:
    if row.drifted:
        yield (
            None,
            1,
            "the whole run again",
            "The baseline moved while it ran.",
            "whether any of its verdicts holds; keep stays closed until then",
            _sweep_to(max(row.cells, default=1)),
        )


def _first(row: RowFacts) -> Iterator[Draft]:
    longer = [n for n in _good(row) if n > 1]
    if _has_baseline(row) and 1 not in row.cells:
        why = (
            f"Only n_max {', '.join(map(str, sorted(longer)))} was tried; the shortest draft costs least."
            if longer
            else "Nothing but the baseline is measured."
        )
        yield (
            1,
            1,
            "n_max 1",
            why,
            "from disable, or a longer n, to n_max 1" if longer else "whether speculation pays here at all",
            _sweep_to(1),
        )


def _failed(row: RowFacts) -> Iterator[Draft]:
    for n in sorted(n for n, cell in row.cells.items() if n and cell.status in ("failed", "invalid", "excluded")):
        yield n, 1, f"n_max {n} again", f"Its cell is {row.cells[n].status}.", "the row's best n", _sweep_to(n)


def _predicted(row: RowFacts) -> Iterator[Draft]:
    best = max((cell.speedup or 0.0 for cell in _good(row).values()), default=0.0)
    for n, speedup in sorted(row.predicted.items(), key=lambda item: -item[1]):
        if n not in row.cells and speedup > max(1.0, best):
            yield (
                n,
                1,
                f"n_max {n}",
                f"Predicted {speedup:.2f}×, above the best measured.",
                f"from the present best to n_max {n}",
                _sweep_to(n),
            )


def _undecided(row: RowFacts) -> Iterator[Draft]:
    for n, cell in sorted(_good(row).items()):
        if cell.verdict in (None, "no-difference") and cell.repetitions is not None and cell.repetitions < MOST_REPETITIONS:
            why = (
                f"{cell.repetitions} repetitions show no difference."
                if cell.verdict
                else f"{cell.repetitions} repetitions allow no verdict."
            )
            yield n, 1, f"n_max {n} with up to {MOST_REPETITIONS} repetitions", why, "from no difference to wins or loses", _sweep_to(n)


def _counts(row: RowFacts) -> Iterator[Draft]:
    for n, cell in sorted(_good(row).items()):
        if cell.accept_share is None and cell.speedup is not None:
            yield (
                n,
                1,
                f"n_max {n} with the engine's counts",
                "Acceptance was not recorded.",
                "break-even, the dominant cost, and whether a longer draft can pay",
                _sweep_to(n),
            )


def _production(row: RowFacts) -> Iterator[Draft]:
    best, c = best_of(row), row.production_c
    if best and c and c > 1 and best not in row.production:
        why = f"n_max {best} wins at one stream; the product serves at c={c}."
        yield best, c, f"n_max {best} and off at c={c}", why, "open the gate for keep, or turn the verdict (a flip)", _sweep_to(best) + 2


def _longer(row: RowFacts) -> Iterator[Draft]:
    best = best_of(row)
    if best and best == max(_good(row)) and (row.last_position is None or row.last_position >= HELD):
        held = "was not recorded" if row.last_position is None else f"held ({row.last_position:.0%})"
        yield (
            best + 1,
            1,
            f"n_max {best + 1}",
            f"The longest draft is the fastest and its last position {held}.",
            "from keep to widen",
            _sweep_to(best + 1),
        )


def _less_spill(row: RowFacts) -> Iterator[Draft]:
    good = _good(row)
    if row.spilled and good and best_of(row) is None and all(cell.verdict == "loses" for cell in good.values()):
        why = "Every n loses while part of the model lies on the host."
        yield (
            min(good),
            1,
            f"n_max {min(good)} with less on the host",
            why,
            "from disable to keep, in a row of its own",
            _sweep_to(min(good)),
        )


_RULES: tuple[Callable[[RowFacts], Iterator[Draft]], ...] = (
    _baseline, _drift, _first, _failed, _predicted, _undecided, _production, _longer, _less_spill, _counts,
)  # fmt: skip
