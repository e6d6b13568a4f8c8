"""What a door of `/api/v1` is: method, path, what the caller must be allowed to do, and the service call behind it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from pydantic import BaseModel

from core.services.house import House

Answer = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """What came with a request: names from the path, the query, the body as an object."""

    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Download:
    """A file as the answer. `made` is written to by the service call, sent, and gone when it is closed: nothing of it lies on the disk."""

    name: str
    media_type: str
    made: IO[bytes] = field(default_factory=tempfile.TemporaryFile)


@dataclass(frozen=True)
class ApiDoor:
    """One method of one path. `query`: names that may stand in the query; `gives`: media type of a good answer.

    `is_heavy`: takes seconds and disk, so one at a time and a few in a minute.
    """

    method: Literal["GET", "POST"]
    path: str
    action: str
    summary: str
    work: Callable[[House, Call], Answer | Download]
    body: type[BaseModel] | None = None
    query: tuple[str, ...] = ()
    gives: str = "application/json"
    is_heavy: bool = False
