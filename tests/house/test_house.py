"""The architecture and the documents as tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_import_contracts_hold():
    done = subprocess.run([str(Path(sys.executable).with_name("lint-imports"))], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_the_readme_folder_table_is_true():
    named = set(re.findall(r"^\| `([a-z./]+)` \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE))
    for name in named:
        assert (ROOT / name).exists(), f"README names {name}, which is not there"
    folders = {f"core/{path.name}/" for path in (ROOT / "core").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= named, f"not in README's table: {folders - named}"
    assert {"app.py", "pages/", "data/", "tests/", "docs/"} <= named


def test_links_in_documents_resolve():
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", document.read_text("utf-8")):
            if not target.startswith(("http://", "https://")):
                assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_verb_is_in_the_readme_with_help():
    done = subprocess.run([sys.executable, "-m", "core", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    verbs = re.search(r"\{([a-z,-]+)\}", done.stdout).group(1).split(",")
    readme = (ROOT / "README.md").read_text("utf-8") + (ROOT / "CHANGELOG.md").read_text("utf-8")
    for verb in verbs:
        assert f"`{verb}`" in readme or f"-m core {verb}" in readme, f"{verb} is not documented"


def test_every_module_says_what_it_is_for():
    for path in [*(ROOT / "core").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]:
        text = path.read_text("utf-8")
        assert not text.strip() or re.match(r'(#!.*\n)?"""', text), f"{path.relative_to(ROOT)} has no docstring"


def test_requirements_are_pinned_and_say_why():
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text("utf-8").splitlines():
            if line and not line.startswith(("#", "-r")):
                assert re.fullmatch(r"[A-Za-z0-9_.-]+==\S+ +# .+", line), f"{name}: {line}"


def test_sizes_stay_readable():
    for path in (ROOT / "core").rglob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) <= 300, f"{path.relative_to(ROOT)} is longer than 300 lines"


def test_no_shell_and_no_raw_html_anywhere():
    for path in [*(ROOT / "core").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]:
        text = path.read_text("utf-8")
        for word in ("shell=True", "os.system(", "unsafe_allow_html"):
            assert word not in text, f"{path.relative_to(ROOT)} contains {word}"
