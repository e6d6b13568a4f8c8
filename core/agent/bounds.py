"""The numbers that one run may ask for at most, as allow.json has them. Asked before a run is taken on, in both modes."""

from __future__ import annotations

import os

from core.agent.files import Refused, read_json
from core.agent.spec import Spec

NAMES = ("n_max", "streams", "context", "hours")
_CONTEXT, _SLOTS = ("-c", "--ctx-size"), ("-np", "--parallel")


def limits_of(root: str) -> dict[str, int]:
    """Limits in allow.json; none where there are none. A file that cannot be read is told by whoever needs its engines.

    Raises Refused for a limit that is no number: a box whose owner meant to bound it is not without bounds.
    """
    try:
        raw = read_json(os.path.join(root, "allow.json")).get("limits", {})
    except (OSError, ValueError, AttributeError):
        return {}
    wrong = [name for name in NAMES if type(raw.get(name)) not in (int, type(None))] if isinstance(raw, dict) else ["limits"]
    if wrong:
        raise Refused("allow.json on the box: %s is no whole number. Its owner has to mend it." % wrong[0])
    return {name: raw[name] for name in NAMES if raw.get(name) is not None}


def refuse_beyond(root: str, spec: Spec) -> None:
    """Raises Refused with the first number that is too large, or that is not told where the box bounds it."""
    limits = limits_of(root)
    every = spec.every_args()
    slots = [_number(args, _SLOTS, 1) for args in every]
    contexts = [-(-_number(args, _CONTEXT, 0) // max(1, _number(args, _SLOTS, 1))) for args in every]
    if "context" in limits and 0 in contexts:
        raise Refused("This box takes at most %d for context; the run leaves it to the model." % limits["context"])
    asked = {
        "n_max": max([spec.plan.n_max] + [n for n, _ in spec.arms]),
        "streams": max([spec.plan.production_c, *spec.plan.loads, *slots] + [c for _, c in spec.arms]),
        "context": max(contexts or [0]),
        "hours": spec.limits.lifetime_s / 3600.0,
    }
    for name, most in limits.items():
        if asked[name] > most:
            raise Refused("This box takes at most %d for %s; the run asks for %g." % (most, name, asked[name]))


def _number(args: list[str], flags: tuple[str, ...], default: int) -> int:
    """The largest number given to one of the flags, since engines take the last of several."""
    found = [args[place + 1] for place, word in enumerate(args[:-1]) if word in flags]
    return max([int(word) for word in found if word.isdigit()] or [default])
