"""The recipe file: TOML that a person can read, a run can start from, and whose recipe has the same identity when read back.

[sweep] is what starts a run, [recipe] what ran (`unset` lists its blanks, which TOML has no word for), [command] the exact argument
list with the key hidden, [measured] a note of what it did. Only [sweep] and [recipe] are read.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

import tomli_w

from core.domain.recipe import digest, with_blanks, without_blanks
from core.errors import InvalidInput

FORMAT = 1
LIMIT = 256 << 10
KEPT = "Nothing was started; what you had typed is still there."
_HEAD = """# A recipe measured by Draftledger. Start a run from it: python -m core sweep --box BOX --recipe THIS-FILE
# or choose it on the page “Propose a change”. [measured] is a note of what it did; only [sweep] and [recipe] are read.

"""


def write_recipe(*, sweep: dict[str, Any], recipe: dict[str, Any], argv: list[str], measured: dict[str, Any]) -> str:
    """The file's text. Unset values of `sweep` and `measured` are left out; those of the recipe are listed."""
    body, unset = without_blanks(recipe)
    whole = {
        "format": FORMAT,
        "recipe_id": digest(recipe),
        "sweep": without_blanks(sweep)[0],
        "command": {"argv": argv},
        "measured": without_blanks(measured)[0],
        "unset": [".".join(path) for path in unset],
        "recipe": body,
    }
    return _HEAD + tomli_w.dumps({key: value for key, value in whole.items() if not isinstance(value, dict)} | whole)


def read_recipe(data: bytes) -> dict[str, Any]:
    """{recipe_id, sweep, recipe}. Raises InvalidInput that names the line or the key."""
    if len(data) > LIMIT:
        raise InvalidInput({"recipe file": f"is {len(data) >> 10} KiB long; a recipe has at most {LIMIT >> 10}."}, hint=KEPT)
    try:
        whole = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInput({"recipe file": "is not text in UTF-8."}, hint=KEPT) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput({"recipe file": f"is not TOML: {error}."}, hint=KEPT) from None
    except RecursionError:
        raise InvalidInput({"recipe file": "is nested too deep."}, hint=KEPT) from None
    problems = _problems(whole)
    if problems:
        raise InvalidInput(problems, hint=KEPT)
    return {"recipe_id": whole["recipe_id"], "sweep": whole["sweep"], "recipe": _whole_recipe(whole)}


def _problems(whole: dict[str, Any]) -> dict[str, str]:
    if whole.get("format") != FORMAT:
        return {"format": f"has to be {FORMAT}: this program reads recipe files of that format."}
    found = {key: "is needed, as a table." for key in ("sweep", "recipe") if not isinstance(whole.get(key), dict)}
    if not isinstance(whole.get("recipe_id"), str):
        found["recipe_id"] = "is needed, as text."
    if found:
        return found
    try:
        is_whole = digest(_whole_recipe(whole)) == whole["recipe_id"]
    except (KeyError, TypeError, ValueError, AttributeError):
        return {"unset": "has to list places inside [recipe], or [recipe] holds what no recipe can hold."}
    if not is_whole:
        return {"recipe": "was changed after it was written: it is not the one that recipe_id names. Change [sweep] instead."}
    return {}


def _whole_recipe(whole: dict[str, Any]) -> dict[str, Any]:
    return with_blanks(whole["recipe"], [place.split(".") for place in whole.get("unset", [])])


def file_name(model: str, n_max: int, c: int, recipe_id: str) -> str:
    """“recipe-made-dense-n2-c4-1a2b3c4d.toml”, without anything a file system minds."""
    plain = "".join(ch if ch.isalnum() or ch in "-_." else "-" for ch in model)[:60]
    arm = "off" if n_max == 0 else f"n{n_max}"
    return f"recipe-{plain}-{arm}-c{c}-{recipe_id[:8]}.toml"


def as_json(value: Any) -> Any:
    """Plain values only: what a store gave back, ready to be written."""
    return json.loads(json.dumps(value, default=str))
