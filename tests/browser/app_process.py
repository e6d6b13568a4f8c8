"""The app as its own process, the way `make run` starts it, so that a test can kill and restart it; and a Chromium to look at it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.needs import chromium

ROOT = Path(__file__).resolve().parents[2]
BROWSER_ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def launch_options() -> dict[str, object]:
    """How Playwright starts the machine's own browser."""
    return {"executable_path": chromium(), "args": BROWSER_ARGS}


class App:
    """`streamlit run app.py` on a free port over its own data folder.

    `local_token`: "" prints a one-time link, "off" leaves the door open.
    """

    def __init__(self, folder: Path, *, local_token: str = "off", options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.local_token = local_token
        self.options = options
        self.settings: dict[str, str] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> Path:
        return self.folder / "walk.duckdb"

    def environment(self) -> dict[str, str]:
        """The app's own settings: database, local data, a short grace for Stop."""
        own = {
            "DRAFTLEDGER_DB": str(self.database),
            "DRAFTLEDGER_LOCAL_DIR": str(self.folder / "local"),
            "DRAFTLEDGER_GRACE_S": "1",
            "DRAFTLEDGER_LOCAL_TOKEN": self.local_token,
        }
        return {**os.environ, **own, **self.settings}

    def start(self) -> None:
        """Starts and waits for /healthz."""
        with (self.folder / "app.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port), *self.options],
                cwd=ROOT,
                env=self.environment(),
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the app did not come up:\n" + (self.folder / "app.log").read_text()[-3000:])

    def kill(self) -> None:
        """kill -9: no handler runs."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Ends it as a person would."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)

    def ours(self) -> dict[int, str]:
        """Living agents and engines that belong to this app's data folder: pid → command line."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                line = b" ".join(words).decode(errors="replace")
                if str(self.folder) in line and ("launcher.py" in line or ".pyz" in line):
                    found[int(entry.name)] = line
        return found

    def end_ours(self) -> dict[int, str]:
        """Ends what a failed test left running, by pid; answers with what it was."""
        left = self.ours()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left
