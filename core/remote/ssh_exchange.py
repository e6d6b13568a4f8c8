"""Runs one command on an open channel: feeds stdin, drains both streams, keeps the deadline and the size limit."""

from __future__ import annotations

import time

from paramiko import Channel

from core.errors import CommandFailed, RemoteTimeout
from core.ports.host import Completed
from core.remote.ssh_errors import unreachable

OUTPUT_LIMIT = 1 << 20
_CHUNK = 1 << 16
_PAUSE_S = 0.01
# A child left in the background holds the streams open; its parent's exit status plus this silence is the end.
_HELD_OPEN_S = 0.5


class Exchange:
    """One command's streams until its end."""

    def __init__(self, channel: Channel, where: str, stdin: bytes, end: float) -> None:
        self._channel = channel
        self._where = where
        self._unsent = memoryview(stdin)
        self._end = end
        self._out = bytearray()
        self._err = bytearray()
        self._stdin_open = True

    def finish(self) -> Completed:
        """Exit code and output, or the RemoteError that says why there is none."""
        quiet_since = time.monotonic()
        while True:
            moved = self._feed() | self._drain()
            if len(self._out) + len(self._err) > OUTPUT_LIMIT:
                raise CommandFailed(f"{self._where}: the command printed more than {OUTPUT_LIMIT >> 20} MiB; it was given up.")
            now = time.monotonic()
            if moved:
                quiet_since = now
            elif self._ended(now - quiet_since):
                return self._completed()
            else:
                time.sleep(_PAUSE_S)
            if now > self._end:
                raise RemoteTimeout(f"{self._where}: the command did not end in time.", hint="It may still run on the box.")

    def _feed(self) -> bool:
        channel = self._channel
        if not self._stdin_open or channel.closed or channel.exit_status_ready():
            return False
        if not self._unsent:
            channel.shutdown_write()
            self._stdin_open = False
            return False
        if not channel.send_ready():
            return False
        try:
            sent = channel.send(self._unsent[:_CHUNK].tobytes())
        except OSError:
            if channel.closed:  # ended without reading its input: the exit status tells
                self._stdin_open = False
                return False
            raise
        self._unsent = self._unsent[sent:]
        return sent > 0

    def _drain(self) -> bool:
        moved = False
        if self._channel.recv_ready():
            self._out += self._channel.recv(_CHUNK)
            moved = True
        if self._channel.recv_stderr_ready():
            self._err += self._channel.recv_stderr(_CHUNK)
            moved = True
        return moved

    def _ended(self, quiet_s: float) -> bool:
        channel = self._channel
        if channel.recv_ready() or channel.recv_stderr_ready():
            return False
        if channel.closed:
            return True
        return channel.exit_status_ready() and (channel.eof_received or quiet_s > _HELD_OPEN_S)

    def _completed(self) -> Completed:
        rc = self._channel.recv_exit_status()
        if rc != -1:
            return Completed(rc, bytes(self._out), bytes(self._err))
        # Both a lost link and death by a signal give -1, and the link's flag falls a moment after its channels close.
        for _ in range(30):
            if not self._channel.get_transport().is_active():
                raise unreachable(self._where, "the connection was lost while a command ran.")
            time.sleep(_PAUSE_S)
        raise CommandFailed(f"{self._where}: the command ended without an exit code (killed by a signal).")
