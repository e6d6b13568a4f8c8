"""One engine process group: started on 127.0.0.1 with a random key, watched while it loads, ended with everything below it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from core.agent import cgroup, outside, proc
from core.agent.client import Door
from core.agent.files import open_private
from core.agent.logpump import LogPump
from core.agent.shutdown import end_family, end_group
from core.agent.watch import Watch

NOBODY, OURS, FOREIGN, UNKNOWN = "nobody", "ours", "foreign", "unknown"
KEY_VARIABLE = "LLAMA_API_KEY"
LOG_TAIL = 4096
_NO_MEMORY = re.compile(
    rb"out ?of ?(?:device ?)?memory|(?:failed|unable) to allocate|cudaMalloc failed|cannot allocate memory", re.IGNORECASE
)
_LISTEN_EVERY_S, _HEALTH_EVERY_S = 0.03, 0.1

# Runs between fork and exec in a process of its own: the kernel ends the engine when the agent dies, whatever kills it, and
# under memory pressure takes the engine first, so that the agent can still report it. Arguments: the agent, the door of the control group
# it enters by itself ("": none), the command.
STEP = """
import ctypes, os, sys
try:
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
except (OSError, AttributeError):
    pass
if os.getppid() != int(sys.argv[1]):
    os._exit(125)
for path, word in (("/proc/self/oom_score_adj", "500"), (sys.argv[2], "0")):
    try:
        with open(path, "w") as stream:
            stream.write(word)
    except OSError:
        pass
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    sys.stderr.write("cannot be started: %s\\n" % error)
    os._exit(127)
