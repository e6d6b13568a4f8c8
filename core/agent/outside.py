"""Short commands with a hard limit: an engine's --version and --help, nvidia-smi."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from typing import Any

HELP_LIMIT_S = 10.0
GPU_LIMIT_S = 5.0
_MAX_OUTPUT = 1 << 20
_GPU_DEVICES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


def ask(argv: list[str], limit_s: float, env: dict[str, str] | None = None) -> tuple[int | None, str, str]:
    """(exit code, output, why not): code None when it did not start or was not done in time. Both streams together, 1 MiB at most.

    The output goes to a file: a child that outlives its parent could hold a pipe open for ever.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env, start_new_session=True)
        except (OSError, ValueError) as error:
            return None, "", "cannot be started: %s" % error
        why = ""
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            why = "no answer within %g s" % limit_s
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass  # nothing of it is left
        process.wait()
        output.seek(0)
        text = output.read(_MAX_OUTPUT).decode("utf-8", "replace")
    return (None if why else process.returncode), text, why


def engine_texts(argv: list[str], env: dict[str, str]) -> dict[str, Any]:
    """{"ok", "version_text", "help_text", "error"} of an engine's command line."""
    facts = {"ok": False, "version_text": "", "help_text": "", "error": ""}  # type: dict[str, Any]
    for name in ("version", "help"):
        code, text, why = ask(argv + ["--" + name], HELP_LIMIT_S, env)
        facts[name + "_text"] = text
        if code != 0:
            facts["error"] = "--%s: %s" % (name, why or "exit code %s: %s" % (code, text.strip()[-300:]))
            return facts
    facts["ok"] = "--" in facts["help_text"]
    if not facts["ok"]:
        facts["error"] = "--help lists no flags."
    return facts


def memory_kills() -> int | None:
    """How often the kernel ended a process for lack of memory since boot, of the whole machine or of one group; None where not told."""
    try:
        with open("/proc/vmstat", encoding="ascii") as stream:
            return next((int(line.split()[1]) for line in stream if line.startswith("oom_kill ")), None)
    except (OSError, ValueError):
        return None


def largest_child_mib() -> float:
    """Largest resident memory of any process that this one started and that is over, MiB."""
    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024.0, 1)


def gpus() -> dict[str, Any]:
    """present, none or unknown: a tool that is missing, hangs or fails proves nothing where a device is there."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        there = [path for path in _GPU_DEVICES if os.path.exists(path)]
        if there:
            return _gpu_state("unknown", "%s is there, but no nvidia-smi." % there[0])
        return _gpu_state("none", "No nvidia-smi and no GPU device.")
    code, text, why = ask([tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"], GPU_LIMIT_S)
    if code != 0:
        if "No devices were found" in text:
            return _gpu_state("none", "nvidia-smi finds no devices.")
        return _gpu_state("unknown", "nvidia-smi: %s" % (why or "exit code %s: %s" % (code, text.strip()[:300])))
    listed = [_gpu(line) for line in text.splitlines() if line.count(",") >= 2]
    if not listed:
        return _gpu_state("none", "nvidia-smi lists no devices.")
    return {"state": "present", "why": "", "list": listed}


def _gpu_state(state: str, why: str) -> dict[str, Any]:
    return {"state": state, "why": why, "list": []}


def _gpu(line: str) -> dict[str, Any]:
    name, memory, driver = (part.strip() for part in line.rsplit(",", 2))
    return {"name": name, "memory_mib": int(memory) if memory.isdigit() else None, "driver": driver}


def others_on_gpu(state: str, limit_s: float = GPU_LIMIT_S) -> Any:
    """[{"pid", "uid", "name", "memory_mib"}, …] of processes that compute on a GPU, "n/a" without one, None where it cannot be told."""
    if state != "present":
        return "n/a" if state == "none" else None
    code, text, _ = ask(
        [shutil.which("nvidia-smi") or "nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader,nounits"],
        limit_s,
    )
    if code != 0:
        return None
    found = []
    for line in text.splitlines():
        pid, _, rest = line.partition(",")
        name, _, memory = rest.rpartition(",")
        if pid.strip().isdigit():
            amount = int(memory) if memory.strip().isdigit() else None
            found.append({"pid": int(pid), "uid": _owner(int(pid)), "name": name.strip(), "memory_mib": amount})
    return found


def _owner(pid: int) -> int | None:
    try:
        return os.stat("/proc/%d" % pid).st_uid
    except OSError:
        return None
