"""Takes in what other tools printed: read, show, on confirmation store as `imported`. The same bytes add nothing twice."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

from core.domain.forms import Name, Record, checked
from core.domain.imported import cells_of, why_no_cells, words
from core.domain.units import figures_of
from core.errors import InvalidInput, NotFound, OutputNotUnderstood
from core.formats.keys import KEYS
from core.formats.reader import read
from core.services.access import authorize
from core.services.house import House

LIMIT = 20 << 20
FILES_AT_ONCE = 50
KINDS = tuple(KEYS)


class Importer(Record):
    """Who takes the files in."""

    by: Name


@dataclass(frozen=True)
class Preview:
    """One file, read but not stored. `problem`: why it cannot be taken in; everything else is empty then.

    `figures`: (key, value, unit); `missing`: keys of the kind that the file cannot tell; `cells`: what it stands for in the matrix.
    """

    name: str
    sha256: str
    bytes: int
    kind: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    figures: list[tuple[str, Any, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    why_no_cells: str = ""
    warnings: list[str] = field(default_factory=list)
    is_there: bool = False
    problem: str = ""


def preview(house: House, name: str, data: bytes, *, kind: str | None = None) -> Preview:
    """Reads one file; stores nothing. A file that is none of these comes back with its problem. Raises InvalidInput (unknown kind)."""
    authorize(house, "import.add")
    if kind is not None and kind not in KEYS:
        raise InvalidInput({"kind": f"has to be one of {', '.join(KINDS)}."}, hint="Nothing was imported.")
    shown, sha256 = words(name, 120) or "unnamed", hashlib.sha256(data).hexdigest()
    if len(data) > LIMIT:
        return Preview(shown, sha256, len(data), problem=too_large(len(data)))
    known = house.store.imports.get(sha256)
    if known:
        return Preview(
            shown, sha256, len(data), known["kind"], known["reading"], *_parts(known["kind"], known["reading"]), known["warnings"], True
        )
    try:
        found = read(data, kind=kind)
    except OutputNotUnderstood as problem:
        return Preview(shown, sha256, len(data), problem=problem.message)
    values = storable(found.values)
    warnings = [sentence for sentence in (words(text, 400) for text in found.warnings) if sentence]
    return Preview(shown, sha256, len(data), found.kind, values, *_parts(found.kind, found.values), warnings)


def too_large(size: int) -> str:
    """The sentence for a file above the limit."""
    return f"The file is {size / (1 << 20):.1f} MiB; at most {LIMIT >> 20} MiB are taken in."


def _parts(kind: str, values: dict[str, Any]) -> tuple[list[tuple[str, Any, str]], list[str], list[dict[str, Any]], str]:
    figures, missing = figures_of(storable(values))
    cells = cells_of(kind, values)
    return figures, missing, cells, "" if cells else why_no_cells(kind)


def storable(value: Any) -> Any:
    """Keys as text, and numbers that JSON has no form for as unknown."""
    if isinstance(value, dict):
        return {str(key): storable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [storable(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def import_files(house: House, files: list[tuple[str, bytes]], *, who: str, kind: str | None = None) -> dict[str, Any]:
    """Takes files in, all or none: {added, already_there, rows (cells added), warnings}.

    Raises InvalidInput naming every file that cannot be read; nothing is stored then.
    """
    authorize(house, "import.add", signed=who)
    by = checked(Importer, {"by": who}).by
    if not files or len(files) > FILES_AT_ONCE:
        raise InvalidInput({"files": f"from 1 to {FILES_AT_ONCE} at once."}, hint="Nothing was imported.")
    read_ones = [preview(house, name, data, kind=kind) for name, data in files]
    problems = {one.name: one.problem for one in read_ones if one.problem}
    if problems:
        raise InvalidInput(problems, hint="Nothing was imported. Take these files out, or name their kind.")
    answer: dict[str, Any] = {"added": 0, "already_there": 0, "rows": 0, "warnings": []}
    for one, (_, data) in zip(read_ones, files, strict=True):
        is_new = _store(house, one, data, by)
        answer["added" if is_new else "already_there"] += 1
        answer["rows"] += len(one.cells) if is_new else 0
        answer["warnings"] += [f"{one.name}: {sentence}" for sentence in one.warnings] if is_new else [f"{one.name}: already there."]
    return answer


def _store(house: House, one: Preview, data: bytes, by: str) -> bool:
    """The raw file goes to the archive first, so that no row points at nothing."""
    if house.store.imports.get(one.sha256):
        return False
    kept = house.archive.keep("imports", one.sha256, data)
    row = {
        "sha256": one.sha256, "name": one.name, "bytes": one.bytes, "stored_as": kept.stored_as, "kind": one.kind, "reading": one.values,
        "warnings": one.warnings, "imported_by": by, "noted_at": house.clock.now(), "provenance": "imported",
    }  # fmt: skip
    return house.store.imports.insert(row, one.cells)


def list_imports(house: House) -> list[dict[str, Any]]:
    """Files taken in so far, newest first, without their readings."""
    authorize(house, "see")
    return house.store.imports.files()


def raw_import(house: House, sha256: str) -> tuple[str, bytes]:
    """(name, content) of an imported file; raises NotFound."""
    authorize(house, "see", sha256)
    found = house.store.imports.get(sha256)
    if found is None:
        raise NotFound("imported file", sha256)
    return found["name"], house.archive.read(found["stored_as"], sha256)
