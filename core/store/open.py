"""Opens the store: database, migrations, the groups of rows."""

from __future__ import annotations

from pathlib import Path

from core.ports.store import Store
from core.store.boxes import DuckBoxes
from core.store.cells import DuckCells
from core.store.database import Database
from core.store.decisions import DuckDecisions
from core.store.doors import DuckAudit, DuckPeople, DuckTokens
from core.store.imports import DuckImports
from core.store.names import FolderNames
from core.store.published import DuckPublished
from core.store.runs import DuckRuns
from core.store.soundness import beside, open_sound
from core.store.tables import DuckTables
from core.store.worksheets import DuckWorksheets


def open_store(path: Path) -> tuple[Database, Store]:
    """The database (to close) and the store over it. Raises StoreInUse, StoreError."""
    database = open_sound(path)
    database.names = names = FolderNames(beside(path))
    return database, Store(
        boxes=DuckBoxes(database, names),
        runs=DuckRuns(database),
        cells=DuckCells(database),
        published=DuckPublished(database),
        imports=DuckImports(database, names),
        worksheets=DuckWorksheets(database, names),
        decisions=DuckDecisions(database, names),
        tables=DuckTables(database),
        people=DuckPeople(database, names),
        tokens=DuckTokens(database, names),
        audit=DuckAudit(database, names),
        names=names,
    )
