"""A box as the app asks it: puts the agent there once per content, then speaks its verbs and reads its files over any Host."""

from __future__ import annotations

import json
import posixpath
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from core.errors import CommandFailed, InvalidInput, PreflightRefused
from core.ports.bench_box import BenchBox
from core.ports.host import Host
from core.remote.agent_bundle import build
from core.remote.frames import framed, tail_of
from core.remote.run_paths import RootPaths, RunPaths, check_log_name, check_run_id

OLDEST_PYTHON = (3, 8)
_VERB_S = 60.0
_LOGOUT_S = 1.5  # what ends processes at logout does so at once, but not in the same moment

# One line, no apostrophe, no exclamation mark, no backslash: every login shell passes it on as it is. Runs on any Python since 2.7.
# It closes the folder to others, and tells version, whether the folder is this user's, and the SHA-256 of the agent there.
_CHECK = (
    "import sys,os,json,hashlib;r,a=sys.argv[1:3];own=os.stat(r).st_uid==os.getuid();own and os.chmod(r,448);"
    'sha=hashlib.sha256(open(a,"rb").read()).hexdigest() if os.path.exists(a) else "";'
    'v="%d.%d.%d" % sys.version_info[:3];print(chr(10)+"@@draftledger "+json.dumps(dict(python=v,own=own,sha256=sha)))'
)

Bundle = Callable[[], tuple[bytes, str]]


class AgentBox(BenchBox):
    """One registered box over a Host: `python` starts its interpreter, `allow` is its registration, `root` None is `~/.draftledger`."""

    def __init__(self, host: Host, *, root: str | None, python: list[str], allow: dict[str, Any], bundle: Bundle = build) -> None:
        problems = {}
        if root is not None and not (root.startswith("/") and root.isprintable()):
            problems["root"] = "An absolute path without control characters."
        if not python or any(not word or not word.isprintable() for word in python):
            problems["python"] = "A program and its arguments, without control characters."
        if problems:
            raise InvalidInput(problems)
        self.host = host
        self._root = root
        self._python = list(python)
        self._allow = json.dumps(allow, sort_keys=True, indent=1).encode()
        self._bundle = bundle
        self._preparing = threading.Lock()
        self._agent: str | None = None

    def probe(self) -> dict[str, Any]:
        return {**self._ask("probe"), "link": self.host.link()}

    def submit(self, run_id: str, spec: dict[str, Any]) -> dict[str, Any]:
        paths = self._paths(run_id)
        self._prepare()
        # Once a run has left a trace its spec stays as it was; `start` then says what became of it.
        if self.host.size(paths.agent_state) is None and self.host.size(paths.events) is None:
            self.host.make_folder(paths.folder)
            self.host.put(json.dumps(spec, ensure_ascii=False, allow_nan=False).encode(), paths.spec)
        return self._ask("start", run_id)

    def state(self, run_id: str) -> dict[str, Any]:
        return self._ask("state", check_run_id(run_id))

    def cancel(self, run_id: str, who: str) -> dict[str, Any]:
        check_run_id(run_id)
        if not who or len(who) > 200 or not who.isprintable() or who.startswith("-"):
            raise InvalidInput({"who": "A name of at most 200 characters, not starting with a hyphen."})
        return self._ask("cancel", run_id, "--who", who)

    def forgive(self) -> bool:
        return self.host.forgive()

    def survives_logout(self) -> bool | None:
        """Tried with a connection that is closed in between, so not while a run of ours is looked after there."""
        if not self.host.has_sessions:
            return None
        self._ask("outlive")
        self.host.close()
        time.sleep(_LOGOUT_S)
        told = self._ask("outlived").get("survived")
        return told if isinstance(told, bool) else None

    def reap(self) -> dict[str, Any]:
        return self._ask("reap")

    def forget(self, run_id: str, *, seq: int, sha: str, age_s: float) -> dict[str, Any]:
        if not re.fullmatch(r"[0-9a-f]{64}", sha):
            raise InvalidInput({"sha": "A SHA-256 in hex."})
        return self._ask("forget", check_run_id(run_id), "--ack", f"{int(seq)}:{sha}", "--age-s", str(float(age_s)))

    def read_events(self, run_id: str, offset: int, limit: int = 1 << 20) -> bytes:
        return self._read(self._paths(run_id).events, offset, limit)

    def read_log(self, run_id: str, name: str, offset: int, limit: int = 1 << 20) -> bytes:
        return self._read(self._paths(run_id).log(check_log_name(name)), offset, limit)

    def log_size(self, run_id: str, name: str) -> int | None:
        return self.host.size(self._paths(run_id).log(check_log_name(name)))

    def close(self) -> None:
        """Gives the connection back; the next call opens it again."""
        self.host.close()

    def root(self) -> str:
        """The absolute root folder on the box."""
        if self._root is None:
            self._root = posixpath.join(self.host.home(), ".draftledger")
        return self._root

    def _paths(self, run_id: str) -> RunPaths:
        check_run_id(run_id)
        return RunPaths(self.root(), run_id)

    def _read(self, path: str, offset: int, limit: int) -> bytes:
        try:
            return self.host.read(path, offset, limit)
        except FileNotFoundError:
            return b""  # not written yet; log_size tells the difference

    def _ask(self, verb: str, *rest: str) -> dict[str, Any]:
        agent = self._prepare()
        argv = [*self._python, agent, "--root", self.root(), verb, *rest]
        try:
            return framed(self.host.run(argv, deadline_s=_VERB_S), verb)
        except CommandFailed:
            self._agent = None  # the box may have been cleaned: the next call looks again
            raise

    def _prepare(self) -> str:
        """Path of the agent on the box, put there and checked when it is not known to be."""
        with self._preparing:
            if self._agent is not None:
                return self._agent
            data, sha256 = self._bundle()
            paths = RootPaths(self.root())
            agent = paths.agent(sha256)
            self.host.make_folder(paths.root)
            if self._check(agent) != sha256:
                self.host.make_folder(paths.agent_folder)
                self.host.put(data, agent)
                arrived = self._check(agent)
                if arrived != sha256:
                    raise CommandFailed(f"The agent arrived damaged: SHA-256 {arrived or 'none'} instead of {sha256}.", hint="Try again.")
            self.host.put(self._allow, paths.allow)
            self._agent = agent
            return agent

    def _check(self, agent: str) -> str:
        """SHA-256 of the agent as the box reads it; refuses a box whose Python or folder will not do."""
        done = self.host.run([*self._python, "-c", _CHECK, self.root(), agent], deadline_s=_VERB_S)
        if done.rc in (126, 127):
            raise _no_python(f"`{self._python[0]}` was not found there", tail_of(done))
        found = framed(done, "python check")
        version = str(found.get("python"))
        if not _new_enough(version):
            raise _no_python(f"`{self._python[0]}` there is Python {version[:40]}")
        if not found.get("own"):
            raise PreflightRefused(
                f"The folder {self.root()} on the box belongs to another user; nothing was put there.",
                hint="Choose another folder for this box.",
            )
        return str(found.get("sha256"))


def _new_enough(version: str) -> bool:
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})", version)
    return match is not None and (int(match[1]), int(match[2])) >= OLDEST_PYTHON


def _no_python(found: str, detail: str = "") -> PreflightRefused:
    least = ".".join(map(str, OLDEST_PYTHON))
    message = f"The box needs Python {least} or newer: {found}."
    return PreflightRefused(
        f"{message} It said: {detail}" if detail else message, hint="Install it, or name another interpreter for this box."
    )
