"""allow.json: which engines and models this box offers, and how a name becomes a path. Only registered things are ever opened."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from core.agent.files import read_json

_MAX_MODELS = 2000
_SUFFIX = ".gguf"
_STANDS_FOR_FLAGS = "LLAMA_ARG_"


@dataclass(frozen=True)
class Allowed:
    """The registration as written by the app; `error` says why it could not be read."""

    engines: "list[dict[str, Any]]"
    models: "list[dict[str, str]]"
    error: str = ""
    suites: "list[dict[str, Any]]" = field(default_factory=list)

    def engine(self, engine_id: str) -> dict[str, Any] | None:
        return next((item for item in self.engines if item["id"] == engine_id), None)

    def model_path(self, name: str) -> str | None:
        return next((item["path"] for item in self.models if item["name"] == name), None)


def read_allowed(root: str) -> Allowed:
    try:
        raw = read_json(os.path.join(root, "allow.json"))
        engines = [_engine(item) for item in raw.get("engines", [])]
        models = [{"name": str(item["name"]), "path": str(item["path"])} for item in raw.get("models", [])]
        roots = [str(item) for item in raw.get("model_roots", [])]
        suites = [_suite(item) for item in raw.get("suites", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Allowed([], [], "allow.json cannot be read: %s" % error)
    known = {item["name"] for item in models}
    for folder in roots:
        for path in _models_below(folder, 2):
            name = os.path.basename(path)[: -len(_SUFFIX)]
            if name not in known and len(models) < _MAX_MODELS:
                known.add(name)
                models.append({"name": name, "path": path})
    return Allowed(engines, models, "", suites)


def _engine(raw: dict[str, Any]) -> dict[str, Any]:
    argv = [str(item) for item in raw["argv"]]
    if not argv:
        raise ValueError("an engine has no command")
    env = {str(key): str(value) for key, value in raw.get("env", {}).items()}
    return {"id": str(raw["id"]), "kind": str(raw.get("kind", "")), "argv": argv, "env": env}


def _suite(raw: dict[str, Any]) -> dict[str, Any]:
    argv = [str(item) for item in raw["argv"]]
    if not argv:
        raise ValueError("a suite has no command")
    rule = {"by": str(raw["by"]), "at": str(raw.get("at", ""))}
    return {"id": str(raw["id"]), "argv": argv, "rule": rule, "limit_s": float(raw["limit_s"])}


def _models_below(folder: str, levels: int) -> list[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    found = []
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.name.endswith(_SUFFIX) and entry.is_file():
            found.append(entry.path)
        elif levels > 1 and entry.is_dir():
            found += _models_below(entry.path, levels - 1)
        if len(found) >= _MAX_MODELS:
            break
    return found[:_MAX_MODELS]


def environment_of(engine: dict[str, Any]) -> dict[str, str]:
    """The login's environment without the variables that stand for an engine's flags: what a run did is what its command line says."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_STANDS_FOR_FLAGS)}
    return dict(own, **engine["env"])


def memory_mib(field: str) -> int | None:
    """A field of the kernel's memory table (MemTotal, MemAvailable) in MiB."""
    try:
        with open("/proc/meminfo", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) >> 10
    except (OSError, ValueError, IndexError):
        pass
    return None


def load_1m() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None
