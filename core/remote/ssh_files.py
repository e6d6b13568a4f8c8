"""The file client of one connection, counted: a box that answers more than it was asked for is given up, whatever it sends."""

from __future__ import annotations

from typing import Any

from paramiko import SFTPClient, SFTPError

_OVERHEAD = 1 << 20  # bytes of replies that an operation may bring beside the content that it asks for


class CountedFiles(SFTPClient):
    """`expect` begins an operation; what comes after it is counted against what it asked for. Silence ends by the channel's own timeout."""

    _left = _OVERHEAD

    def expect(self, content: int = 0) -> None:
        """An operation begins that asks for so many bytes of content."""
        self._left = 2 * content + _OVERHEAD

    def _read_packet(self) -> tuple[Any, bytes]:
        kind, data = super()._read_packet()  # the library takes no packet above 16 MB
        self._left -= len(data) + 5
        if self._left < 0:
            raise SFTPError("it sends more than it was asked for")
        return kind, data
