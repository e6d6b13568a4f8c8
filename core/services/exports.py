"""Takes everything along: each table as CSV, Parquet and JSON, the matrix, a memo a decision, the runbook, and a manifest with hashes."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.domain.spreadsheet import neutral
from core.errors import InvalidInput, StoreError
from core.services.access import authorize, record
from core.services.decisions import list_decisions
from core.services.house import House
from core.services.ledger import decided_arm, ledger_entry_of
from core.services.ledger_check import verify_ledger
from core.services.matrix import matrix_rows
from core.services.memo import memo_of
from core.services.memo_html import memo_html
from core.services.recipes import recipe_file
from core.services.runbook import runbook_markdown


def export_all(house: House, folder: Path) -> dict[str, Any]:
    """Writes everything into a new or empty folder. {folder, files: [{path, rows, sha256}], ledger}; the ledger is verified on the way.

    CSV texts that a spreadsheet would run are put out of action; JSON and Parquet hold them as stored. People stand in the decisions by
    handles, as the hashes were taken, and by name in names.csv. Raises InvalidInput, StoreError,
    NotAllowed. Who may do what, and the audit log, stay in the house.
    """
    authorize(house, "export", str(folder))
    _refuse_used(folder)
    try:
        files = _write(house, folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.", hint="What was written so far lies there.") from error
    ledger = verify_ledger(house)
    found = {"format": 1, "app_version": house.version, "written_at": house.clock.now().isoformat(), "ledger": ledger}
    listed = [{"path": str(path.relative_to(folder)), "rows": rows, "sha256": _sha256(path)} for path, rows in files]
    heads = {"head": ledger["head"], "audit_head": house.store.audit.head()[1]}
    (folder / "manifest.json").write_text(_json({**found, **heads, "files": listed}), "utf-8")
    record(house, "export", str(folder), files=len(listed), head=ledger["head"])
    return {"folder": str(folder), "files": listed, **found}


def _refuse_used(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_used = any(folder.iterdir())
    except OSError as error:
        raise InvalidInput({"folder": f"cannot be used: {error.strerror}."}, hint="Nothing was written.") from error
    if is_used:
        raise InvalidInput({"folder": "has to be new or empty."}, hint="Nothing was written; what lies there is untouched.")


def _write(house: House, folder: Path) -> list[tuple[Path, int | None]]:
    files: list[tuple[Path, int | None]] = []
    for name in house.store.tables.names():
        rows = house.store.tables.rows(name)
        files += [(_csv(folder / "csv" / f"{name}.csv", rows), len(rows)), (_lines(folder / "json" / f"{name}.jsonl", rows), len(rows))]
        target = _ready(folder / "parquet" / f"{name}.parquet")
        house.store.tables.to_parquet(name, target)
        files.append((target, len(rows)))
    matrix = matrix_rows(house)
    cells = [_flat(row, column, cell) for row in matrix for column, cell in row["cells"].items()]
    files.append((_csv(folder / "matrix.csv", cells), len(cells)))
    files.append((_text(folder / "matrix.json", _json({"rows": matrix})), len(matrix)))
    for entry in list_decisions(house):
        memo = memo_html(memo_of(ledger_entry_of(house, entry["number"])))
        files.append((_text(folder / "memos" / f"decision-{entry['number']}.html", memo), None))
        arm = decided_arm(entry)
        recipe = recipe_file(house, arm[0], arm=arm[1:]) if arm else None
        if recipe:
            files.append((_text(folder / "recipes" / f"decision-{entry['number']}.toml", recipe[1]), None))
    names = [{"handle": one.handle, "name": one.name} for one in house.store.names.all()]
    files.append((_csv(folder / "names.csv", names), len(names)))
    return [*files, (_text(folder / "runbook.md", runbook_markdown(house)), None)]


def _flat(row: dict[str, Any], column: str, cell: dict[str, Any]) -> dict[str, Any]:
    key = {name: row[name] for name in ("model", "box", "build", "context", "workload", "c")}
    return {
        **key,
        "spill": row["spill"]["label"],
        "n_max": column,
        **{name: value for name, value in cell.items() if not isinstance(value, dict)},
    }


def _ready(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    return path


def _csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with _ready(path).open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow([neutral(name) for name in rows[0]] if rows else [])
        writer.writerows([neutral(_cell(value)) for value in row.values()] for row in rows)
    return path


def _cell(value: Any) -> Any:
    """Lists and the like as JSON; unknown stays empty."""
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict | tuple) else value


def _lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    with _ready(path).open("w", encoding="utf-8") as handle:
        handle.writelines(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in rows)
    return path


def _text(path: Path, text: str) -> Path:
    _ready(path).write_text(text, "utf-8")
    return path


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False, indent=1, allow_nan=False)


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
