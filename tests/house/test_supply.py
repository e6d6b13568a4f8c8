"""What is installed is what is pinned, every pin has its hashes, and every package has a licence that is listed. Asks no network."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from core.config import ROOT

PINNED = re.compile(r"^([A-Za-z0-9_.\[\]-]+)==([^\s;\\]+)\s*(?:;\s*([^\\]+?))?\s*\\?$")
FLOORS = {"authlib": (1, 7, 2), "starlette": (0, 49, 1), "python-multipart": (0, 0, 22)}  # below these, known holes


def pins(name: str) -> dict[str, tuple[str, str]]:
    """Package → (version, marker) of a requirements or lock file."""
    found = {}
    for line in (ROOT / name).read_text("utf-8").splitlines():
        match = PINNED.match(line.split("#")[0].rstrip())
        if match:
            found[canonicalize_name(match[1].split("[")[0])] = (match[2], match[3] or "")
    return found


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_every_requirement_stands_in_its_lock_with_the_same_version(name: str) -> None:
    asked, locked = pins(f"{name}.txt"), pins(f"{name}.lock")
    assert len(asked) > 5 and {package: locked.get(package, ("missing",))[0] for package in asked} == {
        p: v for p, (v, _) in asked.items()
    }, "Run: make lock"


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_pin_has_hashes_and_nothing_comes_from_elsewhere(name: str) -> None:
    blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text("utf-8").strip())
    assert len(blocks) == len(pins(name)) > 30
    for block in blocks:
        assert "--hash=sha256:" in block and "://" not in block and "@" not in block.split("\n")[0], block[:80]


def test_what_is_installed_is_what_is_pinned() -> None:
    wrong = {}
    for package, (version, marker) in pins("requirements-dev.lock").items():
        if not marker or Marker(marker).evaluate():
            there = metadata.version(package)
            if there != version:
                wrong[package] = f"{there} installed, {version} pinned"
    assert wrong == {}, "Run make test on a fresh .venv, or make lock after a wanted change."


def test_no_package_is_below_its_floor() -> None:
    locked = pins("requirements.lock")
    for package, floor in FLOORS.items():
        numbers = tuple(int(part) for part in re.findall(r"\d+", locked[package][0])[: len(floor)])
        assert numbers >= floor, package


def test_every_package_that_ships_is_in_the_licence_list() -> None:
    listed = set(re.findall(r"^\| ([a-z0-9.-]+) \|", (ROOT / "docs" / "licences.md").read_text("utf-8"), re.MULTILINE))
    assert listed - {"package"} == set(pins("requirements.lock"))


def test_the_licence_list_says_what_each_package_states() -> None:
    rows = re.findall(r"^\| ([a-z0-9.-]+) \| (\S+) \| ([^|]+) \|$", (ROOT / "docs" / "licences.md").read_text("utf-8"), re.MULTILINE)
    listed = {name: (version, licence) for name, version, licence in rows if name not in ("package", "---")}
    assert {name: version for name, (version, _) in listed.items()} == {name: pin[0] for name, pin in pins("requirements.lock").items()}
    there = {one.metadata["Name"] for one in metadata.distributions()}
    stated = {name: _licence_of(name) for name in listed if name in {canonicalize_name(one) for one in there}}
    assert {name: licence for name, (_, licence) in listed.items() if name in stated} == stated and len(stated) > 40


def _licence_of(name: str) -> str:
    """The licence expression, else the classifiers, else the first line of the free text."""
    found = metadata.metadata(name)
    classified = [one.rpartition(" :: ")[2] for one in found.get_all("Classifier") or [] if one.startswith("License ::")]
    return (found.get("License-Expression") or "; ".join(classified) or (found.get("License") or "").split("\n")[0]).strip()


def test_every_package_that_is_asked_for_is_used() -> None:
    """Imported somewhere in the product, or what the sign-in of the pages stands on, as its line says."""
    sources = [ROOT / "app.py", *(ROOT / "core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    imported = {
        word for path in sources for word in re.findall(r"^\s*(?:from|import) ([a-zA-Z0-9_]+)", path.read_text("utf-8"), re.MULTILINE)
    }
    modules: dict[str, set[str]] = {}
    for module, packages in metadata.packages_distributions().items():
        for package in packages:
            modules.setdefault(canonicalize_name(package), set()).add(module)
    idle = {package for package in pins("requirements.txt") if not modules.get(package, {package}) & imported}
    said = {line.split("==")[0].lower() for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if "# sign-in:" in line}
    assert idle == said
