"""Copies what an engine prints to its log file, byte for byte, with a limit on file and memory; keeps the last part at hand."""

from __future__ import annotations

import os
import re
import threading
from typing import BinaryIO

HEAD = 32 << 20  # kept from the start
TAIL = 1 << 20  # kept from the end when there is more
_STATISTICS = re.compile(rb"^[^\n]{0,200}?statistics +([\w.-]+): [^\n]{0,2000}$", re.MULTILINE)


class LogPump(threading.Thread):
    """Reads `fd` until it ends. Several processes may hold the other end: `join` with a limit."""

    def __init__(self, fd: int, target: BinaryIO, head: int = HEAD, tail: int = TAIL) -> None:
        super().__init__(name="log", daemon=True)
        self._fd, self._target, self._head, self._keep = fd, target, head, tail
        self._lock = threading.Lock()
        self._tail = b""
        self.total = 0

    def run(self) -> None:
        with os.fdopen(self._fd, "rb", buffering=0) as source, self._target as target:
            while True:
                try:
                    chunk = source.read(1 << 16)
                except OSError:
                    break
                if not chunk:
                    break
                self._take(chunk, target)
            self._write_rest(target)

    def _take(self, chunk: bytes, target: BinaryIO) -> None:
        with self._lock:
            room = self._head - self.total
            self.total += len(chunk)
            self._tail = (self._tail + chunk)[-self._keep :]
        if room > 0:
            _put(target, chunk[:room])

    def _write_rest(self, target: BinaryIO) -> None:
        over = self.total - self._head
        if over > 0:
            rest = self._tail[-min(over, self._keep) :]
            if over > len(rest):
                _put(target, b"\n[... %d bytes left out ...]\n" % (over - len(rest)))
            _put(target, rest)

    def tail(self, size: int) -> bytes:
        with self._lock:
            return self._tail[-size:]

    def since(self, total: int) -> bytes:
        """What was printed after the log had `total` bytes, as far as it is kept."""
        with self._lock:
            new = self.total - total
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
