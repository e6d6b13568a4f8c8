"""The bodies that `/api/v1` takes beside the forms of the domain."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.domain.forms import Name, Record, Sentence
from core.domain.run import SweepRequest, new_run_id
from core.domain.worksheet import SuiteScores

_TEXT = 2_000_000  # characters, as large as a body may be
_RUN_ID = r"^[0-9a-f]{32}$"


class SweepOrder(SweepRequest):
    """A sweep; the same `run_id` sent again starts nothing."""

    run_id: str = Field(default_factory=new_run_id, pattern=_RUN_ID)


class AgainOrder(Record):
    """The id of the further run; the same sent again starts nothing."""

    run_id: str = Field(default_factory=new_run_id, pattern=_RUN_ID)


class PlaceOrder(Record):
    """Where a waiting run goes in the queue of its box."""

    to: Literal["first", "earlier", "later"]


class TextFile(Record):
    """A file as text."""

    name: Name
    text: str = Field(max_length=_TEXT)


class ImportOrder(Record):
    """What other tools printed; `kind` is detected when absent."""

    files: list[TextFile] = Field(min_length=1, max_length=20)
    kind: Name | None = None


class ReadOrder(Record):
    """What an engine or a bench tool printed; `companion`: a second output of the same run; `kind` is detected when absent."""

    text: str = Field(max_length=_TEXT)
    companion: str | None = Field(default=None, max_length=_TEXT)
    kind: Name | None = None


class RecipeOrder(Record):
    """A recipe file's text."""

    text: str = Field(max_length=_TEXT)


class CommentOrder(Record):
    """A comment on a worksheet."""

    text: Sentence


class TextEntry(Record):
    """A typed value or note of one field."""

    field: Name
    side: Name
    text: Sentence


class SuiteEntry(SuiteScores):
    """Scores of one side of a tool suite."""

    side: Literal["baseline", "candidate"]


class LengthChoice(Record):
    """The measured n_max that the candidate column shows."""

    n_max: int = Field(ge=0, le=16)


class WithdrawOrder(Record):
    """Why a decision is taken back, and by whom."""

    owner: Name
    reason: Sentence
    sign_id: str = Field(default="", max_length=64)


class Witness(Record):
    """Text of anything that saw the chain: decisions.jsonl, spec.json, events.jsonl, an export's manifest, a list of hashes."""

    witness: str | None = Field(default=None, max_length=_TEXT)


class DoctorOrder(Record):
    """`mend`: fetch damaged ledgers again from their boxes first."""

    mend: bool = False


class ReapOrder(Record):
    """`run_id`: only this run's leftovers, and close its ledger on the box."""

    run_id: str | None = Field(default=None, pattern=_RUN_ID)
