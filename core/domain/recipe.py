"""What ran, and one identity for identical recipes: SHA-256 of the canonical form of everything that can change speed or text."""

from __future__ import annotations

import hashlib
import json
from typing import Any

# Keys that hold the change under test; everything else has to be equal on both sides.
SPECULATION = ("speculation", "n_max", "draft_artifact")


def canonical(value: Any) -> str:
    """Sorted keys, no spaces, UTF-8, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def recipe_of(
    *,
    engine: dict[str, Any],
    artifact_sha256: str | None,
    placement: dict[str, Any],
    asked: dict[str, Any],
    n_max: int,
    slots: int,
    synthetic: str | None = None,
) -> dict[str, Any]:
    """The recipe of one arm. Host paths, port, key and log flags are left out: they change neither speed nor text.

    `engine`: kind, build, commit. `placement`: as read back from the load log, or asked and marked so.
    `asked`: context, types, threads, sampling. `synthetic`: all | none where acceptance was forced, another recipe by that.
    """
    forced = {"synthetic": synthetic} if synthetic else {}
    return {
        "engine_kind": engine["kind"],
        "engine_build": engine.get("build"),
        "engine_commit": engine.get("commit"),
        "artifact_sha256": artifact_sha256,
        "placement": placement,
        "slots": slots,
        "speculation": "draft-mtp" if n_max else "off",
        "n_max": n_max,
        "draft_artifact": None,
        **forced,
        **asked,
    }


def differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Key → (value in one, value in the other) for every key that differs."""
    return {key: (one.get(key), other.get(key)) for key in sorted(one.keys() | other.keys()) if one.get(key) != other.get(key)}


def unwanted_differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Differences beside the change under test."""
    return {key: pair for key, pair in differences(one, other).items() if key not in SPECULATION}


def without_blanks(body: dict[str, Any]) -> tuple[dict[str, Any], list[list[str]]]:
    """The body without its unset (None) entries, and where they stood: for forms that have no word for unset."""
    kept: dict[str, Any] = {}
    blanks: list[list[str]] = []
    for key, value in body.items():
        if value is None:
            blanks.append([key])
        elif isinstance(value, dict):
            kept[key], inner = without_blanks(value)
            blanks += [[key, *path] for path in inner]
        else:
            kept[key] = value
    return kept, blanks


def with_blanks(body: dict[str, Any], blanks: list[list[str]]) -> dict[str, Any]:
    """The body with its unset entries put back. Raises KeyError where a path leads nowhere."""
    whole: dict[str, Any] = json.loads(json.dumps(body))
    for *folders, last in blanks:
        place = whole
        for name in folders:
            place = place[name]
        place[last] = None
    return whole
