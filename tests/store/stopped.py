"""A child that writes worksheets until it is killed, and the folder that such a stop leaves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from core.store.open import open_store

AT = datetime(2026, 11, 29, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]


def worksheet(number: int) -> dict[str, object]:
    """The row of a worksheet known by its number."""
    body = {"share": number / 7, "text": "x" * 40}
    return {"worksheet_id": f"w-{number:08x}", "title": f"t{number}", "body": body, "created_by": "Ada", "created_at": AT}


def write_for_ever(path: str) -> None:
    """The child: one worksheet after the other; each number is printed once the store has said yes."""
    _, store = open_store(Path(path))
    number = len(store.worksheets.all())
    os.write(1, b"up\n")
    while True:
        number += 1
        store.worksheets.insert(worksheet(number))
        os.write(1, b"%d\n" % number)


def child(path: Path) -> subprocess.Popen[bytes]:
    """A started child that is past its opening."""
    word = f"from tests.store.stopped import write_for_ever as w; w({str(path)!r})"
    started = subprocess.Popen([sys.executable, "-c", word], cwd=ROOT, stdout=subprocess.PIPE)
    assert started.stdout is not None and started.stdout.readline() == b"up\n"
    return started


def _begin_and_kill(folder: str, moments: list[float]) -> None:
    """The child: begins one database after the other, each in a process of its own that is killed after so many seconds."""
    for number, moment in enumerate(moments):
        pid = os.fork()
        if pid == 0:
            open_store(Path(folder) / str(number) / "s.duckdb")
            time.sleep(60)
        time.sleep(moment)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def begun_and_killed(folder: Path, moments: list[float]) -> list[Path]:
    """Paths of databases whose first opening was killed after each of the given seconds."""
    word = f"from tests.store.stopped import _begin_and_kill as b; b({str(folder)!r}, {moments!r})"
    subprocess.run([sys.executable, "-c", word], cwd=ROOT, check=True, timeout=60)
    return [folder / str(number) / "s.duckdb" for number in range(len(moments))]


def kill(started: subprocess.Popen[bytes]) -> int:
    """SIGKILL; the last number that was acknowledged (0: none)."""
    started.send_signal(signal.SIGKILL)
    said = started.stdout.read() if started.stdout else b""
    started.wait(30)
    started.stdout.close()  # type: ignore[union-attr]
    return int(said.splitlines()[-1]) if said else 0


def stopped_store(folder: Path, rows: int) -> Path:
    """A database whose rows are still in its WAL, as a kill leaves it."""
    path = folder / "s.duckdb"
    started = child(path)
    assert started.stdout is not None
    while int(started.stdout.readline()) < rows:
        pass
    kill(started)
    return path


def copied(path: Path, to: Path) -> Path:
    """The database with its folder, elsewhere."""
    to.mkdir()
    for part in (path, Path(f"{path}.wal")):
        if part.exists():
            shutil.copy2(part, to / part.name)
    shutil.copytree(f"{path}.d", to / f"{path.name}.d")
    return to / path.name
