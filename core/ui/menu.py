"""The list of pages: section, file, address, title. The menu, the links and the house tests all read it; nothing here draws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Entry:
    """One page: `pages/<section>/<name>.py`, served at `/<name>`. Hidden ones are reached by links only.

    `action`: what one must be allowed to do to find it in the menu; the page's own guard asks the same (core/domain/roles.py).
    """

    section: str
    name: str
    title: str
    is_hidden: bool = False
    action: str = "see"

    @property
    def path(self) -> str:
        """The script, absolute: relative ones would count from the shell's own folder."""
        return str(ROOT / "pages" / self.section.lower() / f"{self.name}.py")


ENTRIES = (
    Entry("Overview", "home", "Home"),
    Entry("Bench", "runs", "Runs"),
    Entry("Bench", "propose", "Propose a change"),
    Entry("Bench", "imports", "Import"),
    Entry("Bench", "boxes", "Boxes"),
    Entry("Bench", "run", "Run", is_hidden=True),
    Entry("Results", "matrix", "Matrix"),
    Entry("Results", "receipt", "Receipt", is_hidden=True),
    Entry("Results", "prefill", "Prefill"),
    Entry("Results", "concurrency", "Concurrency"),
    Entry("Results", "suites", "Suites"),
    Entry("Results", "coverage", "Coverage"),
    Entry("Results", "price", "Price explorer"),
    Entry("Review", "worksheets", "Worksheets"),
    Entry("Review", "worksheet", "Worksheet", is_hidden=True),
    Entry("Review", "ledger", "Ledger"),
    Entry("Review", "decision", "Decision", is_hidden=True),
    Entry("Review", "runbook", "Runbook"),
    Entry("Review", "checklists", "Checklists"),
    Entry("Admin", "people", "People", action="person.see"),
    Entry("Admin", "tokens", "Tokens", action="token.see"),
    Entry("Admin", "audit", "Audit log", action="audit.see"),
    Entry("Admin", "health", "Health", action="house.keep"),
)


def entry(name: str) -> Entry:
    """The page of that name; names are fixed by this file, so an unknown one is a defect."""
    return next(one for one in ENTRIES if one.name == name)
