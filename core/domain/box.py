"""A registered box: where it is, how its key looks, which engines and models may be used there."""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from core.domain.box_limits import Limits
from core.domain.engine_flags import refused_in_command
from core.domain.forms import Name, Record, printable
from core.domain.suite_score import JSON, REGEX, rule_problem

THIS_MACHINE = "this-machine"
_HOST = re.compile(r"[A-Za-z0-9_.:\[\]-]{1,253}")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?")
_JUMP = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")


class Engine(Record):
    """One engine binary, as an argument list that is run as it stands."""

    id: Name
    kind: Literal["llama.cpp"] = "llama.cpp"
    argv: list[str] = Field(min_length=1, max_length=20)

    @field_validator("argv")
    @classmethod
    def _argv_may_be_registered(cls, value: list[str]) -> list[str]:
        problem = refused_in_command(value)
        if problem:
            raise ValueError(problem)
        return value


class ModelFile(Record):
    """A model by name and path on the box."""

    name: Name
    path: Annotated[str, AfterValidator(printable)] = Field(min_length=1, max_length=1000)


class Suite(Record):
    """A tool suite: an argument list run as it stands, never through a shell, and how its output becomes a score.

    `by`: exit | file | json | regex, `at`: the JSON path or the pattern. `limit_s`: seconds a run may take; `band`: noise in points.
    """

    id: Name
    argv: list[str] = Field(min_length=1, max_length=40)
    by: Literal["exit", "file", "json", "regex"] = "exit"
    at: Annotated[str, AfterValidator(printable)] = Field(default="", max_length=300)
    limit_s: float = Field(default=600.0, ge=1, le=14_400)
    band: float = Field(default=10.0, ge=0, le=1000, allow_inf_nan=False)

    def at_most_s(self, runs: int) -> float:
        """Seconds that so many runs a side can take, on and off, with half a minute beside each."""
        return 2 * runs * (self.limit_s + 30.0)

    @field_validator("argv")
    @classmethod
    def _argv_is_plain(cls, value: list[str]) -> list[str]:
        if not value[0].strip() or value[0].startswith("-") or any(len(part) > 1000 for part in value):
            raise ValueError("needs a program and its arguments, one a line, each at most 1000 characters.")
        if any(not part.isprintable() for part in value):
            raise ValueError("may not contain control characters or line breaks.")
        return value

    @model_validator(mode="after")
    def _rule_can_be_used(self) -> Suite:
        problem = rule_problem(self.by, self.at)
        if problem:
            raise ValueError(f"the place of the score {problem}" if self.by in (JSON, REGEX) else problem)
        return self


class Jump(NamedTuple):
    """Where a jump host is, and as whom it is entered; `user` "": as on the box."""

    user: str
    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Jump:
        """From `[user@]host[:port]`. Raises ValueError."""
        found = _JUMP.fullmatch(text)
        if found is None or found["host"].startswith("-") or not 1 <= int(found["port"] or 22) <= 65535:
            raise ValueError("has to be user@host:port; user and port may be left out.")
        if found["user"] and not _USER.fullmatch(found["user"]):
            raise ValueError("names no Unix user before the @.")
        return cls(found["user"] or "", found["host"].strip("[]"), int(found["port"] or 22))


STANDARD, LOCKED = "standard", "locked"
OWNERS_PATH = "(set by the owner of the box)"


