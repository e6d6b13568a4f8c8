"""The error tree. Every error a person may meet is one of these; anything else is a defect and stays loud.

BenchError(title, message, hint)      what happened / what was kept / what to do next
├── InvalidInput                      all problems at once, by field
├── NotFound                          an unknown name, with the known ones
├── NotAllowed                        the role does not reach that far
├── RemoteError                       a box could not be used
│   ├── BoxUnreachable                no connection (says nothing about the run on it)
│   ├── HostKeyUnknown                first contact: the fingerprint has to be confirmed
│   ├── HostKeyChanged                another key than the pinned one: everything there stops
│   ├── AccessRefused                 key or user not accepted, key file unreadable
│   ├── CommandFailed                 a command on the box ended with an exit code
│   └── RemoteTimeout                 no answer in time
├── BoxBusy                           another run holds the box
├── PreflightRefused                  the box cannot do what was asked (no python3, engine, model, flag)
├── OutputNotUnderstood               what an engine printed could not be read; the raw file is kept
├── StoreError                        the database cannot be used
│   └── StoreInUse                    another process holds the file
└── DecisionRefused                   gates open, owner or reason missing
"""

from __future__ import annotations


class BenchError(Exception):
    """Something a person can act on: `title` (what happened), `message` (detail, what was kept), `hint` (what to do)."""

    default_title = "Something went wrong"

    def __init__(self, message: str, *, title: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.title = title or self.default_title
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, dict[str, str]]:
        """The form fixed for machines: {"error": {"title", "message", "hint"}}."""
        return {"error": {"title": self.title, "message": self.message, "hint": self.hint}}


class InvalidInput(BenchError):
    """Bad input; `problems` maps a field to its sentence, all of them at once."""

    default_title = "Please correct the input"

    def __init__(self, problems: dict[str, str], *, hint: str = "Nothing was saved or started.") -> None:
        super().__init__(" ".join(f"{field}: {text}" for field, text in problems.items()), hint=hint)
        self.problems = problems


class NotFound(BenchError):
    """An unknown name; the message lists the known ones."""

    default_title = "Not found"

    def __init__(self, kind: str, name: str, known: list[str] | tuple[str, ...] = ()) -> None:
        listed = ", ".join(known) if known else "none yet"
        super().__init__(f"There is no {kind} “{name[:80]}”.", hint=f"Known: {listed}.")


class NotAllowed(BenchError):
    """The actor's role does not allow it."""

    default_title = "Not allowed"


class RemoteError(BenchError):
    """A box could not be used."""

    default_title = "The box could not be used"


class BoxUnreachable(RemoteError):
    """No connection. Says nothing about a run that is on the box."""

    default_title = "Box unreachable"


class HostKeyUnknown(RemoteError):
    """First contact: the host key's fingerprint has to be confirmed by a person."""

    default_title = "Host key not confirmed yet"


class HostKeyChanged(RemoteError):
    """The box shows another host key than the pinned one."""

    default_title = "Host key changed"


class AccessRefused(RemoteError):
    """The box did not accept key or user, or the key file cannot be used."""

    default_title = "Access refused"


class CommandFailed(RemoteError):
    """A command on the box ended with a code other than 0."""

    default_title = "A command on the box failed"


class RemoteTimeout(RemoteError):
    """No answer within the time limit."""

    default_title = "No answer in time"


class BoxBusy(BenchError):
    """Another run holds the box."""

    default_title = "The box is busy"


class PreflightRefused(BenchError):
    """The box cannot do what was asked; nothing was started."""

    default_title = "The run cannot start"


class OutputNotUnderstood(BenchError):
    """Engine output that could not be read; the raw file is kept."""

    default_title = "Output not understood"


class StoreError(BenchError):
    """The database cannot be used."""

    default_title = "The database cannot be used"


class StoreInUse(StoreError):
    """Another process holds the database file."""

    default_title = "The database is in use"


class DecisionRefused(BenchError):
    """A decision that may not be taken: gates open, owner or reason missing."""

    default_title = "The decision was not recorded"
