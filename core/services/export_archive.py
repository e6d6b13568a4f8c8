"""The export as one ZIP file, for callers who have no folder here."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any

from core.errors import StoreError
from core.services.access import authorize
from core.services.exports import export_all
from core.services.house import House

TOP = "draftledger-export"


def export_archive(house: House, target: IO[bytes]) -> dict[str, Any]:
    """Writes what `export_all` writes into `target`; its answer without the folder, which is gone then. Raises StoreError, NotAllowed."""
    authorize(house, "export", "archive")
    try:
        with tempfile.TemporaryDirectory(prefix="draftledger-export-") as folder:
            found = export_all(house, Path(folder) / TOP)
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                    archive.write(path, path.relative_to(folder))
    except OSError as error:
        raise StoreError(f"The export cannot be written: {error.strerror}.", hint="Free space on this computer, then ask again.") from error
    return {key: value for key, value in found.items() if key != "folder"}
