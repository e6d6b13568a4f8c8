"""This machine as a host: the same calls over subprocess and files, so that one agent protocol serves both."""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, cast

from core.errors import CommandFailed, RemoteError, RemoteTimeout
from core.ports.host import Completed, Host
from core.remote.guards import check_argv, check_path
from core.remote.ssh_exchange import OUTPUT_LIMIT

_CHUNK = 1 << 16
_HELD_OPEN_S = 0.5
# What a login would give. The app's own variables (tokens, passphrases) stay with the app.
_KEPT = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH"}
_KEPT_PREFIXES = ("CUDA_", "HIP_", "ROCR_", "NVIDIA_")


def clean_environment() -> dict[str, str]:
    """The part of the app's environment that commands may see."""
    return {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


def _failed(fault: OSError, path: str) -> RemoteError:
    return CommandFailed(f"This machine: {path}: {fault.strerror or fault}.", hint="Check free space and rights in the folder.")


class LocalHost(Host):
    """Commands run in the home folder with a clean environment, as a login would run them."""

    def run(self, argv: list[str], *, deadline_s: float = 30.0, stdin: bytes = b"") -> Completed:
        """Past the deadline the command's process group is killed (a started agent has left that group)."""
        check_argv(argv)
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,  # nothing may wait in a buffer of ours when a stream is closed
                cwd=self.home(),
                env=clean_environment(),
                start_new_session=True,
            )
        except FileNotFoundError:
            return Completed(127, b"", f"{argv[0]}: not found\n".encode())  # what a login shell answers
        except PermissionError:
            return Completed(126, b"", f"{argv[0]}: permission denied\n".encode())
        except OSError as fault:
            raise _failed(fault, argv[0]) from fault
        pump = _Pump(process, stdin, time.monotonic() + deadline_s)
        try:
            return pump.finish()
        finally:
            pump.close()

    def home(self) -> str:
        return os.path.realpath(os.path.expanduser("~"))

    def make_folder(self, path: str) -> None:
        check_path(path)
        try:
            self._make(Path(path))
        except OSError as fault:
            raise _failed(fault, path) from fault

    def put(self, data: bytes, path: str) -> None:
        check_path(path)
        aside = f"{path}.{secrets.token_hex(8)}.part"
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
        except FileNotFoundError:
            raise
        except OSError as fault:
            Path(aside).unlink(missing_ok=True)
            raise _failed(fault, path) from fault

    def read(self, path: str, offset: int, limit: int) -> bytes:
        check_path(path)
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(max(limit, 0))
        except FileNotFoundError:
            raise
        except OSError as fault:
            raise _failed(fault, path) from fault

    def size(self, path: str) -> int | None:
        check_path(path)
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise _failed(fault, path) from fault

    def close(self) -> None:
        """Nothing is held between calls."""

    def _make(self, path: Path) -> None:
        if path.is_dir():
            return
        if path.parent != path:
            self._make(path.parent)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if not path.is_dir():
                raise


class _Pump:
    """A local command's streams until its end: both drained, stdin fed, deadline and size kept."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, end: float) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._unsent = memoryview(stdin)
        self._end = end
        self._kept = {process.stdout: bytearray(), process.stderr: bytearray()}
        self._selector = selectors.DefaultSelector()
        for stream in self._kept:
            self._selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        if stdin:
            self._selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()

    def finish(self) -> Completed:
        """Exit code and output, or the RemoteError that says why there is none."""
        quiet_since = time.monotonic()
        while self._selector.get_map():
            ready = self._selector.select(timeout=0.05)
            for key, _ in ready:
                self._move(cast(IO[bytes], key.fileobj))
            if sum(map(len, self._kept.values())) > OUTPUT_LIMIT:
                raise CommandFailed(f"This machine: the command printed more than {OUTPUT_LIMIT >> 20} MiB; it was ended.")
            now = time.monotonic()
            if ready:
                quiet_since = now
            elif self._process.poll() is not None and now - quiet_since > _HELD_OPEN_S:
                break  # a child left in the background holds the streams
            if now > self._end:
                raise self._late()
        return self._completed()

    def close(self) -> None:
        """Ends what is left of the command and gives its streams back."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._selector.close()
        for stream in (self._process.stdin, *self._kept):
            if stream is not None:
                stream.close()

    def _move(self, stream: IO[bytes]) -> None:
        if stream is self._process.stdin:
            self._feed()
            return
        data = os.read(stream.fileno(), _CHUNK)
        self._kept[stream] += data
        if not data:
            self._selector.unregister(stream)

    def _feed(self) -> None:
        assert self._process.stdin
        try:
            sent = os.write(self._process.stdin.fileno(), self._unsent[:_CHUNK])
        except BrokenPipeError:  # ended without reading its input: the exit code tells
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._selector.unregister(self._process.stdin)
            self._process.stdin.close()

    def _late(self) -> RemoteTimeout:
        return RemoteTimeout("This machine: the command did not end in time and was ended.")

    def _completed(self) -> Completed:
        try:
            rc = self._process.wait(timeout=max(0.0, self._end - time.monotonic()))
        except subprocess.TimeoutExpired as fault:
            raise self._late() from fault
        if rc < 0:
            raise CommandFailed(f"This machine: the command was killed by signal {-rc}.")
        out, err = self._kept.values()
        return Completed(rc, bytes(out), bytes(err))
