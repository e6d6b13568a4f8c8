"""The run's spec: what was asked, checked before anything starts. Ids and typed values only; paths come from allow.json."""

from __future__ import annotations

import hashlib
import math
import os
import re
from dataclasses import dataclass, field
from typing import Any

from core.agent.files import Refused, read_limited
from core.domain.cost_line import ALL, NONE
from core.domain.sweep import Plan, problems_of

FORMAT = 1
TURN_SEPARATOR = "\x1e"  # between a tool loop's turns where they are hashed
_MAX_SPEC = 16 << 20  # 64 streams of a long text each, nine times
_ROUTE = re.compile(r"/[A-Za-z0-9/_.-]{1,100}\Z")
# How an engine may spell what the agent adds itself. A closed list: with another flag in such a place a value of the agent's would open it.
_SPELLINGS = {
    "host": ("--host",), "port": ("--port",), "api_key": ("--api-key",), "metrics": ("--metrics",), "alias": ("--alias", "-a"),
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """Seconds. `grace_s`: between asking an engine to end and ending it. `over_s`: what the agent gets, beside that, to end the run when
    its lifetime is over or somebody asked; past it the guard ends both."""

    lifetime_s: float = 7200.0
    load_s: float = 300.0
    request_s: float = 600.0
    grace_s: float = 10.0
    over_s: float = 120.0


@dataclass(frozen=True)
class Spec:
    """A spec that may run; `sha256` is over the file's bytes."""

    run_id: str
    requested_by: str
    decision_head: str
    plan: Plan
    limits: Limits
    engine_id: str
    model_name: str
    arms: "dict[tuple[int, int], list[str]]"
    added: "dict[str, str | None]"
    route: str
    max_tokens: int
    body: "dict[str, Any]"
    prompts: "list[dict[str, Any]]"
    allow_shared_gpu: bool
    sha256: str
    forced: "list[dict[str, Any]]" = field(default_factory=list)
    suites: "list[dict[str, Any]]" = field(default_factory=list)

    def every_args(self) -> "list[list[str]]":
        """Argument lists of all arms and of the forced points."""
        return list(self.arms.values()) + [point["args"] for point in self.forced]


def read_spec(folder: str, run_id: str) -> Spec:
    """Raises Refused with a sentence when the file is missing, damaged or asks for something that cannot be."""
    try:
        data = read_limited(os.path.join(folder, "spec.json"), _MAX_SPEC)
        return parse(data, run_id)
    except FileNotFoundError:
        raise Refused("The run has no spec.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Refused("The spec cannot be read: %s" % error) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused("The spec is incomplete: %r." % error) from error


def parse(data: bytes, run_id: str) -> Spec:
    import json

    raw = json.loads(data.decode("utf-8"))
    _need(raw["format"] == FORMAT, "This agent reads specs of format %d." % FORMAT)
    _need(raw["run_id"] == run_id, "The spec belongs to another run.")
    plan = _plan(raw["plan"])
    request = raw["request"]
    max_tokens = request["max_tokens"]
    _need(_is_int(max_tokens) and 2 <= max_tokens <= 100000, "max_tokens has to lie between 2 and 100000.")
    _need(bool(_ROUTE.match(request["route"])), "The route is not a plain path.")
    _need(isinstance(request.get("body", {}), dict), "The request's body has to be an object.")
    return Spec(
        run_id=run_id, requested_by=str(raw.get("requested_by", "")), decision_head=str(raw.get("decision_head", "")), plan=plan,
        limits=_limits(raw.get("limits", {})), engine_id=str(raw["engine"]["id"]), model_name=str(raw["model"]["name"]),
        arms=_arms(raw["arms"], plan), added=_added(raw["added"]), route=request["route"], max_tokens=max_tokens,
        body=dict(request.get("body", {})), prompts=_prompts(raw["prompts"]),
        allow_shared_gpu=raw.get("allow_shared_gpu") is True, sha256=hashlib.sha256(data).hexdigest(),
        forced=_forced(raw.get("forced", [])), suites=_suites(raw.get("suites", [])),
    )  # fmt: skip


def _need(holds: bool, sentence: str) -> None:
    if not holds:
        raise Refused(sentence)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _plan(raw: dict[str, Any]) -> Plan:
    loads = raw.get("loads", [])
    _need(isinstance(loads, list) and all(_is_int(c) for c in loads), "The plan's further concurrencies have to be whole numbers.")
    plan = Plan(**dict(raw, loads=tuple(loads)))
    _need(
        all(_is_int(v) for v in (plan.n_max, plan.repetitions, plan.production_c, plan.first_n, plan.max_repetitions)),
        "The plan's counts have to be whole numbers.",
    )
    texts = all(isinstance(value, str) for value in (plan.placement, plan.order, plan.segment_of))
    _need(isinstance(plan.is_moe, bool) and texts, "The plan's is_moe, placement, order or segment_of has the wrong type.")
    budget = plan.budget_s
    _need(isinstance(budget, float) or _is_int(budget), "The plan's time budget has to be a number of seconds.")
    problems = problems_of(plan)
    _need(not problems, " ".join(problems.values()))
    return plan


def _limits(raw: dict[str, Any]) -> Limits:
    limits = Limits(**{key: float(value) for key, value in raw.items()})
    values = (limits.lifetime_s, limits.load_s, limits.request_s, limits.grace_s, limits.over_s)
    _need(all(math.isfinite(v) and 0 < v <= 30 * 86400 for v in values), "Limits have to be positive seconds, 30 days at most.")
    return limits


def _arms(raw: list[dict[str, Any]], plan: Plan) -> dict[tuple[int, int], list[str]]:
    arms = {}
    for arm in raw:
        args = arm["args"]
        _need(_is_int(arm["n_max"]) and _is_int(arm["c"]), "An arm's n_max and c have to be whole numbers.")
        _need(isinstance(args, list) and all(isinstance(item, str) for item in args), "An arm's arguments have to be a list of texts.")
        arms[(arm["n_max"], arm["c"])] = list(args)
    for c in sorted({1, plan.production_c, *plan.loads}):
        missing = [n for n in range(plan.n_max + 1) if (n, c) not in arms]
        _need(not missing, "Arguments are missing for n_max %s at concurrency %d." % (missing, c))
    return arms


def _forced(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of the forced pass: {n_max, point: all | none, args}."""
    for item in raw:
        _need(_is_int(item["n_max"]) and 1 <= item["n_max"] <= 16, "A forced point's n_max has to lie between 1 and 16.")
        _need(item["point"] in (ALL, NONE), "A forced point accepts all or none.")
        args = item["args"]
        _need(
            isinstance(args, list) and all(isinstance(part, str) for part in args), "A forced point's arguments have to be a list of texts."
        )
    return [dict(item) for item in raw]


def _suites(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Suites to run on both sides after the sweep: {id, runs}."""
    for item in raw:
        _need(_is_int(item["runs"]) and 1 <= item["runs"] <= 20, "A suite is run 1 to 20 times a side.")
    return [{"id": str(item["id"]), "runs": item["runs"]} for item in raw]


def _added(raw: dict[str, Any]) -> dict[str, str | None]:
    added = {key: raw.get(key) for key in _SPELLINGS}
    for key, value in added.items():
        _need(value is None or value in _SPELLINGS[key], "That is no plain flag for %s." % key)
    _need(bool(added["host"]) and bool(added["port"]), "The spec has to say how host and port are spelled.")
    return added


def _prompts(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    _need(bool(raw), "The prompt set is empty.")
    return [_prompt(item) for item in raw]


def _prompt(raw: dict[str, Any]) -> dict[str, Any]:
    name, text, turns, sha = str(raw["id"]), str(raw.get("text", "")), _turns(raw), str(raw.get("sha256", ""))
    real = hashlib.sha256((text or TURN_SEPARATOR.join(turns)).encode("utf-8")).hexdigest()
    _need(sha in ("", real), "Prompt %s is not the one its hash names." % name[:60])
    return {"id": name, "text": text, "turns": turns, "sha256": sha}


def _turns(raw: dict[str, Any]) -> list[str]:
    """A tool loop's turns: asked, answered, asked …; empty for a plain text."""
    turns = raw.get("turns", [])
    _need(isinstance(turns, list) and all(isinstance(turn, str) for turn in turns), "A prompt's turns have to be a list of texts.")
    _need(bool(turns) != bool(raw.get("text")) and len(turns) <= 41, "A prompt has either a text or up to 41 turns.")
    _need(not turns or len(turns) % 2 == 1, "A tool loop's last turn has to be one that asks.")
    return list(turns)
