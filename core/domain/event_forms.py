"""What an event has to look like before it becomes rows: the fields this version reads, by kind. What else stands in it is kept unread."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import OutputNotUnderstood

LARGEST = 1e15  # above any count, time or rate a bench can give, and within what the store's columns hold
Count = Annotated[int, Field(ge=0, le=1 << 30)]
Figure = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class StageForm(_Form):
    kind: str
    name: str
    n_max: Count
    c: Count
    repetitions: Count


class Begun(_Form):
    run_id: str


class Preflight(_Form):
    engine: dict[str, Any] = {}
    artifact: dict[str, Any] = {}
    gpus: dict[str, Any] = {}


class ServerStarting(_Form):
    server: Count
    n_max: Count
    c: Count
    argv: list[str]


class ServerReady(_Form):
    server: Count
    log_bytes: Annotated[int, Field(ge=0)]
    load_s: Figure | None = None


class StreamForm(_Form):
    timings: dict[str, Any] | None = None
    ttft_ms: Figure | None = None
    wall_ms: Figure | None = None
    client_tok_s: Figure | None = None
    text_sha256: str | None = None
    turns: list[dict[str, Any]] = []


class SampleForm(_Form):
    stage: StageForm
    server: Count
    n_max: Count
    c: Count
    repetition: Count
    status: Literal["ok", "failed", "invalid"]
    reason: str | None = None
    temperature: Literal["warm", "cold"]
    counted: bool
    prompt_ids: list[str] | None = None
    streams: list[StreamForm]
    tok_s: Any  # a rate that is none makes the repetition invalid, not the run
    metrics_before: str | None = None
    metrics_after: str | None = None
    statistics_before: str | None = None
    statistics_line: str | None = None


class StageStarted(_Form):
    stage: StageForm


class StageDone(_Form):
    stage: StageForm
    status: str
    reason: str | None = None
    tok_s: list[Any]
    accepted: Count | None
    drafted: Count | None = None


class SuiteRun(_Form):
    suite: str
    n_max: Count
    c: Count
    run: Count
    status: str
    reason: str | None = None
    score: Figure | None = None
    exit_code: int | None = None
    took_s: Figure | None = None


class ReasonForm(_Form):
    code: str | None = None
    text: str | None = None


class Finished(_Form):
    outcome: str
    reason: ReasonForm | None = None
    events: int | None = None
    samples: int | None = None


FORMS: dict[str, type[_Form]] = {
    "run_started": Begun,
    "preflight": Preflight,
    "server_starting": ServerStarting,
    "server_ready": ServerReady,
    "sample": SampleForm,
    "stage_started": StageStarted,
    "stage_done": StageDone,
    "suite_run": SuiteRun,
    "run_finished": Finished,
}


def check_events(events: list[dict[str, Any]]) -> None:
    """Raises OutputNotUnderstood at the first event that is not what its kind has to be."""
    for event in events:
        _check(event)


def _check(event: dict[str, Any]) -> None:
    """Raises OutputNotUnderstood with the field that is not what it has to be; kinds this version does not read pass."""
    if not isinstance(event["kind"], str):
        raise odd_event(event, "its kind is no word")
    form = FORMS.get(event["kind"])
    if form is None:
        return
    try:
        form.model_validate(event)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise odd_event(event, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from wrong


def odd_event(event: dict[str, Any], why: str) -> OutputNotUnderstood:
    """The refusal of an event whose place in the chain is right and whose content is not."""
    return OutputNotUnderstood(
        f"Event {event['seq']} is not what an agent writes ({why}). Nothing was taken in from there on.",
        hint="What came before is kept. Look at the box, and at which agent runs there, before it measures again.",
    )
