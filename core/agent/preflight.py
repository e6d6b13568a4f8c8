"""Everything that can be refused before the first engine starts, and the facts the run rests on."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import Any

from core.agent import boxfacts, outside
from core.agent.files import disk_free_mib, read_object, write_json
from core.agent.spec import Spec
from core.agent.watch import Watch
from core.domain import engine_flags as flags

MIN_FREE_MIB = 200
_CHUNK = 8 << 20


class RunFailed(Exception):
    """The run ends here; `code` as listed in docs/agent.md."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class StageFailed(Exception):
    """The stage cannot be counted; the sweep's rules say what comes next."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Ready:
    """What preflight found: the engine's command, the arguments of every arm with paths in place, the suites, the facts for the ledger."""

    def __init__(self, root: str, spec: Spec, watch: Watch) -> None:
        self._root, self._spec, self._watch = root, spec, watch
        _need_disk(root)
        allowed = boxfacts.read_allowed(root)
        if allowed.error:
            raise RunFailed("spec", allowed.error)
        self.engine = _engine_of(allowed, spec.engine_id)
        self.environment = boxfacts.environment_of(self.engine)
        self._texts = outside.engine_texts(self.engine["argv"], self.environment)
        watch()
        if not self._texts["ok"]:
            raise RunFailed("engine_broken", "Engine %s does not answer: %s" % (spec.engine_id, self._texts["error"]))
        self.help_text = self._texts["help_text"]
        self._check_flags()
        self._paths = self._model_paths(allowed)
        self.suites = {suite["id"]: suite for suite in allowed.suites}

    def args_for(self, n_max: int, c: int) -> list[str]:
        """The arm's arguments, every model placeholder replaced by its path."""
        return self.filled(self._spec.arms[(n_max, c)])

    def filled(self, args: list[str]) -> list[str]:
        """Arguments of the spec with every model placeholder replaced by its path."""
        return [self._paths.get(token, token) for token in args]

    def facts(self) -> dict[str, Any]:
        """Body of the `preflight` event. Raises RunFailed where a GPU is in use by somebody else."""
        gpus = outside.gpus()
        others = outside.others_on_gpu(gpus["state"])
        self._watch()
        facts = {
            "engine": {"id": self._spec.engine_id, "version_text": self._texts["version_text"][:4000], "argv": self.engine["argv"]},
            "artifact": _artifact(self._root, self._paths["{model}"], self._watch), "gpus": gpus, "others_on_gpu": others,
            "load_1m": boxfacts.load_1m(), "memory_available_mib": boxfacts.memory_mib("MemAvailable"),
            "disk_free_mib": disk_free_mib(self._root),
        }  # type: dict[str, Any]  # fmt: skip
        extra = sorted({token: path for token, path in self._paths.items() if token != "{model}"}.items())
        facts["more_artifacts"] = [dict(_artifact(self._root, path, self._watch), name=token[7:-1]) for token, path in extra]
        return facts

    def _check_flags(self) -> None:
        try:
            for args in self._spec.every_args():
                flags.check(args, self.help_text)
        except flags.FlagProblem as problem:
            raise RunFailed(problem.code, str(problem)) from None
        for name, spelled in self._spec.added.items():
            if spelled and not flags.is_known(spelled, self.help_text):
                raise RunFailed("flag_unknown", "%s (for %s) is not known to this engine." % (spelled, name))

    def _model_paths(self, allowed: boxfacts.Allowed) -> dict[str, str]:
        paths = {"{model}": _model_of(allowed, self._spec.model_name)}
        for args in self._spec.every_args():
            for name in flags.models_named(args):
                paths["{model:%s}" % name] = _model_of(allowed, name)
        return paths


def _need_disk(root: str) -> None:
    free = disk_free_mib(root)
    if free is not None and free < MIN_FREE_MIB:
        raise RunFailed("disk", "Only %d MiB are free on the box; a run needs %d." % (free, MIN_FREE_MIB))


def _engine_of(allowed: boxfacts.Allowed, engine_id: str) -> dict[str, Any]:
    engine = allowed.engine(engine_id)
    if engine is None:
        raise RunFailed("engine_missing", "Engine %s is not registered on this box." % engine_id)
    if shutil.which(engine["argv"][0]) is None:
        raise RunFailed("engine_missing", "%s cannot be executed." % engine["argv"][0])
    return engine


def _model_of(allowed: boxfacts.Allowed, name: str) -> str:
    path = allowed.model_path(name)
    if path is None:
        raise RunFailed("model_missing", "Model %s is not registered on this box." % name)
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise RunFailed("model_missing", "%s is missing or cannot be read." % path)
    return path


def _artifact(root: str, path: str, watch: Watch) -> dict[str, Any]:
    try:
        found = os.stat(path)
        return {"path": path, "size_bytes": found.st_size, "mtime": found.st_mtime, "sha256": cached_sha256(root, path, watch)}
    except OSError as error:
        raise RunFailed("model_missing", "%s cannot be read: %s" % (path, error.strerror or error)) from error


def cached_sha256(root: str, path: str, watch: Watch) -> str:
    """SHA-256 of the file; kept in `<root>/hashes.json` and taken from there while inode, size and mtime are the same."""
    store = os.path.join(root, "hashes.json")
    known = read_object(store)
    key = _identity(path)
    entry = known.get(path)
    if isinstance(entry, list) and len(entry) == 4 and entry[:3] == key and isinstance(entry[3], str):
        return entry[3]
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for chunk in iter(lambda: stream.read(_CHUNK), b""):
            digest.update(chunk)
            watch()
    if _identity(path) == key:
        known[path] = key + [digest.hexdigest()]
        write_json(store, known)
    return digest.hexdigest()


def _identity(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_ino, found.st_size, found.st_mtime_ns]
