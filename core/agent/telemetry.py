"""What the box does while it is measured, about once a second: GPU memory, clock, power, heat, throttling, host load, the engine's memory.

One thread of its own asks; whoever needs a reading now waits for it with a limit. `telemetry.csv` has every reading of the run, a
repetition those that fell into it. What cannot be read is empty, never 0; without a GPU its fields are n/a.
"""

from __future__ import annotations

import csv
import os
import shutil
import threading
import time
from typing import Any, Callable

from core.agent import boxfacts, outside, proc
from core.agent.files import open_private

EVERY_S = 1.0
LIMIT_S = 2.0  # for one answer of nvidia-smi
GPU_WAIT_S, GPU_LEAST_S, GPU_SLACK_MIB = 10.0, 2.0, 200.0
_AGAIN_S = 30.0  # after it hung or failed: asked anew so much later
_LARGEST = 32 << 20
_KEPT = 7200
_MOST_GPUS = 64
_GPU = ("gpu", "used_mib", "sm_mhz", "power_w", "temp_c")
COLUMNS = ("wall", "mono_ns", "state") + _GPU + ("throttle", "host_load_1m", "engine_rss_mib", "why")
_QUERY = "index,memory.used,clocks.sm,power.draw,temperature.gpu,"
_SPELLINGS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_REASONS = (
    (0x4, "power cap"), (0x8, "hardware slowdown"), (0x10, "sync boost"), (0x20, "software thermal"), (0x40, "hardware thermal"),
    (0x80, "power brake"), (0x100, "display clock"),
)  # fmt: skip
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 1048576.0