class BoxForm(Record):
    """What a person fills in to add an SSH box. `engine` and `models` are absolute paths on the box.

    `jump`: the host it is reached through, `[user@]host[:port]`, entered with the same key file; "" for none.
    In locked mode the box's owner has installed the gate and says there what may run: `engine` is an id of that list, `models` is empty.
    """

    name: Name
    mode: Literal["standard", "locked"] = "standard"
    host: str = Field(min_length=1, max_length=253)
    port: int = Field(default=22, ge=1, le=65535)
    user: str = Field(min_length=1, max_length=32)
    key_path: str = Field(min_length=1, max_length=1000)
    engine: str = Field(min_length=1, max_length=1000)
    models: str = Field(default="", max_length=1000, validate_default=True)
    python: str = Field(default="python3", min_length=1, max_length=1000)
    jump: str = Field(default="", max_length=300)

    @field_validator("jump")
    @classmethod
    def _jump_is_an_address(cls, value: str) -> str:
        if value:
            Jump.read(value)
        return value

    @field_validator("host")
    @classmethod
    def _host_is_a_name(cls, value: str) -> str:
        if value.startswith("-") or not _HOST.fullmatch(value):
            raise ValueError("has to be a host name or an address.")
        return value

    @field_validator("user")
    @classmethod
    def _user_is_a_name(cls, value: str) -> str:
        if not _USER.fullmatch(value):
            raise ValueError("has to be a Unix user name.")
        return value

    @field_validator("engine", "models")
    @classmethod
    def _path_suits_the_mode(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("mode") == LOCKED:
            if info.field_name == "engine" and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}", value):
                raise ValueError("has to be an engine's id from the box's own list: letters, digits, dots, hyphens.")
            return value if info.field_name == "engine" else ""
        if not value:
            raise ValueError("is needed.")
        if not value.startswith("/") or not value.isprintable():
            raise ValueError("has to be an absolute path on the box.")
        flags = [word for word in value.split()[1:] if word.startswith("-")] if info.field_name == "engine" else []
        if flags:
            raise ValueError(
                f"is the program alone; “{flags[0][:60]}” is a flag. What a run needs the app adds itself, from its own table."
            )
        return value

    @field_validator("key_path")
    @classmethod
    def _key_path_is_a_path(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("has to be the path of a file on this computer.")
        return value

    @field_validator("python")
    @classmethod
    def _python_is_a_command(cls, value: str) -> str:
        if not re.fullmatch(r"/?[A-Za-z0-9_./-]+", value) or value.startswith("-"):
            raise ValueError("has to be a command name or an absolute path.")
        return value


class Box(Record):
    """A box as registered. `host_key` is the pinned key line, `fingerprint` its SHA256 form; `jump_host_key` the jump host's own."""

    box_id: Name
    name: Name
    kind: Literal["local", "ssh"]
    mode: Literal["standard", "locked"] = "standard"
    host: str = ""
    port: int = 22
    user: str = ""
    key_path: str = ""
    passphrase_env: str = ""
    host_key: str = ""
    fingerprint: str = ""
    jump: str = ""
    jump_host_key: str = ""
    jump_fingerprint: str = ""
    python: list[str] = Field(default=["python3"])
    engines: list[Engine]
    models: list[ModelFile] = []
    model_roots: list[str] = []
    suites: list[Suite] = []
    limits: Limits = Limits()

    def jump_address(self) -> Jump | None:
        """The jump host with the user it is entered as, None where the box is reached directly."""
        if not self.jump:
            return None
        found = Jump.read(self.jump)
        return found._replace(user=found.user or self.user)

    @property
    def where(self) -> str:
        """user@host:port, and through whom, for sentences."""
        return f"{self.user}@{self.host}:{self.port}" + (f" through {self.jump}" if self.jump else "")

    def engine(self, engine_id: str) -> Engine | None:
        """The engine of that id, None when the box has no such engine."""
        return next((engine for engine in self.engines if engine.id == engine_id), None)

    def suite(self, suite_id: str) -> Suite | None:
        """The tool suite of that id, None when the box has no such suite."""
        return next((suite for suite in self.suites if suite.id == suite_id), None)

    def allow(self) -> dict[str, object]:
        """What the agent may use: the content of allow.json (docs/agent.md)."""
        return {
            "engines": [{"id": e.id, "kind": e.kind, "argv": e.argv, "env": {}} for e in self.engines],
            "models": [m.model_dump() for m in self.models],
            "model_roots": self.model_roots,
            "suites": [suite.model_dump(exclude={"band"}) for suite in self.suites],
            "limits": self.limits.set_ones(),
        }