"""


class LoadFailed(Exception):
    """The engine did not come up; `code` is load_failed, out_of_memory or load_timeout."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class ForeignPort(Exception):
    """Somebody else answers on the port that was chosen; nothing was sent there."""


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Engine:
    """Start it, `wait_ready`, talk through `door`, always `stop`."""

    def __init__(self, number: int, argv: list[str], added: dict[str, str | None], help_text: str) -> None:
        self.number = number
        self.port = free_port()
        self.key = secrets.token_hex(16)
        self.alias = "draftledger-" + secrets.token_hex(8)
        self.door = Door(self.port, self.key)
        self._added = added
        self._by_variable = KEY_VARIABLE in help_text
        self._argv = argv + self._own_flags()
        self._has_key = self._by_variable or added["api_key"] is not None
        self._process = None  # type: subprocess.Popen[bytes] | None
        self._started = 0.0
        self.asked = False
        self._group, self._short = "", False
        self._kills = None  # type: int | None
        self.log = None  # type: LogPump | None

    def _own_flags(self) -> list[str]:
        values = [("host", "127.0.0.1"), ("port", str(self.port)), ("alias", self.alias)]
        if not self._by_variable:
            values.append(("api_key", self.key))
        flags = []
        for name, value in values:
            spelled = self._added[name]
            flags += [spelled, value] if spelled else []
        return flags + ([self._added["metrics"]] if self._added["metrics"] else [])

    def shown_argv(self) -> list[str]:
        """The command line with the key hidden."""
        return [item.replace(self.key, "***") for item in self._argv]

    def start(self, folder: str, environment: dict[str, str], lock_fd: int, group: str = "") -> None:
        """Call from the main thread: the kernel ties the engine's life to the thread that made it."""
        log_path = os.path.join(folder, "server-%d.log" % self.number)
        target = os.fdopen(open_private(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
        reader, writer = os.pipe()
        self._group, self._kills = group, outside.memory_kills()
        if self._by_variable:
            environment = dict(environment, **{KEY_VARIABLE: self.key})
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", STEP, str(os.getpid()), cgroup.door_of(group)] + self._argv,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                env=environment,
                cwd=folder,
                pass_fds=(lock_fd,),
                start_new_session=True,
            )
        finally:
            os.close(writer)
        self._started = time.monotonic()
        self.log = LogPump(reader, target)
        self.log.start()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def died(self, within_s: float = 0.0) -> bool:
        """Whether it has ended on its own, waiting a moment where asked."""
        if self._process is None:
            return False
        deadline = time.monotonic() + within_s
        while self._process.poll() is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        return True

    def listener(self) -> str:
        """Who listens on the port: nobody, ours (every listener belongs to this engine), foreign, or unknown (the kernel does not say)."""
        found = proc.listening(self.port)
        if not found:
            return NOBODY if os.path.exists(proc.PROC + "/net/tcp") else UNKNOWN
        own = proc.sockets_of([self.pid] + [item.pid for item in proc.descendants(self.pid)])
        return OURS if found <= own else FOREIGN

    def wait_ready(self, limit_s: float, watch: Watch) -> float:
        """Seconds until it was healthy. Raises LoadFailed, ForeignPort, Stopped, OutOfTime."""
        deadline = time.monotonic() + limit_s
        listens = False
        while True:
            watch()
            self._must_live()
            if not listens:
                listens = self._listens()
            if listens and self.door.get("/health", key="", timeout=2.0)[0] == 200:
                self._must_be_ours()
                return time.monotonic() - self._started
            if time.monotonic() > deadline:
                raise LoadFailed("load_timeout", "The engine was not ready after %g s." % limit_s)
            watch.sleep(_HEALTH_EVERY_S if listens else _LISTEN_EVERY_S)

    def _must_live(self) -> None:
        if self.died():
            if proc.listening(self.port):
                raise ForeignPort()
            how = self.how_it_ended()
            short = self._lacked_memory() or self.was_out_of_memory()
            raise LoadFailed("out_of_memory" if short else "load_failed", "The engine ended while loading (%s)." % how)

    def _lacked_memory(self) -> bool:
        return self.log is not None and bool(_NO_MEMORY.search(self.log.tail(LOG_TAIL)))

    def was_out_of_memory(self) -> bool:
        """Whether the kernel ended it for lack of memory: a SIGKILL that was not ours while the kernel's count of such kills rose."""
        if self._process is None or self.asked or self._process.returncode != -signal.SIGKILL or self._kills is None:
            return False
        return (outside.memory_kills() or 0) > self._kills

    def _listens(self) -> bool:
        """Nothing is sent to the port before a process of ours listens there."""
        found = self.listener()
        if found == FOREIGN:
            raise ForeignPort()
        return found != NOBODY

    def _must_be_ours(self) -> None:
        """The engine knows its key and its name; a stranger that took the port does not."""
        found = self.listener()
        if found == FOREIGN:
            raise ForeignPort()
        if self._has_key and self.door.get("/props", key="not-the-key")[0] == 200:
            raise ForeignPort()
        if self._added["alias"]:
            status, body = self.door.get("/v1/models", key=None if found == OURS else "")
            if status == 200 and self.alias.encode("ascii") not in body:
                raise ForeignPort()

    def props(self) -> dict[str, Any]:
        """What /props says, trimmed; the chat template as its hash."""
        status, body = self.door.get("/props")
        try:
            raw = json.loads(body.decode("utf-8")) if status == 200 else {}
        except (ValueError, RecursionError):
            raw = {}
        if not isinstance(raw, dict):
            return {}
        kept = {key: raw.get(key) for key in ("total_slots", "build_info", "model_path")}
        settings = raw.get("default_generation_settings")
        kept["n_ctx"] = raw.get("n_ctx", settings.get("n_ctx") if isinstance(settings, dict) else None)
        template = raw.get("chat_template")
        kept["chat_template_sha256"] = (
            hashlib.sha256(template.encode("utf-8", "replace")).hexdigest() if isinstance(template, str) else None
        )
        return kept

    def stop(self, grace_s: float) -> list[int]:
        """Asks, waits, ends the group, then everything that is left below the agent. Returns what still lives."""
        if self._process is None:
            return []
        self.asked = not self.died()
        self._short = self.was_out_of_memory()
        end_group(self._process, grace_s)
        if self._group:
            cgroup.end(self._group)
        left = end_family()
        if self.log is not None:
            self.log.join(2.0)
        return left

    def exit_facts(self) -> dict[str, Any]:
        """Body of `server_exit`; call after `stop`."""
        code = self._process.returncode if self._process else None
        tail = self.log.tail(LOG_TAIL).decode("utf-8", "replace") if self.log else ""
        return {
            "server": self.number, "rc": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None, "how": "asked" if self.asked else "died",
            "log_bytes": self.log.total if self.log else 0, "log_tail": tail.replace(self.key, "***"),
            "out_of_memory": self._short, "peak_rss_mib": outside.largest_child_mib(),
        }  # fmt: skip

    def how_it_ended(self) -> str:
        """ "exit code 1" or "signal 9", with the last printed line."""
        code = self._process.returncode if self._process else 0
        how = "signal %d" % -code if code < 0 else "exit code %d" % code
        if self.was_out_of_memory():
            how += (
                ", the kernel ended it for lack of memory; the largest process of the run so far took %.0f MiB"
                % outside.largest_child_mib()
            )
        if self.log is not None:
            self.log.join(0.5)
            lines = self.log.tail(LOG_TAIL).decode("utf-8", "replace").replace(self.key, "***").strip().splitlines()
            how += ", last line: %s" % lines[-1][:300] if lines else ""
        return how
