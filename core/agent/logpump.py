"""Copies what an engine prints to its log file, byte for byte, with a limit on file and memory; keeps the last part at hand.

An engine prints a dozen lines around each request, one by one: to wake for every one of them would cost more than to read its tokens.
So the thread looks some twenty times a second while there is something, and whoever asks for the log reads what is waiting itself.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import threading
from typing import BinaryIO

HEAD = 32 << 20  # kept from the start
TAIL = 1 << 20  # kept from the end when there is more
_PAUSE_S = 0.05
_AT_ONCE = 1 << 16
_SET_PIPE_SIZE, _PIPE = 1031, 1 << 20  # room for what is printed meanwhile
_STATISTICS = re.compile(rb"^[^\n]{0,200}?statistics +([\w.-]+): [^\n]{0,2000}$", re.MULTILINE)


class LogPump(threading.Thread):
    """Reads `fd` until it ends. Several processes may hold the other end: `join` with a limit."""

    def __init__(self, fd: int, target: BinaryIO, head: int = HEAD, tail: int = TAIL) -> None:
        super().__init__(name="log", daemon=True)
        self._fd, self._target, self._head, self._keep = fd, target, head, tail
        self._lock = threading.Lock()
        self._tail = b""
        self._total = 0
        self._ended = False
        self._hurry = threading.Event()
        os.set_blocking(fd, False)
        try:
            fcntl.fcntl(fd, _SET_PIPE_SIZE, _PIPE)
        except OSError:
            pass  # a user's pipes may be limited: then the usual size has to do

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while not self._ended:
            poll.poll()
            if self._take():
                self._hurry.wait(_PAUSE_S)
        with self._lock, self._target as target:
            os.close(self._fd)
            self._write_rest(target)

    def join(self, timeout: float | None = None) -> None:
        """Waits for the end, and from then on without a pause."""
        self._hurry.set()
        super().join(timeout)

    def _take(self) -> bool:
        """What is waiting, a pipe full at most: who prints without end holds nobody up. Whether that was all."""
        with self._lock:
            for _ in range(_PIPE // _AT_ONCE):
                if self._ended:
                    break
                try:
                    chunk = os.read(self._fd, _AT_ONCE)
                except BlockingIOError:
                    return True
                except OSError:
                    chunk = b""
                self._ended = not chunk
                self._keep_chunk(chunk)
            return False

    def _keep_chunk(self, chunk: bytes) -> None:
        room = self._head - self._total
        self._total += len(chunk)
        self._tail = (self._tail + chunk)[-self._keep :]
        if room > 0:
            _put(self._target, chunk[:room])

    @property
    def total(self) -> int:
        """Bytes printed so far."""
        self._take()
        return self._total

    def _write_rest(self, target: BinaryIO) -> None:
        over = self._total - self._head
        if over > 0:
            rest = self._tail[-min(over, self._keep) :]
            if over > len(rest):
                _put(target, b"\n[... %d bytes left out ...]\n" % (over - len(rest)))
            _put(target, rest)

    def tail(self, size: int) -> bytes:
        self._take()
        return self._tail[-size:]

    def since(self, total: int) -> bytes:
        """What was printed after the log had `total` bytes, as far as it is kept."""
        self._take()
        with self._lock:
            new = self._total - total
            return self._tail[-new:] if new > 0 else b""

    def statistics_since(self, total: int) -> list[tuple[str, str]]:
        """(implementation, whole raw line) of every `statistics` line printed completely since then, in order."""
        whole = self.since(total).rpartition(b"\n")[0]
        return [(m.group(1).decode("ascii"), m.group(0).decode("utf-8", "replace").strip()) for m in _STATISTICS.finditer(whole)]


def _put(target: BinaryIO, data: bytes) -> None:
    try:
        target.write(data)
        target.flush()
    except OSError:
        pass  # a full disk ends the run through its journal, not here