class Telemetry:
    """`state`: of the box's GPUs, present | none | unknown. `engine_pid`: set by whoever measures; 0 before the first."""

    def __init__(self, folder: str, state: str, *, every_s: float = EVERY_S) -> None:
        self._state, self._every_s = state, every_s
        self.engine_pid = 0
        self._file = os.fdopen(open_private(os.path.join(folder, "telemetry.csv"), os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w")
        self._ask = threading.Condition()
        self._wanted = self._done = 0
        self._ended = False
        self._spelling = 0
        self._silent_until, self._why = 0.0, ""
        self.readings = []  # type: list[dict[str, Any]]
        self._write(",".join(COLUMNS))
        self._thread = threading.Thread(target=self._loop, name="telemetry", daemon=True)
        self._thread.start()

    def reading(self) -> dict[str, Any] | None:
        """A fresh reading; None when there is none within the limit."""
        number = self.nudge()
        with self._ask:
            self._ask.wait_for(lambda: self._done >= number or self._ended, 2 * LIMIT_S + 1.0)
            return self.readings[-1] if self._done >= number and self.readings else None

    def still_held_mib(self, limit_s: float = GPU_WAIT_S) -> float | None:
        """GPU memory in use above the first reading, MiB, 0 when it is back within 200 MiB; None where it cannot be told.

        A driver gives memory back a moment after a process: looked at until it is, or the limit is over.
        """
        return _still_over(_used(self.readings[0]) if self.readings else None, lambda: _used(self.reading() or {}), limit_s)

    def nudge(self) -> int:
        """Asks for a reading now without waiting for it."""
        with self._ask:
            self._wanted += 1
            self._ask.notify_all()
            return self._wanted

    def between(self, begun_ns: int, ended_ns: int) -> list[dict[str, Any]]:
        """Readings that were taken while something ran."""
        with self._ask:
            return [item for item in self.readings if item["began_ns"] < ended_ns and item["ended_ns"] > begun_ns]

    def stop(self) -> None:
        with self._ask:
            self._ended = True
            self._ask.notify_all()
        self._thread.join(2 * LIMIT_S)
        if not self._thread.is_alive():
            self._file.close()

    def _loop(self) -> None:
        while True:
            with self._ask:
                self._ask.wait_for(lambda: self._wanted > self._done or self._ended, self._every_s)
                if self._ended:
                    return
                number = self._wanted
            found = self._read()
            with self._ask:
                self.readings = self.readings[-_KEPT:] + [found]
                self._done = number
                self._ask.notify_all()
            for row in rows_of(found):
                self._write(",".join(_cell(row[name]) for name in COLUMNS))

    def _read(self) -> dict[str, Any]:
        found = {"wall": time.time(), "began_ns": time.monotonic_ns(), "state": self._state, "gpus": [], "others": None, "why": ""}  # type: dict[str, Any]
        if self._state == "present":
            found["gpus"], found["why"] = self._gpus()
            if found["gpus"]:
                found["others"] = strangers(outside.others_on_gpu("present", LIMIT_S))
        found["host_load_1m"], found["engine_rss_mib"] = boxfacts.load_1m(), rss_mib(self.engine_pid)
        found["ended_ns"] = time.monotonic_ns()
        return found

    def _gpus(self) -> tuple[list[dict[str, Any]], str]:
        if time.monotonic() < self._silent_until:
            return [], self._why
        tool = shutil.which("nvidia-smi")
        if tool is None:
            return [], "nvidia-smi is not there any more"
        for spelling in range(self._spelling, len(_SPELLINGS)):
            code, text, why = outside.ask([tool, "--query-gpu=" + _QUERY + _SPELLINGS[spelling], "--format=csv,noheader,nounits"], LIMIT_S)
            found = [row for row in map(gpu_of, text.splitlines()) if row is not None] if code == 0 else []
            if found:
                self._spelling = spelling
                return found, ""
            if code is None or code < 0:
                break  # it hung, or was ended together with an engine
        if code is None or code > 0 or text.strip():
            self._silent_until = time.monotonic() + _AGAIN_S
        self._why = why or ("exit code %s" % code if code else "no row that can be read")
        return [], self._why

    def _write(self, line: str) -> None:
        try:
            if self._file.tell() < _LARGEST:
                self._file.write(line + "\n")
                self._file.flush()
        except (OSError, ValueError):
            pass  # a full disk ends the run through its journal, not here


def _still_over(first: list[float] | None, now_used: Callable[[], list[float] | None], limit_s: float) -> float | None:
    deadline = time.monotonic() + limit_s
    while first is not None:
        now = now_used()
        if now is None or len(now) != len(first):
            return None
        over = max(now[gpu] - first[gpu] for gpu in range(len(first)))
        if over <= GPU_SLACK_MIB:
            return 0.0
        if time.monotonic() > deadline:
            return over
        time.sleep(0.2)
    return None


def held_since_start(folder: str, limit_s: float = GPU_WAIT_S) -> float | None:
    """As `still_held_mib`, for whoever comes after the agent: the first reading is taken from the run's telemetry.csv."""
    return _still_over(_first_used(folder), _used_now, limit_s)


def _first_used(folder: str) -> list[float] | None:
    try:
        with os.fdopen(open_private(os.path.join(folder, "telemetry.csv"), os.O_RDONLY), encoding="utf-8", errors="replace") as stream:
            rows = list(csv.DictReader(stream.readline() for _ in range(_MOST_GPUS)))
    except (OSError, csv.Error):
        return None
    return _used({"gpus": [{"used_mib": _number(row["used_mib"] or "")} for row in rows if row["mono_ns"] == rows[0]["mono_ns"]]})


def _used_now() -> list[float] | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    code, text, _ = outside.ask([tool, "--query-gpu=memory.used", "--format=csv,noheader,nounits"], LIMIT_S)
    return _used({"gpus": [{"used_mib": _number(line.strip())} for line in text.splitlines()]}) if code == 0 else None


def _used(reading: dict[str, Any]) -> list[float] | None:
    """Memory in use of each GPU, None where one of them is not told."""
    found = [row["used_mib"] for row in reading.get("gpus", [])]
    return found if found and None not in found else None


def gpu_of(line: str) -> dict[str, Any] | None:
    """One row of nvidia-smi; a field it does not know ([N/A], [Not Supported]) is None. None for what is no such row."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != len(_GPU) + 1 or not parts[0].isdigit():
        return None
    used, clock, power, heat = [_number(part) for part in parts[1:-1]]
    return {
        "gpu": int(parts[0]), "used_mib": used, "sm_mhz": clock, "power_w": power, "temp_c": heat, "throttle": throttle_of(parts[-1]),
    }  # fmt: skip


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e7 else None


def throttle_of(text: str) -> list[str] | None:
    """Why the clock is held down, from the bit mask; idling and clocks set by hand are no throttling. None where it is not told."""
    try:
        mask = int(text, 16)
    except ValueError:
        return None
    return [name for bit, name in _REASONS if mask & bit]


def strangers(listed: Any) -> list[dict[str, Any]] | None:
    """Those on the GPU that are not of this run. None where it cannot be told, also where the driver names processes of another space."""
    if not isinstance(listed, list):
        return None
    own = {os.getpid()} | {item.pid for item in proc.descendants(os.getpid())} if listed else set()
    unknown = [item for item in listed if item["pid"] not in own and proc.look(item["pid"]) is None]
    others = [item for item in listed if item["pid"] not in own and item not in unknown]
    return others if others or not unknown else None


def rss_mib(pid: int) -> float | None:
    """Resident memory of one process."""
    try:
        with open("/proc/%d/statm" % pid, "rb", buffering=0) as stream:  # without a text layer: a quarter of its cost, at every reading
            return round(int(stream.read(256).split()[1]) * _PAGE_MIB, 1)
    except (OSError, ValueError, IndexError):
        return None


def rows_of(reading: dict[str, Any]) -> list[dict[str, Any]]:
    """A reading as rows, one for each GPU; one row without GPU figures where there are none."""
    shared = {"wall": round(reading["wall"], 3), "mono_ns": reading["began_ns"], "state": reading["state"], "why": reading["why"],
              "host_load_1m": reading["host_load_1m"], "engine_rss_mib": reading["engine_rss_mib"]}  # fmt: skip
    blank = "n/a" if reading["state"] == "none" else None
    return [dict(shared, **item) for item in reading["gpus"] or [dict.fromkeys(_GPU + ("throttle",), blank)]]


def _cell(value: Any) -> str:
    text = "" if value is None else ("; ".join(value) or "none") if isinstance(value, list) else str(value)
    return '"%s"' % text.replace('"', "'") if "," in text or "\n" in text else text
