"""What is asked of the engine while it is measured: prompts, lengths, shape."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import Field, model_validator

from core.domain.arms import MAX_REPETITIONS
from core.domain.forms import Name, Record, Title

TURN_SEPARATOR = "\x1e"


class Prompt(Record):
    """One shipped text, or a tool loop's turns (asked, answered, asked, …); its hash goes with every sample."""

    id: Name
    text: str = ""
    turns: list[str] = Field(default=[], max_length=41)

    @model_validator(mode="after")
    def _one_form(self) -> Prompt:
        if bool(self.text) == bool(self.turns) or (self.turns and len(self.turns) % 2 == 0):
            raise ValueError("A prompt has a text, or an odd number of turns that ends with what is asked.")
        return self

    @property
    def sha256(self) -> str:
        """Hash of the text as sent; of a tool loop's turns, joined by the record separator."""
        return hashlib.sha256((self.text or TURN_SEPARATOR.join(self.turns)).encode("utf-8")).hexdigest()

    def variant(self, number: int) -> Prompt:
        """The same task as a text of its own from its first word on, so that nothing computed for another one can serve it."""
        head = f"Case {number}. "
        turns = [head + self.turns[0], *self.turns[1:]] if self.turns else []
        return Prompt(id=f"{self.id}.{number}", text=head + self.text if self.text else "", turns=turns)


class Workload(Record):
    """A named workload. `max_tokens` of each reply (≥ 128 where it can: the last step of a reply is cut by the limit, which weighs on
    short ones); `context` in tokens per slot."""

    id: Name
    title: Title
    shape: Literal["chat", "classification", "tool loop"]
    max_tokens: int = Field(ge=16, le=100_000)
    context: int = Field(ge=256, le=1_048_576)
    prompts: list[Prompt] = Field(min_length=2)

    @property
    def prompt_set_sha256(self) -> str:
        """Hash over all shipped prompts in order."""
        return hashlib.sha256("\n".join(prompt.sha256 for prompt in self.prompts).encode()).hexdigest()

    def prompts_for(self, streams: int) -> list[Prompt]:
        """Enough prompts that no repetition at `streams` at once reads a text twice: counted ones first, the warm-ups' at the end."""
        *counted, warm = self.prompts
        wanted = max(len(counted), MAX_REPETITIONS * streams)
        cycled = [counted[at % len(counted)].variant(at // len(counted)) for at in range(len(counted), wanted)]
        return [*counted, *cycled, *(warm.variant(at) for at in range(streams - 1, 0, -1)), warm]
