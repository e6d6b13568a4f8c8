"""The table of roles against doors, written out once more: what is built is compared with it, and then tried by every role at every door.

A new action, page, route or verb without a line here fails.
"""

from __future__ import annotations

# What a role may do that the one before it may not.
MAY = {
    "none": set(),
    "viewer": {"see", "export"},
    "runner": {
        "work.propose", "work.type", "work.comment", "run.start", "run.stop", "run.order", "run.exclude", "box.check", "import.add",
    },
    "decider": {"decision.take"},
    "admin": {
        "box.add", "box.edit", "box.pin", "box.remove", "person.see", "person.set", "token.see", "token.make", "token.revoke", "audit.see",
        "house.keep",
    },
}  # fmt: skip
ROLES = tuple(MAY)
LEAST = {action: role for role, actions in MAY.items() for action in actions}


def may(role: str, action: str) -> bool:
    """Whether the table lets the role do it."""
    return ROLES.index(role) >= ROLES.index(LEAST[action])


PAGES = {
    "see": {
        "home", "runs", "propose", "imports", "boxes", "run", "matrix", "receipt", "prefill", "concurrency", "suites", "coverage", "price",
        "worksheets", "worksheet", "ledger", "decision", "runbook", "checklists",
    },
    "person.see": {"people"},
    "token.see": {"tokens"},
    "audit.see": {"audit"},
    "house.keep": {"health"},
}  # fmt: skip

ROUTES = {
    "see": {
        "GET /matrix", "GET /cells/{cell_id}", "GET /runs", "GET /runs/{run_id}", "GET /boxes", "GET /worksheets",
        "GET /worksheets/{worksheet_id}", "GET /ledger", "POST /ledger/preview", "POST /verify-ledger", "POST /price", "POST /read",
        "POST /recipes",
    },
    "export": {"GET /export", "GET /runs/{run_id}/recipe"},
    "work.propose": {"POST /worksheets", "POST /references/{row}/worksheets"},
    "work.type": {
        "POST /worksheets/{worksheet_id}/entries", "POST /worksheets/{worksheet_id}/suites", "POST /worksheets/{worksheet_id}/n-max",
    },
    "work.comment": {"POST /worksheets/{worksheet_id}/comments"},
    "run.start": {"POST /runs", "POST /runs/{run_id}/repeat", "POST /runs/{run_id}/resume"},
    "run.stop": {"POST /runs/{run_id}/stop"},
    "box.check": {"POST /boxes/{box_id}/check"},
    "run.order": {"POST /runs/{run_id}/place"},
    "import.add": {"POST /imports"},
    "decision.take": {"POST /ledger", "POST /ledger/{number}/withdraw"},
    "person.see": {"GET /people"},
    "person.set": {"POST /people"},
    "house.keep": {"POST /backup", "POST /doctor", "POST /boxes/{box_id}/reap"},
}  # fmt: skip
# These answer anyone who reaches this host: whether it lives, what the API is like, and the local link, which is itself the question.
OPEN_ROUTES = {"/healthz", "/api/v1/openapi.json", "/enter"}

# A verb, or a part of one, as it is typed (`{sheet}` and the like: made by the test), and what it needs.
VERBS = {
    "see": [
        "matrix", "runs", "worksheet", "worksheet list", "worksheet show {sheet}", "verify-ledger",
        "decide {sheet} reject --owner Ada --show",
    ],
    "export": ["export {folder}"],
    "work.propose": ["worksheet new --model made-dense", "worksheet new --reference qwen-27b-q8"],
    "work.type": [
        "worksheet set {sheet} spill note none", "worksheet set {sheet} suite baseline 50 --suite tools",
        "worksheet set {sheet} n_max candidate 2",
    ],
    "run.start": ["sweep --box this-machine --model nothing", "runs repeat {run}", "runs resume {run}"],
    "import.add": ["import {file}"],
    "decision.take": ["decide {sheet} reject --owner Ada --reason x", "decide {decided} withdraw --owner Ada --reason x"],
    "person.see": ["person"],
    "person.set": ["person 'https://id.example 7' --name Bo --role viewer"],
    "house.keep": ["backup --to {folder}", "doctor", "reap --box nowhere"],
}  # fmt: skip
# These open no house: nothing of it is read or written.
VERBS_WITHOUT_HOUSE = {"price", "read", "gate-kit"}
# These work on the database file while nobody has it open: whoever may write the file may do them, and no role is asked.
VERBS_ON_THE_FILE = {"restore", "rebuild"}
