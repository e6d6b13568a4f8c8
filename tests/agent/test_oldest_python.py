"""The packed agent runs under the oldest Python ≥ 3.8 this machine has; an older one gets a sentence, not a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from core.remote.agent_bundle import build


def interpreters() -> dict[tuple[int, int], str]:
    """Version → path, of every python3.N on PATH and beside the one that runs the tests; at least that one."""
    folders = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep) if p]
    base = Path(sys.base_prefix)
    folders += [version / "bin" for version in base.parent.glob("3.*") if base.name.startswith("3.")]
    found = {sys.version_info[:2]: sys.executable}
    for folder in folders:
        for path in folder.glob("python3.*"):
            match = re.fullmatch(r"python3\.(\d+)", path.name)
            if match and shutil.which(str(path)):
                version = (3, int(match.group(1)))
                works = subprocess.run(
                    [str(path), "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True, check=False
                )
                if works.stdout.strip() == match.group(1):
                    found.setdefault(version, str(path))
    return found


def probe(python: str, folder: Path) -> str:
    pyz = folder / "agent.pyz"
    pyz.write_bytes(build()[0])
    (folder / "allow.json").write_text('{"engines": [], "models": [], "model_roots": []}')
    done = subprocess.run([python, str(pyz), "--root", str(folder), "probe"], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_the_oldest_supported_python_answers(tmp_path):
    version, python = min(item for item in interpreters().items() if item[0] >= (3, 8))
    frame = probe(python, tmp_path).strip().splitlines()[-1]
    assert frame.startswith("@@draftledger ")
    answer = json.loads(frame.removeprefix("@@draftledger "))
    assert answer["python"].startswith(f"{version[0]}.{version[1]}.") and answer["gpus"]["state"] in ("none", "unknown", "present")


def test_an_older_python_is_told_so(tmp_path):
    old = {version: python for version, python in interpreters().items() if version < (3, 8)}
    for python in old.values():
        assert "3.8" in probe(python, tmp_path)
    assert (3, 8) not in old
