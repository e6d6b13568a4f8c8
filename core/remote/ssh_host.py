"""A host behind SSH: one connection per object, opened at need, files through one guarded SFTP client. Safe to use from many threads."""

from __future__ import annotations

import secrets
import shlex
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import paramiko
from paramiko import Channel, Transport

from core.errors import AccessRefused, CommandFailed, RemoteTimeout
from core.ports.host import Completed, Host
from core.remote.guards import check_argv, check_path
from core.remote.ssh_address import SshAddress
from core.remote.ssh_errors import translated, unreachable
from core.remote.ssh_exchange import Exchange
from core.remote.ssh_files import CountedFiles
from core.remote.ssh_link import DEFAULT_LIMITS, SshLimits, close_link, fetch_host_key, link_facts, open_link

__all__ = ["SshAddress", "SshHost", "SshLimits", "fetch_host_key"]

# sshd allows 10 sessions a connection by default and frees one only after its process ended.
_SESSIONS = 6
_SESSION_RETRY_S = 5.0
_REFUSALS, _SHUT_S = 3, 900.0
# What OpenSSH answers at most to one read; the library's default of 32 kB costs eight times the round trips.
_READ_BYTES = 255 * 1024


class SshHost(Host):
    """Commands and files of one account. After a failure the next call connects again; waiting between tries is the caller's part."""

    has_sessions = True

    def __init__(self, address: SshAddress, limits: SshLimits = DEFAULT_LIMITS) -> None:
        self.address = address
        self._limits = limits
        self._connecting = threading.Lock()
        self._files_lock = threading.Lock()
        self._sessions = threading.BoundedSemaphore(_SESSIONS)
        self._live: Transport | None = None
        self._sftp: CountedFiles | None = None
        self._closings = 0
        self._refused: AccessRefused | None = None
        self._refusals, self._shut_until = 0, 0.0

    def run(self, argv: list[str], *, deadline_s: float = 30.0, stdin: bytes = b"") -> Completed:
        """The login shell gets the list quoted as one string. Past the deadline the command itself may go on."""
        check_argv(argv)
        end = time.monotonic() + deadline_s
        if not self._sessions.acquire(timeout=deadline_s):
            raise RemoteTimeout(f"{self.address.where}: all {_SESSIONS} sessions stayed in use.")
        try:
            with translated(self.address.where):
                channel = self._open_channel(end)
                try:
                    channel.settimeout(self._limits.answer_s)
                    channel.exec_command(shlex.join(argv))
                    return Exchange(channel, self.address.where, stdin, end).finish()
                finally:
                    channel.close()
        finally:
            self._sessions.release()

    def home(self) -> str:
        with self._files() as sftp:
            return sftp.normalize(".")

    def make_folder(self, path: str) -> None:
        check_path(path)
        with self._files(path) as sftp:
            self._make(sftp, path)

    def put(self, data: bytes, path: str) -> None:
        check_path(path)
        aside = f"{path}.{secrets.token_hex(8)}.part"
        with self._files(path) as sftp, ExitStack() as unfinished:
            unfinished.callback(self._discard, sftp, aside)
            with sftp.open(aside, "wx") as file:
                file.chmod(0o600)
                file.set_pipelined(True)
                file.write(data)
            written = sftp.stat(aside).st_size
            if written != len(data):
                raise CommandFailed(f"{self.address.where}: {written} of {len(data)} bytes of {path} arrived. Is the disk full?")
            sftp.posix_rename(aside, path)
            unfinished.pop_all()  # it has its name: nothing is discarded

    def read(self, path: str, offset: int, limit: int) -> bytes:
        check_path(path)
        with self._files(path, max(limit, 0)) as sftp, sftp.open(path, "rb") as file:
            file.MAX_REQUEST_SIZE = _READ_BYTES
            file.seek(offset)
            return file.read(max(limit, 0))

    def size(self, path: str) -> int | None:
        check_path(path)
        with self._files(path) as sftp:
            try:
                return sftp.stat(path).st_size
            except FileNotFoundError:
                return None

    def link(self) -> dict[str, Any] | None:
        live = self._live
        return None if live is None or not live.is_active() else link_facts(live)

    def close(self) -> None:
        self._closings += 1
        self._drop(self._live)

    def _link(self) -> tuple[Transport, bool]:
        """The connection and whether it was opened just now."""
        with self._connecting:
            link, before = self._live, self._closings
            if link is not None and link.is_active():
                return link, False
            self._drop(link)
            link = self._sign_in()
            if self._closings != before:
                close_link(link)
                raise unreachable(self.address.where, "the app closed the connection while it was being opened.")
            self._live = link
            return link, True

    def forgive(self) -> bool:
        held, self._refusals = self._refusals >= _REFUSALS, 0
        return held

    def _sign_in(self) -> Transport:
        """A new connection. After `_REFUSALS` refused sign-ins in a row none is tried for a while: accounts get locked by more."""
        if self._refused is not None and self._refusals >= _REFUSALS and time.monotonic() < self._shut_until:
            raise AccessRefused(
                f"{self._refused.message} That was refused {self._refusals} times in a row; the app does not sign in again "
                f"for {(self._shut_until - time.monotonic()) / 60:.0f} minutes.",
                hint=f"{self._refused.hint} Then press Check on the box's card: that tries at once.",
            )
        try:
            link = open_link(self.address, self._limits)
        except AccessRefused as refusal:
            self._refusals, self._refused = self._refusals + 1, refusal
            self._shut_until = time.monotonic() + _SHUT_S
            raise
        self._refusals = 0
        return link

    def _drop(self, link: Transport | None) -> None:
        if link is None:
            return
        if self._live is link:
            self._live = None
        close_link(link)

    def _open_channel(self, end: float) -> Channel:
        last_try = min(end, time.monotonic() + _SESSION_RETRY_S)
        while True:
            link, fresh = self._link()
            try:
                return link.open_session(timeout=self._limits.channel_s)
            except paramiko.ChannelException:  # MaxSessions: slots come back a moment after a command's end
                if time.monotonic() > last_try:
                    raise
                self._lend_files_session()
                time.sleep(0.1)
            except (paramiko.SSHException, EOFError, OSError):
                self._drop(link)  # silent or dead; nothing was asked yet, so one new connection is safe
                if fresh:
                    raise

    def _lend_files_session(self) -> None:
        """Gives the idle SFTP session's slot to a command, for boxes that allow one session."""
        if self._files_lock.acquire(blocking=False):
            try:
                self._end_files()
            finally:
                self._files_lock.release()

    def _end_files(self) -> None:
        if self._sftp is not None:
            self._sftp.close()
            self._sftp = None

    @contextmanager
    def _files(self, path: str = ".", content: int = 0) -> Iterator[CountedFiles]:
        # Two threads on one SFTP client wait for each other's answers for ever: one at a time.
        with self._files_lock, translated(self.address.where):
            sftp = self._open_files()
            sftp.expect(content)
            try:
                yield sftp
            except (FileNotFoundError, CommandFailed):
                raise  # answers: requests and replies are still in step
            except PermissionError as fault:
                raise CommandFailed(f"{self.address.where}: no right to use {path}.", hint="Check its owner and mode.") from fault
            except (
                BaseException
            ):  # whatever it was, an interrupt too: a reply may still be under way, and the next call would take it for its own
                self._end_files()
                raise

    def _open_files(self) -> CountedFiles:
        if self._sftp is not None:
            channel = self._sftp.get_channel()
            if channel is not None and not channel.closed and channel.get_transport() is self._live:
                return self._sftp
            self._end_files()
        with ExitStack() as opened:
            channel = self._open_channel(time.monotonic() + self._limits.answer_s)
            opened.callback(channel.close)
            channel.settimeout(self._limits.answer_s)
            channel.invoke_subsystem("sftp")
            self._sftp = CountedFiles(channel)
            opened.pop_all()
            return self._sftp

    def _make(self, sftp: CountedFiles, path: str) -> None:
        try:
            mode = sftp.stat(path).st_mode or 0
        except FileNotFoundError:
            parent = path.rstrip("/").rpartition("/")[0]
            if parent:
                self._make(sftp, parent)
            self._make_one(sftp, path)
            return
        if not stat.S_ISDIR(mode):
            raise CommandFailed(f"{self.address.where}: {path} exists and is not a folder.")

    def _make_one(self, sftp: CountedFiles, path: str) -> None:
        try:
            sftp.mkdir(path, 0o700)
        except (FileNotFoundError, PermissionError):
            raise
        except OSError:
            if not stat.S_ISDIR(sftp.stat(path).st_mode or 0):  # another caller may have made it first
                raise

    def _discard(self, sftp: CountedFiles, path: str) -> None:
        try:
            sftp.remove(path)
        except (OSError, EOFError, paramiko.SSHException):
            return  # gone with the link, or never made; a side name is never read
