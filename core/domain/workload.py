"""What is asked of the engine while it is measured: prompts, lengths, shape."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import Field

from core.domain.forms import Name, Record, Title


class Prompt(Record):
    """One shipped text; its hash goes with every sample."""

    id: Name
    text: str = Field(min_length=1)

    @property
    def sha256(self) -> str:
        """Hash of the text as sent."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


class Workload(Record):
    """A named workload. `max_tokens` per reply (≥ 128: the last step of a reply is cut by the limit); `context` in tokens per slot."""

    id: Name
    title: Title
    shape: Literal["chat", "classification", "tool loop"]
    max_tokens: int = Field(ge=16, le=100_000)
    context: int = Field(ge=256, le=1_048_576)
    prompts: list[Prompt] = Field(min_length=2)

    @property
    def prompt_set_sha256(self) -> str:
        """Hash over all prompts in order."""
        return hashlib.sha256("\n".join(prompt.sha256 for prompt in self.prompts).encode()).hexdigest()
