"""Builds the complete spec of a run from the request, the registration and what the box itself just said (docs/agent.md)."""

from __future__ import annotations

from typing import Any

from core.domain.arms import FORCED_REPETITIONS, LONGEST_BUDGET_S, Plan
from core.domain.box import Box
from core.domain.cost_line import ALL, NONE
from core.domain.engine_flags import FlagProblem, check
from core.domain.run import SweepRequest
from core.domain.workload import Prompt, Workload
from core.engines.llamacpp import Arm, Dialect, arguments, dialect_of, forced_arguments
from core.errors import PreflightRefused

LOAD_S, REQUEST_S = 300.0, 600.0  # the longest that an engine may load, and an answer take
PLAIN_S, LONGEST_S = 7200.0, LONGEST_BUDGET_S


def spec_of(
    *, run_id: str, request: SweepRequest, box: Box, workload: Workload, report: dict[str, Any], who: str, head: str, grace_s: float
) -> dict[str, Any]:
    """The spec of one sweep.

    Raises PreflightRefused (engine or model not usable, no MTP in this binary, a flag that it may not get), InvalidInput (plan).
    """
    engine = _usable(report["engines"], "id", request.engine_id, "engine", "Check its path on the box page.")
    model = _usable(report["models"], "name", request.model, "model", "Put the file there, or choose another model.")
    header = model.get("header") or {}
    _refuse_without_head(header, request.model)
    plan = request.plan(is_moe=is_moe(header), placement=_placement(request, report))
    dialect = dialect_of(engine["help_text"])
    context = request.context or workload.context
    loads = sorted({1, request.production_c, *request.also_c})
    arms = [_arm(request, dialect, n, c, context) for c in loads for n in range(request.n_max + 1)]
    forced = _forced_points(request, dialect, context) if request.forced else []
    _refuse_flags([one["args"] for one in [*arms, *forced]], engine["help_text"])
    suites = _suites(request, box)
    body = {"temperature": 0, "cache_prompt": False, "ignore_eos": True, "seed": 1}
    lifetime_s = hard_end_s(plan, len(forced), suites, box.limits.hours)
    return {
        "format": 1,
        "run_id": run_id,
        "requested_by": who,
        "decision_head": head,
        "plan": plan.__dict__,
        "limits": {"lifetime_s": lifetime_s, "load_s": LOAD_S, "request_s": REQUEST_S, "grace_s": grace_s},
        "engine": {"id": request.engine_id},
        "model": {"name": request.model},
        "arms": arms,
        "added": {
            "host": "--host",
            "port": "--port",
            "api_key": dialect.api_key,
            "metrics": dialect.metrics,
            "alias": dialect.alias,
        },
        "request": {"route": "/v1/chat/completions", "max_tokens": workload.max_tokens, "body": body},
        "prompts": [_prompt(prompt) for prompt in workload.prompts_for(max(loads))],
        "prompt_set_sha256": workload.prompt_set_sha256,
        "forced": forced,
        "suites": suites,
        "asked": {"context": context, "sampling": body, "n_gpu_layers": request.n_gpu_layers, "n_cpu_moe": request.n_cpu_moe},
    }


def hard_end_s(plan: Plan, forced: int, suites: list[dict[str, Any]], most_hours: int | None) -> float:
    """The hard end of a run: two hours, the time budget that was given, and what its forced points and suites take at most.

    Never more than the box allows.
    """
    point_s = LOAD_S + (FORCED_REPETITIONS + 1) * REQUEST_S
    longest = min(LONGEST_S, 3600.0 * most_hours) if most_hours else LONGEST_S
    return min(longest, PLAIN_S + plan.budget_s + forced * point_s + sum(one["at_most_s"] for one in suites))


def _refuse_flags(commands: list[list[str]], help_text: str) -> None:
    """The agent asks the same table again, on the box."""
    try:
        for args in commands:
            check(args, help_text)
    except FlagProblem as problem:
        raise PreflightRefused(f"{problem} Nothing was sent to the box.", hint="Register another build of the engine.") from problem


def _forced_points(request: SweepRequest, dialect: Dialect, context: int) -> list[dict[str, Any]]:
    """Two points for each n: all accepted, none accepted."""
    points = []
    for n in range(1, request.n_max + 1):
        arm = Arm(n, 1, context, request.n_gpu_layers, request.n_cpu_moe)
        points += [{"n_max": n, "point": word, "args": forced_arguments(arm, dialect, accepted=word == ALL)} for word in (ALL, NONE)]
    return points


def _suites(request: SweepRequest, box: Box) -> list[dict[str, Any]]:
    """The chosen suites with their noise band as registered now; what runs and how it is scored the box knows from its registration."""
    chosen = []
    for suite_id in dict.fromkeys(request.suites):
        suite = box.suite(suite_id)
        if suite is None:
            known = ", ".join(one.id for one in box.suites) or "none"
            raise PreflightRefused(f"The box has no suite “{suite_id}”. It has: {known}.", hint="Register it on the box page.")
        runs = request.suite_runs
        chosen.append({"id": suite.id, "runs": runs, "band": suite.band, "at_most_s": suite.at_most_s(runs)})
    return chosen


def _prompt(prompt: Prompt) -> dict[str, Any]:
    said = {"turns": prompt.turns} if prompt.turns else {"text": prompt.text}
    return {"id": prompt.id, **said, "sha256": prompt.sha256}


def _usable(entries: list[dict[str, Any]], key: str, name: str, kind: str, hint: str) -> dict[str, Any]:
    found = next((entry for entry in entries if entry[key] == name), None)
    if found is None:
        known = ", ".join(entry[key] for entry in entries) or "none"
        raise PreflightRefused(f"The box has no {kind} “{name}”. It has: {known}.", hint=hint)
    if found.get("error"):
        raise PreflightRefused(f"The {kind} “{name}” cannot be used: {found['error']}", hint=hint)
    return found


def is_moe(header: dict[str, Any]) -> bool:
    """Whether the trunk routes through experts; unknown counts as yes. A dense trunk may carry experts in its MTP block."""
    experts = header.get("expert_count")
    if experts is None:
        return header.get("architecture") is None
    trunk = (header.get("block_count") or 0) - (header.get("nextn_predict_layers") or 0)
    return experts > 0 and (header.get("leading_dense_block_count") or 0) < max(trunk, 1)


def _refuse_without_head(header: dict[str, Any], model: str) -> None:
    if header and header.get("nextn_predict_layers") in (0, None) and header.get("architecture"):
        raise PreflightRefused(
            f"“{model}” has no multi-token prediction layers (its header names none), so MTP cannot be measured on it.",
            hint="Choose the model file that was made with its MTP head.",
        )


def _placement(request: SweepRequest, report: dict[str, Any]) -> str:
    """What is known before the load log: without a GPU host-only, with experts sent to the CPU spilled, else unknown."""
    if report["gpus"]["state"] == "none":
        return "host-only"
    return "spilled" if request.n_cpu_moe else "unknown"


def _arm(request: SweepRequest, dialect: Any, n_max: int, c: int, context: int) -> dict[str, Any]:
    arm = Arm(n_max, c, context, request.n_gpu_layers, request.n_cpu_moe)
    return {"n_max": n_max, "c": c, "args": arguments(arm, dialect)}
