"""A stand-in for nvidia-smi that a test puts on PATH: a real program that prints rows, or hangs, or prints rubbish."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

# Keys of smi.json, all optional: gpus, rows [used, clock, power, temp] one a GPU; hot_file: throttled while it is there; old: knows the
# old spelling only; apps_file: others compute while it is there; apps: its lines; facts: engine starts, listed as computing too;
# breaks_after: calls until `break` ("hang" | "garbage" | "rc" | "n/a") sets in; moving: MiB added while the hot file is there.
_PROGRAM = """
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
script = json.load(open(os.path.join(here, "smi.json")))
asked = sys.argv[1]
with open(os.path.join(here, "calls"), "a+") as log:
    log.seek(0)
    number = len(log.readlines())
    log.write(asked + chr(10))
trouble = script.get("break") if number >= script.get("breaks_after", 0) else None
if trouble == "hang":
    time.sleep(600)
if trouble == "garbage":
    print("\\x00\\xff <html> 12, 13")
    sys.exit(0)
if trouble == "rc":
    print("Unable to determine the device handle for GPU0: Unknown Error")
    sys.exit(15)
hot = os.path.exists(script.get("hot_file", "/nowhere"))
rows = script.get("rows", [[9000, 1980, 350.5, 61]])
if asked.startswith("--query-compute-apps"):
    for line in script["apps"] if os.path.exists(script.get("apps_file", "/nowhere")) else []:
        print(line)
    if os.path.exists(script.get("facts", "/nowhere")):
        for line in open(script["facts"]):
            if os.path.exists("/proc/%d" % json.loads(line)["pid"]):
                print("%d, llama-server, 8900" % json.loads(line)["pid"])
elif "driver_version" in asked:
    for _ in rows:
        print("GPU A, with comma, 24576, 550.1")
elif "clocks_event_reasons" in asked and script.get("old"):
    print('Field "clocks_event_reasons.active" is not a valid field to query.')
    sys.exit(2)
else:
    for number, (used, clock, power, heat) in enumerate(rows):
        used += script.get("moving", 0) if hot else 0
        mask = "0x0000000000000040" if hot else "0x0000000000000001"
        if asked == "--query-gpu=memory.used":
            print(used)
        elif trouble == "n/a":
            print("%d, %d, [N/A], [Not Supported], [N/A], [N/A]" % (number, used))
        else:
            print("%d, %d, %d, %.2f, %d, %s" % (number, used, clock, power, heat, mask))
"""


def install(folder: Path, monkeypatch: Any = None, **script: Any) -> Path:
    """Puts the program into `folder`, with its script, and the folder first on PATH where a monkeypatch is given."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "nvidia-smi"
    path.write_text(f"#!{sys.executable} -IS\n{_PROGRAM}")
    path.chmod(0o700)
    (folder / "smi.json").write_text(json.dumps(script))
    if monkeypatch is not None:
        monkeypatch.setenv("PATH", str(folder) + os.pathsep + os.environ["PATH"])
    return path


def calls(folder: Path) -> list[str]:
    """What it was asked, in order."""
    return (folder / "calls").read_text().splitlines()
