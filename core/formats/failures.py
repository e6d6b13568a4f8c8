"""What went wrong while loading, and whether it mattered: the last state decides, not the first error.

Not fatal: pinned memory refused (host reads get slower), a retry without pipeline parallelism, warnings during the fit.
"""

from __future__ import annotations

import re

from core.formats.lines import Line
from core.formats.numbers import count, number

MIB = 1024 * 1024
_ALLOCATING = re.compile(r"allocating +([\d.]+) MiB on device (\d+): (\w+) failed")
_BUFFER = re.compile(r"(\w{1,64}): failed to allocate (\S{1,128}) buffer of size (\d+)")
_UNABLE = re.compile(r"unable to allocate (\S{1,128}) buffer")
_PINNED = re.compile(r"failed to allocate +([\d.]+) Mi?B of pinned memory")
_PATH = re.compile(r"(?:failed to load model|loading model),? '([^']{1,4096})'")
_WARNINGS = (
    "pinned memory",
    "retrying without pipeline",
    "failed to fit params",
    "this warning is normal",
    "this is normal during memory fitting",
)
_FATAL = (
    "failed to load model",
    "error loading model",
    "failed to create context",
    "failed to create_context",
    "failed to create MTP context",
    "failed to load draft model",
    "failed to initialize the context",
    "failed to allocate compute",
    "failed to allocate buffer for kv cache",
    "exiting due to model loading error",
)
_READY = (
    "server is listening",
    "listening on http",
    "HTTP server listening",
    "HTTP server is listening",
    "model loaded",
    "all slots are idle",
)
_ALLOCATORS = {"cudaMalloc": "CUDA", "hipMalloc": "ROCm"}


class StateFacts:
    """Collects failures and signs of life, in order; sizes in MiB and bytes, times in seconds since the log began."""

    def __init__(self) -> None:
        self.failed_at: str | None = None
        self.fail_device: str | None = None
        self.fail_mib: float | None = None
        self.fail_bytes: int | None = None
        self.first_error_s: float | None = None
        self.error_lines: int | None = None
        self.pinned_mib: float | None = None
        self.model_path: str | None = None
        self.ready = False
        self.failing = False
        self.unresolved = False
        self._pending_mib: float | None = None

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "fail": "on_failure",
            "rror": "on_failure",
            " E ": "on_failure",
            "unable to": "on_failure",
            "listening": "on_ready",
            "load": "on_load",
            "idle": "on_ready",
            "retrying": "on_retry",
        }

    def on_failure(self, line: Line) -> None:
        """Counts error lines and takes the request that failed."""
        text = line.text
        if line.level is not None:
            self.error_lines = self.error_lines or 0
        if line.level == "E":
            self.error_lines = (self.error_lines or 0) + 1
            if self.first_error_s is None:
                self.first_error_s = line.stamp_s
        pinned = _PINNED.search(text)
        if pinned:
            self.pinned_mib = (self.pinned_mib or 0.0) + (number(pinned[1]) or 0.0)
        if any(sign in text for sign in _WARNINGS):
            return
        if self._allocation(text):
            self._fail()
        elif any(sign in text for sign in _FATAL):
            self._fail()
            if self.failed_at is None:
                self.failed_at = "compute" if "context" in text or "compute" in text or "kv cache" in text else "weights"
        path = _PATH.search(text)
        if path:
            self.model_path = self.model_path or path[1]

    def _fail(self) -> None:
        self.failing, self.unresolved, self.ready = True, True, False

    def _allocation(self, text: str) -> bool:
        """Reads one allocation failure; True where the line is one."""
        asked = _ALLOCATING.search(text)
        if asked:
            self.fail_mib = number(asked[1])
            self.fail_device = _ALLOCATORS.get(asked[3], "GPU") + asked[2]
            return True
        refused = _BUFFER.search(text)
        if refused:
            self.fail_device, self.fail_bytes = refused[2], count(refused[3])
            self.failed_at = "compute" if "gallocr" in refused[1] else "weights"
            if self.fail_bytes is not None and (self.fail_mib is None or not self.failing):
                self.fail_mib = round(self.fail_bytes / MIB, 2)
            return True
        unable = _UNABLE.search(text)
        if unable:
            self.failed_at, self.fail_device = "weights", self.fail_device or unable[1]
        return unable is not None

    def on_ready(self, line: Line) -> None:
        """A sign that the server is up."""
        if any(sign in line.text for sign in _READY):
            self.ready, self.failing = True, False

    def on_load(self, line: Line) -> None:
        """Model path and `model loaded`."""
        self.on_ready(line)
        path = _PATH.search(line.text)
        if path and self.model_path is None and "draft" not in line.text:
            self.model_path = path[1]

    def on_retry(self, line: Line) -> None:
        """A second try begins: what failed before no longer decides."""
        self.progress()

    def progress(self) -> None:
        """Something was allocated after all: earlier failures are settled."""
        self.failing = self.unresolved = False

    def status(self) -> str | None:
        """`failed`, `degraded` (up after a failure that no retry settled), `loaded`; None where the log ends before."""
        if self.failing:
            return "failed"
        if self.ready:
            return "degraded" if self.unresolved else "loaded"
        return None

    def warnings(self) -> list[str]:
        """The request in MiB and in bytes must be the same one."""
        if (
            self.fail_mib is not None
            and self.fail_bytes is not None
            and abs(self.fail_bytes / MIB - self.fail_mib) > 0.01 * self.fail_mib + 0.01
        ):
            return [f"The failed request is printed as {self.fail_mib} MiB and as {self.fail_bytes} bytes, which do not agree."]
        return []
