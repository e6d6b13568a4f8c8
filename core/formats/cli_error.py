"""An engine that refused its arguments: which flag, and the replacement it names. Nothing was loaded."""

from __future__ import annotations

import re
from typing import Any

from core.formats.lines import Line

_FORMS = tuple(
    re.compile(form)
    for form in (
        r"error: (?:invalid|unknown) argument:? +['\"]?(-[\w-]{1,64})",
        r"error while handling argument ['\"]?(-[\w-]{1,64})",
        r"(?:the )?argument ['\"`]?(-[\w-]{1,64})['\"`]? (?:has been|was|is) (?:removed|no longer)",
        r"unrecognized (?:arguments|option):? +['\"]?(-[\w-]{1,64})",
        r"error: .{0,80}(?:option|argument|flag) ['\"`]?(-[\w-]{1,64})",
        r"error: (-[\w-]{1,64})\b",
    )
)
_REMOVED = re.compile(r"(?:has been|was|is) (?:removed|deprecated|no longer)")
_USE = re.compile(r"\buse:? +['\"`]?(--?[a-z][\w-]{1,64})")
_UNKNOWN_VALUE = re.compile(
    r"(?:unknown|invalid) (?:speculative|spec) (?:decoding )?type:? *(?:without draft model:? *)?['\"]?([\w-]{1,64})"
)


class CliFacts:
    """Collects refusals of arguments."""

    def __init__(self) -> None:
        self.flag: str | None = None
        self.replacement: str | None = None
        self.refused = False

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "rror": "on_error",
            "argument": "on_error",
            "has been removed": "on_error",
            "unknown spec": "on_error",
            "use --": "on_error",
        }

    def on_error(self, line: Line) -> None:
        """One line about an argument."""
        for form in _FORMS:
            found = form.search(line.text)
            if found:
                self.refused = True
                self.flag = self.flag or found[1]
                break
        if _UNKNOWN_VALUE.search(line.text):
            self.refused, self.flag = True, self.flag or "--spec-type"
        if self.refused or _REMOVED.search(line.text):
            use = _USE.search(line.text)
            if use and self.replacement is None and use[1] != self.flag:
                self.replacement = use[1]

    def result(self) -> dict[str, Any]:
        """The keys of kind `cli_error` that are the error's own."""
        return {"status": "failed", "failed_at": "arguments", "flag": self.flag, "replacement": self.replacement, "layers_offloaded": None}
