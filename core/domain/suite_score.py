"""How a tool suite's output becomes a score: by exit code, by a file it wrote, by a place in its JSON, by a pattern in its lines.

Pure, standard library only, Python 3.8: travels with the agent. The rule is registered with the suite; nothing is guessed.
"""

import json
import math
import re
from typing import Any, Mapping, Optional

EXIT, FILE, JSON, REGEX = "exit", "file", "json", "regex"
RULES = (EXIT, FILE, JSON, REGEX)
MOST = 1e6
_LINE = 1000  # a pattern is tried on no longer line
_NESTED = re.compile(r"\([^)]*[*+}][^)]*\)\s*[*+{]")  # a repeated group that repeats inside can take for ever on rubbish


class NoScore(Exception):
    """The output holds no score; the text says why, for people."""


def rule_problem(by: str, at: str) -> str:
    """What is wrong with a rule, "" when it may be registered. `at`: the JSON path or the pattern."""
    if by not in RULES:
        return "has to be one of %s." % ", ".join(RULES)
    if by == JSON and not re.match(r"[^.\s]+(?:\.[^.\s]+)*\Z", at):
        return "needs a path of names and numbers with dots between, for example summary.score."
    return _pattern_problem(at) if by == REGEX else ""


def _pattern_problem(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groups
    except (re.error, RecursionError, OverflowError) as error:
        return "is no pattern that can be read: %s." % error
    if groups != 1:
        return "needs exactly one group in round brackets, around the number."
    return "may not repeat a group that repeats inside: it could take for ever." if _NESTED.search(pattern) else ""


def score_of(rule: Mapping[str, str], output: str, exit_code: Optional[int], filed: Optional[str]) -> float:
    """The score. `output`: standard output; `filed`: content of the score file, None when none was written. Raises NoScore."""
    by, at = rule["by"], rule.get("at", "")
    if by == EXIT:
        if exit_code not in (0, 1):
            raise NoScore("It ended with exit code %s; 0 means passed, 1 means failed, anything else is no score." % exit_code)
        return 100.0 if exit_code == 0 else 0.0
    if exit_code != 0:
        raise NoScore("It ended with exit code %s." % exit_code)
    if by == FILE:
        if filed is None:
            raise NoScore("It wrote no score file.")
        return _number(filed.strip(), "The score file")
    return _from_json(output, at) if by == JSON else _from_lines(output, at)


def _from_json(output: str, path: str) -> float:
    """The last line that is JSON, else the whole output."""
    for text in (output.strip().rpartition("\n")[2], output):
        try:
            found = json.loads(text)
            break
        except (ValueError, RecursionError):
            continue
    else:
        raise NoScore("Its output is no JSON.")
    for name in path.split("."):
        found = _step(found, name, path)
    return _number(found, "What stands at %s" % path)


def _step(found: Any, name: str, path: str) -> Any:
    try:
        return found[int(name)] if isinstance(found, list) else found[name]
    except (KeyError, IndexError, TypeError, ValueError):
        raise NoScore("Its JSON has nothing at %s." % path) from None


def _from_lines(output: str, pattern: str) -> float:
    """The last line the pattern fits."""
    for line in reversed(output.splitlines()):
        found = re.search(pattern, line[:_LINE])
        if found:
            return _number(found.group(1), "What the pattern found")
    raise NoScore("No line of its output fits the pattern.")


def _number(value: Any, what: str) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or abs(found) > MOST:
        raise NoScore("%s is no number that can be a score: %s." % (what, repr(value)[:60]))
    return found
