"""The price explorer's arithmetic: H, D, V, n, a as a person typed them, every problem by field, what they come to, and what-ifs.

Pure. Nothing is guessed: an empty field stays unknown, and a what-if is marked as an assumption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from core.domain.price import Price, break_even_accept_share, price_pair

H, N_MAX, A, D, V, SPEC, WHAT_ACCEPT, WHAT_V = "h", "n", "a", "d", "v", "spec", "wa", "wv"
FIELDS = (H, N_MAX, A, D, V, SPEC, WHAT_ACCEPT, WHAT_V)
EXAMPLE = {H: "45.05", N_MAX: "1", A: "2", D: "", V: "76.05", SPEC: "", WHAT_ACCEPT: "", WHAT_V: ""}
LONGEST_DRAFT = 64
MOST = 1e7  # ms or tok/s: beyond it somebody slipped
AGREE = 0.005  # share by which a typed speed may differ from the one the other fields make


@dataclass(frozen=True)
class Known:
    """What was typed and can be. Times in ms, `spec` in tok/s, `what_accept` 0-1. None: left empty."""

    h: float | None = None
    n_max: int | None = None
    a: float | None = None
    d: float | None = None
    v: float | None = None
    spec: float | None = None
    what_accept: float | None = None
    what_v: float | None = None

    @property
    def step_ms(self) -> float | None:
        """D + V; an empty D counts with V, which then stands for both."""
        return None if self.v is None else self.v + (self.d or 0.0)


@dataclass(frozen=True)
class Outcome:
    """`price` None: not enough was typed. `needed_share`: acceptance to break even, where a step's cost is known. `problems` by field."""

    known: Known
    price: Price | None = None
    step_ms: float | None = None
    needed_share: float | None = None
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WhatIf:
    """A speed-up under assumptions, never measured. `assumed`: what was assumed, in words; `needed_share` at the assumed cost."""

    speedup: float
    a: float
    step_ms: float
    needed_share: float
    assumed: tuple[str, ...]


def explore(typed: dict[str, str]) -> Outcome:
    """Reads the fields and prices them. Never raises: what is wrong stands in `problems`, one plain sentence a field."""
    known, problems = _read(typed)
    if known.h is None or known.n_max is None or set(problems) - {WHAT_ACCEPT, WHAT_V}:
        return Outcome(known, problems=problems)
    found = _priced(known)
    return replace(found, problems={**problems, **found.problems})


def _read(typed: dict[str, str]) -> tuple[Known, dict[str, str]]:
    problems: dict[str, str] = {}

    def number(name: str, *, least: float, above: bool, unit: str, most: float = MOST) -> float | None:
        text = clean(typed.get(name, ""))
        if not text:
            return None
        value = parsed(text)
        if value is None:
            problems[name] = "This is no number. Digits with a point or a comma, such as 45.05."
        elif value < least or (above and value == least):
            problems[name] = f"Has to be {'above' if above else 'at least'} {least:g}{unit}."
        elif value > most:
            problems[name] = f"Has to be at most {most:g}{unit}."
        return None if name in problems else value

    h = number(H, least=0, above=True, unit=" ms")
    whole = number(N_MAX, least=1, above=False, unit="", most=LONGEST_DRAFT)
    if whole is not None and whole != int(whole):
        problems[N_MAX] = "Has to be a whole number of tokens."
    n_max = None if whole is None or N_MAX in problems else int(whole)
    a = number(A, least=1, above=False, unit=" token: the target's own counts")
    if a is not None and n_max is not None and a > n_max + 1 + 1e-9:
        problems[A] = f"At n {n_max} a step commits at most {n_max + 1} tokens: the {n_max} guessed and the target's own."
    rest = {
        name: number(name, least=0, above=name != D, unit=unit)
        for name, unit in ((D, " ms"), (V, " ms"), (SPEC, " tok/s"), (WHAT_V, " ms"))
    }
    accept = number(WHAT_ACCEPT, least=0, above=False, unit="%", most=100)
    for name, words in ((H, "Is needed: the time of one plain token, in ms."), (N_MAX, "Is needed: how many tokens are guessed a step.")):
        if not clean(typed.get(name, "")):
            problems[name] = words
    share = None if accept is None else accept / 100.0
    return Known(h, n_max, a, rest[D], rest[V], rest[SPEC], share, rest[WHAT_V]), problems


def clean(text: str) -> str:
    """A typed figure without spaces and its unit."""
    text = text.strip().replace("\u00a0", "")
    for unit in ("tok/s", "ms", "%", "×"):
        text = text.removesuffix(unit).strip()
    return text


def parsed(text: str) -> float | None:
    """A finite number, with a point or a comma; None for anything else."""
    if len(text) > 40 or "_" in text:
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _priced(known: Known) -> Outcome:
    assert known.h is not None and known.n_max is not None
    step = known.step_ms
    needed = None if step is None else break_even_accept_share(step / known.h, known.n_max)
    a, spec, problems = _completed(known, step)
    if problems or spec is None:
        return Outcome(known, step_ms=step, needed_share=needed, problems=problems)
    try:
        price = price_pair(1000.0 / known.h, spec, known.n_max, a=a, d_ms=known.d)
    except ValueError as error:
        return Outcome(known, step_ms=step, needed_share=needed, problems={D: f"These values cannot be together: {error}."})
    return Outcome(known, price, price.step_ms, price.break_even_accept_share)


def _completed(known: Known, step: float | None) -> tuple[float | None, float | None, dict[str, str]]:
    """a and the speed with speculation, worked out from the others where one is empty; a problem where they contradict one another."""
    assert known.n_max is not None
    a, spec = known.a, known.spec
    if step is None:
        return a, spec, {}
    if a is not None:
        made = 1000.0 * a / step
        if spec is not None and abs(spec / made - 1.0) > AGREE:
            return a, None, {SPEC: f"D, V and a already make {made:.1f} tok/s. Leave one of them, or this field, empty."}
        return a, made, {}
    if spec is None:
        return None, None, {}
    a = step * spec / 1000.0
    if not 1.0 - AGREE <= a <= (known.n_max + 1) * (1 + AGREE):
        return None, None, {SPEC: f"With this V a step would commit {a:.2f} tokens; at n {known.n_max} it is 1 to {known.n_max + 1}."}
    return min(max(a, 1.0), known.n_max + 1.0), spec, {}


def what_if(found: Outcome) -> WhatIf | None:
    """The speed-up with the assumed acceptance and V, what was not assumed taken from the outcome; None where that is unknown."""
    known = found.known
    if known.h is None or known.n_max is None or (known.what_accept is None and known.what_v is None):
        return None
    step = found.step_ms if known.what_v is None else known.what_v + (known.d or 0.0)
    a = (found.price.a if found.price else known.a) if known.what_accept is None else 1.0 + known.n_max * known.what_accept
    if step is None or a is None or step <= 0:
        return None
    assumed = [f"{known.what_accept:.0%} accepted"] if known.what_accept is not None else []
    assumed += [f"V = {known.what_v:.1f} ms"] if known.what_v is not None else []
    return WhatIf(a * known.h / step, a, step, break_even_accept_share(step / known.h, known.n_max), tuple(assumed))
