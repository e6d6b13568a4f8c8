"""A change that loses, on the real engine: swept, read, rejected with its reason; the losing draft length stays in the runbook."""

from __future__ import annotations

import re

from core.store.open import open_store
from tests.browser.steps import go, main_text, name_oneself, propose, reject, run_of_worksheet, sees

REASON = "Verifying the draft costs more than it brings here; look again with another engine build."


def test_a_losing_change_is_rejected_with_its_reason(app, page):
    sheet = propose(page, app.url, "made-moe", n_max=1)
    run_id = run_of_worksheet(page, app.url, sheet)
    name_oneself(page, "Ada")
    sees(page, "Suggestion: DISABLE")
    assert "No n_max beats speculation off beyond noise" in main_text(page)
    reject(page, REASON, "")
    go(page, f"{app.url}/ledger")
    sees(page, "1 of 1 entries")
    entry = main_text(page)
    assert "REJECT" in entry and "action: disable" in entry and REASON in entry and "made-moe · n=1" in entry
    go(page, f"{app.url}/runbook")
    sees(page, "Run: speculation off")
    losing = re.search(r"n_max 1: ([01]\.\d\d)×, (?:loses|no difference shown); (\S.*)", main_text(page))
    assert losing and losing.group(2), "the losing draft length stands there with its reason"
    app.stop()
    database, store = open_store(app.database)
    (decision,) = store.decisions.all()
    database.close()
    details, suggested = decision["details"], decision["evidence"]["suggestion"]
    assert (decision["verdict"], decision["action"], decision["reason"]) == ("reject", "disable", REASON)
    assert (decision["evidence"]["run_id"], suggested["action"], details["n_max"]) == (run_id, "disable", 0)
