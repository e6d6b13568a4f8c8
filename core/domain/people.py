"""What an admin may type about people and tokens."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from core.domain.forms import Name, Record

MAX_TOKEN_DAYS = 365


class PersonForm(Record):
    """A person's role here. `key` is issuer and subject as the identity provider states them, one space between."""

    key: str = Field(min_length=1, max_length=600)
    name: Name
    role: Literal["none", "viewer", "runner", "decider", "admin"]
    is_disabled: bool = False

    @field_validator("key")
    @classmethod
    def _key_has_both_parts(cls, value: str) -> str:
        if not re.fullmatch(r"\S+ \S.*", value) or not value.isprintable():
            raise ValueError("needs both the issuer's address and the subject.")
        return value


class TokenForm(Record):
    """A token for the API: what it is for, what it may do, how many days it lives."""

    name: Name
    role: Literal["viewer", "runner", "decider", "admin"]
    days: int = Field(default=30, ge=1, le=MAX_TOKEN_DAYS)
