"""Puts the embedded engine on a test box for the box's own user, independent of the checkout."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.embedded.models import MODELS, make_model

if TYPE_CHECKING:
    from tests.remote.sshd_box import SshdBox

LAUNCHER = Path(__file__).resolve().parents[2] / "core" / "embedded" / "launcher.py"


@dataclass(frozen=True)
class Engine:
    """What a box's registration needs to know about the installed engine; all paths are on the box."""

    server: str
    models: dict[str, str]

    def allow(self) -> dict[str, object]:
        """The registration for AgentBox."""
        return {
            "engines": [{"id": "embedded", "kind": "llama.cpp", "argv": [self.server], "env": {}}],
            "models": [{"name": name, "path": path} for name, path in self.models.items()],
            "model_roots": [],
        }


def install_engine(box: SshdBox, models: tuple[str, ...] = ("made-moe",), model_folder: Path | None = None) -> Engine:
    """Puts the embedded engine into the box user's home: launcher, wheel, models, and an executable `llama-server` in front.

    Models come from `model_folder` (made there when missing); without one they are made for this call. Nothing on the box
    refers to the checkout. The wrapper is started once with --version before this returns.
    """
    folder = box.home / "engine"
    package = Path(_package_folder("xllamacpp"))
    for source in sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        box.put_for_user(source, folder / "site" / "xllamacpp" / source.relative_to(package))
    shutil.copyfile(LAUNCHER, folder / "launcher.py")
    paths = _put_models(box, folder, models, model_folder)
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
            os.chown(path, box.uid, box.gid)
    python = _user_python(box, folder)
    server = folder / "llama-server"
    server.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/site\nexport PYTHONPATH\nexec {python} {folder}/launcher.py "$@"\n')
    server.chmod(0o755)
    shown = box.run_as_user([str(server), "--version"])
    if shown.returncode:
        raise RuntimeError(f"the engine does not start as {box.user}: {shown.stderr.decode(errors='replace')[-2000:]}")
    return Engine(str(server), paths)


def _package_folder(name: str) -> str:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        pytest.fail(f"The package {name} is not installed. Install with: pip install -r requirements.txt", pytrace=False)
    return spec.submodule_search_locations[0]


def _put_models(box: SshdBox, folder: Path, models: tuple[str, ...], source: Path | None) -> dict[str, str]:
    own = None if source else tempfile.mkdtemp(prefix="dlmodels-")
    paths = {}
    try:
        for name in models:
            made = make_model(MODELS[name], Path(source or own or ""))
            target = folder / "models" / made.name
            box.put_for_user(made, target)
            paths[name] = str(target)
    finally:
        if own:
            shutil.rmtree(own)
    return paths


def _user_python(box: SshdBox, folder: Path) -> str:
    """An interpreter the box's user can start that loads the wheel: the system's, the app's base, or a copy of that base."""
    base = Path(sys.base_prefix)
    program = f"bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in ("/usr/bin/python3", str(base / program)):
        if _loads_wheel(box, folder, candidate):
            return candidate
    copied = folder / "python"
    shutil.copytree(base, copied, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "site-packages", "test", "*.a"))
    for path in copied.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    if _loads_wheel(box, folder, str(copied / program)):
        return str(copied / program)
    raise RuntimeError("no Python was found that the box's user can start and that loads the engine's wheel (3.10 or newer)")


def _loads_wheel(box: SshdBox, folder: Path, python: str) -> bool:
    done = box.run_as_user(["env", f"PYTHONPATH={folder}/site", "PYTHONDONTWRITEBYTECODE=1", python, "-c", "import xllamacpp"])
    return done.returncode == 0
