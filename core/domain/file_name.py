"""Names for files that people download: whatever a model, a box or an imported file is called, only a plain name comes out."""

from __future__ import annotations

LONGEST = 120
_PLAIN = "-_. "


def download_name(name: str, fallback: str = "download") -> str:
    """The last part of `name` with letters, digits and - _ . only, never hidden, never without an end; `fallback` where nothing is left."""
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(ch if ch.isalnum() or ch in _PLAIN else "-" for ch in last).strip(_PLAIN)
    stem, dot, end = plain.rpartition(".")
    kept = f"{stem[: LONGEST - len(end) - 1]}{dot}{end}" if dot and len(end) < 20 else plain[:LONGEST]
    return kept or fallback
