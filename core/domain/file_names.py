"""Names of files that are handed out: letters, digits, dots and hyphens, whatever a person, a model or another machine called it."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 100  # characters, the ending included
_RESERVED = {"con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10))}


def file_name(text: str, *, otherwise: str = "file") -> str:
    """The text as a name that no file system, shell, header or browser takes for anything else; `otherwise` where nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    stem, dot, ending = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-. ").rpartition(".")
    if not dot:
        stem, ending = ending, ""
    ending = re.sub(r"[^A-Za-z0-9]", "", ending)[:12]
    stem = re.sub(r"\.{2,}", ".", stem).strip("-. ")[: LONGEST - len(ending) - 1] or otherwise
    if stem.partition(".")[0].lower() in _RESERVED:
        stem = f"{otherwise}-{stem}"
    return f"{stem}.{ending}" if ending else stem
