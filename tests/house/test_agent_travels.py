"""The agent runs on boxes we do not choose: Python 3.8, standard library only, and exactly the files that are listed."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from core.remote import agent_bundle

ROOT = Path(__file__).parents[2]
PACKED = zipfile.ZipFile(io.BytesIO(agent_bundle.build()[0]))


def modules_of(source: bytes) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports do not survive a move"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_every_agent_module_is_listed_and_nothing_else() -> None:
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "core/agent").glob("**/*.py")}
    rules = ("__init__", "arms", "climb", "cost_line", "engine_flags", "looks", "price", "stats", "suite_score", "sweep")
    domain = {f"core/domain/{name}.py" for name in rules}
    assert set(agent_bundle.FILES) == there | domain
    assert set(PACKED.namelist()) == {*agent_bundle.FILES, *agent_bundle.EMPTY, "__main__.py"}
    assert (ROOT / "core/agent/__init__.py").read_bytes() == b""


@pytest.mark.parametrize("name", sorted(PACKED.namelist()))
def test_only_the_standard_library_and_its_own_files_are_imported(name: str) -> None:
    own = {item[: -len(".py")].replace("/", ".") for item in PACKED.namelist()}
    packages = {item.rpartition(".")[0] for item in own}
    for module in modules_of(PACKED.read(name)):
        if module.split(".")[0] == "core":
            assert module in own | packages or module.rpartition(".")[0] in own, f"{name} imports {module}, which does not travel"
        else:
            assert module.split(".")[0] in sys.stdlib_module_names, f"{name} imports {module}"


def test_python_38_is_enough(tmp_path: Path) -> None:
    PACKED.extractall(tmp_path)
    command = [
        sys.executable,
        "-c",
        "import sys; from vermin import main; sys.exit(main())",
        "-t=3.8-",
        "--no-tips",
        "--violations",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_same_sources_give_the_same_bytes() -> None:
    data, sha = agent_bundle.build()
    agent_bundle.build.cache_clear()
    assert agent_bundle.build() == (data, sha)
    assert data[:2] == b"PK"
    assert all(entry.date_time == (1980, 1, 1, 0, 0, 0) for entry in PACKED.infolist())
