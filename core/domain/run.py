"""What was asked to run, and the states of a run."""

from __future__ import annotations

import re
import secrets
from typing import Literal

from pydantic import Field

from core.domain.arms import MAX_REPETITIONS
from core.domain.forms import Name, Record, Title
from core.domain.sweep import Plan, problems_of
from core.errors import InvalidInput

RUN_ID = re.compile(r"[0-9a-f]{32}")

MOST_WITHOUT_GPU = 5  # other load shakes a processor's figures by more than further repetitions could settle

QUEUED, PREPARING, RUNNING, STOPPING = "queued", "preparing", "running", "stopping"
DONE, FAILED, CANCELLED, LOST = "done", "failed", "cancelled", "lost"
FINAL = (DONE, FAILED, CANCELLED, LOST)
ACTIVE = (QUEUED, PREPARING, RUNNING, STOPPING)


def new_run_id() -> str:
    """128 random bits: minted when the form is shown, before anything is sent."""
    return secrets.token_hex(16)


def short(run_id: str) -> str:
    """How a run id is shown."""
    return f"r-{run_id[:4]}"


class Proposal(Record):
    """“Turn on MTP for …”: box, engine, model, workload, the concurrency the product serves at, and how it is to be measured.

    Placement fields None: the engine's own default, read back from its load log. `forced`: with the forced-acceptance pass.
    `suites`: ids of tool suites registered on the box; `recipe_id`: the recipe file it starts from.
    """

    title: Title
    box_id: Name
    engine_id: Name
    model: Name
    workload_id: Name
    n_max: int = Field(default=3, ge=1, le=16)
    repetitions: int = Field(default=3, ge=3, le=8)
    production_c: int = Field(default=1, ge=1, le=64)
    context: int | None = Field(default=None, ge=256, le=1_048_576)
    n_gpu_layers: int | None = Field(default=None, ge=0, le=1000)
    n_cpu_moe: int | None = Field(default=None, ge=0, le=1000)
    order: Literal["abba", "interleaved", "block"] = "abba"
    budget_min: int | None = Field(default=None, ge=1, le=43_200)
    also_c: list[int] = Field(default=[], max_length=8)
    forced: bool = False
    suites: list[Name] = Field(default=[], max_length=20)
    suite_runs: int = Field(default=2, ge=1, le=20)
    recipe_id: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class SweepRequest(Proposal):
    """A proposal as one sweep. `attempt` counts repeats of one request (`repeat_of`: the run before); `segment_of`: the interrupted run
    whose climb this one goes on with, from `first_n`."""

    worksheet_id: Name | None = None
    attempt: int = Field(default=1, ge=1, le=1000)
    repeat_of: str | None = Field(default=None, pattern=r"^[0-9a-f]{32}$")
    segment_of: str | None = Field(default=None, pattern=r"^[0-9a-f]{32}$")
    first_n: int = Field(default=1, ge=1, le=16)

    def plan(self, *, is_moe: bool, placement: str) -> Plan:
        """The sweep plan; raises InvalidInput when the protocol refuses it."""
        most = max(self.repetitions, MOST_WITHOUT_GPU) if placement == "host-only" else MAX_REPETITIONS
        plan = Plan(
            self.n_max, self.repetitions, self.production_c, is_moe, placement, order=self.order,
            budget_s=60.0 * (self.budget_min or 0), max_repetitions=most, loads=tuple(self.also_c),
            first_n=self.first_n, segment_of=self.segment_of or "",
        )  # fmt: skip
        problems = {{"loads": "also_c"}.get(field, field): text for field, text in problems_of(plan).items()}
        if problems:
            raise InvalidInput(problems)
        return plan
