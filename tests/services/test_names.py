"""Who decided: the signed-in issuer and subject, by a random handle in every chain; the name lies beside and can be erased."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from core.domain.box import BoxForm
from core.domain.handles import ERASED, HANDLE, with_handles, with_names
from core.domain.recipe import digest
from core.domain.roles import ADMIN, DECIDER, Actor
from core.errors import InvalidInput, NotAllowed, NotFound
from core.services.audit import broken_audit_line, list_audit
from core.services.backups import back_up
from core.services.box_admin import pin_key
from core.services.boxes import add_box
from core.services.decision_chain import chain_rows
from core.services.decisions import decide, draft_decision, withdraw
from core.services.ledger import ledger_entries, ledger_entry_of, record_json
from core.services.ledger_check import verify_ledger
from core.services.memo import memo_of
from core.services.memo_html import memo_html
from core.services.people import erase_name, list_names, list_people, set_person
from core.services.worksheets import type_text
from core.store.names import FolderNames
from tests.services.test_decisions import keep, measured, reject

ISSUER = "https://login.example"
ADA = Actor(f"{ISSUER} 17", "Ada Lovelace", DECIDER, "page", is_named=True)
ROOT = Actor(f"{ISSUER} 1", "Grace Hopper", ADMIN, "page", is_named=True)


@pytest.fixture
def beside(settings):
    return settings.beside


def signed(house, **more):
    """A decision by somebody who is signed in, on a worksheet that others typed into."""
    sheet = measured(house)
    type_text(house, sheet, "fit", "candidate", "fits", by="Ben Typer")
    return decide(house.acting(ADA), keep(sheet, owner="Ada Lovelace", **more))


def chained_text(house, beside):
    """Everything that hangs in a chain of hashes: rows, journal, snapshots, audit log."""
    texts = [json.dumps(chain_rows(house), default=str), json.dumps(house.store.audit.all(), default=str)]
    return "\n".join([*texts, *(path.read_text() for path in [beside / "decisions.jsonl", *(beside / "snapshots").iterdir()])])


def test_the_owner_is_who_is_signed_in_and_stands_by_a_handle(house, beside):
    entry = signed(house, on_behalf_of="Carl Sagan")
    (kept,) = chain_rows(house)
    assert HANDLE.fullmatch(kept["owner"]) and entry["owner"] == "Ada Lovelace"
    known = house.store.names.find(kept["owner"])
    assert (known.subject, known.name) == (f"{ISSUER} 17", "Ada Lovelace")
    assert kept["details"]["identity"] == "signed in" and entry["details"]["on_behalf_of"] == "Carl Sagan"
    behalf = house.store.names.find(kept["details"]["on_behalf_of"])
    assert (behalf.subject, behalf.name) == ("", "Carl Sagan") and behalf.handle != known.handle
    chained = chained_text(house, beside)
    assert [name for name in ("Lovelace", "Typer", "Sagan", ISSUER) if name in chained] == []
    assert ledger_entries(house)[0]["evidence"]["typed"]["fit.candidate"]["typed_by"] == "Ben Typer"
    assert "Ada Lovelace (signed in) on behalf of Carl Sagan" in memo_html(memo_of(ledger_entry_of(house, 1)))
    assert verify_ledger(house)["ok"]


def test_nobody_signs_as_somebody_else_and_nobody_for_nobody(house):
    sheet = measured(house)
    with pytest.raises(NotAllowed):
        decide(house.acting(ADA), keep(sheet, owner="Grace Hopper"))
    assert list_audit(house)[0]["outcome"] == "denied"
    for owner in ("", "  "):
        with pytest.raises(InvalidInput) as refused:
            decide(house, keep(sheet, owner=owner))
        assert "owner" in refused.value.problems
    with pytest.raises(InvalidInput) as refused:
        decide(house, keep(sheet, on_behalf_of="ada"))
    assert list(refused.value.problems) == ["on_behalf_of"] and chain_rows(house) == []
    assert decide(house, keep(sheet))["details"]["identity"] == "local identity"


def test_the_same_name_from_another_issuer_is_another_person(house):
    signed(house)
    other = replace(ADA, key="https://other.example 17")
    decide(house.acting(other), reject(measured(house), owner="Ada Lovelace"))
    first, second = (row["owner"] for row in chain_rows(house))
    assert first != second and {house.store.names.find(one).subject for one in (first, second)} == {ADA.key, other.key}


def test_an_erased_name_is_gone_everywhere_it_was_chained_and_the_chains_hold(house, beside, tmp_path):
    signed(house)
    set_person(house.acting(ROOT), {"key": ADA.key, "name": "Ada Lovelace", "role": "decider"})
    back_up(house)
    record = (beside / "house.jsonl").read_text()
    assert "Lovelace" not in record and "Typer" not in record, "the record that everything can be made anew from holds handles"
    heads = (chain_rows(house)[0]["sha"], house.store.audit.head())
    assert "Ada Lovelace" in [row["name"] for row in list_names(house)]
    assert erase_name(house.acting(ROOT), "Ada Lovelace") >= 1
    assert chain_rows(house)[0]["sha"] == heads[0] and verify_ledger(house)["ok"] and broken_audit_line(house) is None
    assert ledger_entries(house)[0]["owner"] == ERASED and ERASED in memo_html(memo_of(ledger_entry_of(house, 1)))
    assert next(row for row in list_people(house) if row["key"] == ADA.key)["name"] == ERASED
    assert [path for path in [*beside.glob("names/*"), *beside.glob("backups/files/names/*")] if "Lovelace" in path.read_text()] == []
    (line,) = [line for line in list_audit(house) if line["action"] == "person.erase"]
    assert line["name"] == "Grace Hopper" and "Lovelace" not in json.dumps(line, default=str)
    assert FolderNames(beside).all() == house.store.names.all(), "what is read at the next start is the same"
    erase_name(house, "Ben Typer")
    sheet = chain_rows(house)[0]["worksheet_id"]
    assert [one["typed_by"] for one in house.store.worksheets.entries(sheet)] == ["Bo", "Bo", ERASED]
    with pytest.raises(NotFound):
        erase_name(house, "Ada Lovelace")
    with pytest.raises(NotAllowed):
        erase_name(house.acting(ADA), "Grace Hopper")


def test_a_text_that_somebody_else_looked_at_first_is_the_one_that_is_signed(house):
    sheet = measured(house)
    words = keep(sheet, owner="Ada Lovelace")
    seen = draft_decision(house.acting(replace(ROOT, role="viewer")), words)
    assert decide(house.acting(ADA), {**words, "seen_sha256": seen.sha256})["details"]["signed_sha256"] == seen.sha256


def test_a_record_taken_out_can_be_checked_and_names_who_is_meant(house):
    signed(house)
    taken = json.loads(record_json(house, 1))
    names = taken.pop("names")
    bare = {key: value for key, value in taken.items() if key not in ("evidence", "sha")}
    assert digest(bare) == taken["sha"] and digest(taken["evidence"]) == taken["evidence_sha256"]
    assert names[taken["owner"]] == "Ada Lovelace" and set(names.values()) == {"Ada Lovelace", "Ben Typer", "Bo"}


def test_the_decision_chain_stands_for_the_audit_log_before_it(house, beside):
    """A pin, a role and an override before a decision: changed or cut afterwards, the decision shows it."""
    form = BoxForm(name="gpu", host="h", user="u", key_path="/k", engine="/e", models="/m")
    add_box(house, form, key_line="ssh-ed25519 AAAA", fingerprint="SHA256:old", who="Ada")
    fetching = replace(house, fetch_host_key=lambda host, port: ("ssh-ed25519 BBBB", "SHA256:new"))
    pin_key(fetching, "gpu", key_line="ssh-ed25519 BBBB", fingerprint="SHA256:new", seen="SHA256:old")
    decide(house, reject(measured(house)))
    acts = [line["action"] for line in list_audit(house)]
    assert acts[:2] == ["decision.override", "decision.take"] and {"box.pin", "box.add"} <= set(acts)
    (kept,) = chain_rows(house)
    assert kept["details"]["audit_line"] == 2 and kept["details"]["audit_head"] == house.store.audit.all()[1]["sha"]
    withdraw(house, {"number": 1, "owner": "Ada", "reason": "mistaken"})
    assert chain_rows(house)[1]["details"]["audit_line"] == 4 and verify_ledger(house)["ok"]
    saw = json.dumps({"head": chain_rows(house)[1]["sha"], "audit_head": house.store.audit.head()[1]})
    assert verify_ledger(house, witness=saw)["ok"]
    lines = house.store.audit.all()
    for changed, first_bad in (
        ([{**lines[0], "detail": {}}, *lines[1:]], 1),
        (lines[:1], 1),
        (lines[:3], 2),
        ([*lines[:3], {**lines[3], "object": "entry 9"}, *lines[4:]], 2),
    ):
        found = verify_ledger(_with_audit(house, changed))
        assert (found["ok"], found["first_bad"]) == (False, first_bad) and "audit log" in found["why"]
    cut = verify_ledger(_with_audit(house, lines[:-1]), witness=saw)
    assert not cut["ok"] and "witness" in cut["why"]
    assert verify_ledger(_with_audit(house, lines[:-1]))["ok"], (
        "what nobody saw yet is proven by the audit log's own chain and the house record"
    )


def _with_audit(house, lines):
    class Changed(type(house.store.audit)):
        def __init__(self):
            pass

        def all(self):
            return lines

    return replace(house, store=replace(house.store, audit=Changed()))


def test_names_and_handles_are_each_others_inverse():
    body = {"owner": "Ada", "reason": "Ada said so", "typed": {"a": {"text": "Ada", "typed_by": "Ada", "value": "Ada"}}, "second": ""}
    made = {}
    hidden = with_handles(body, lambda name: made.setdefault(name, f"person-{len(made):016x}"))
    assert re.findall("Ada", json.dumps(hidden)) == ["Ada", "Ada"] and hidden["second"] == "", "free words are nobody's name to the product"
    assert with_handles(hidden, lambda name: "x") == hidden
    assert with_names(hidden, {handle: name for name, handle in made.items()}.get) == body
    assert with_names(hidden, lambda handle: None)["owner"] == ERASED
