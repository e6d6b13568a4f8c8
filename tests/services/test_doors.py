"""People, tokens, the audit log and the local link over a real database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from itsdangerous import timed

from core.domain.roles import NOBODY, Actor
from core.errors import InvalidInput, NotAllowed, NotFound
from core.ports.clock import Clock
from core.services.access import authorize
from core.services.audit import broken_audit_line, list_audit
from core.services.identity import is_sign_in_over, local_actor, signed_in_actor, token_actor
from core.services.local_door import LocalDoor
from core.services.people import list_people, set_person
from core.services.tokens import list_tokens, make_token, revoke_token

ADMIN = Actor("https://id.example root", "Root", "admin", "page", is_named=True)
KEY = "https://id.example 42"


class Fixed(Clock):
    """A clock that a test moves."""

    def __init__(self):
        self.at = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def now(self):
        return self.at


@pytest.fixture
def clock():
    return Fixed()


@pytest.fixture
def owned(house, clock):
    """The house in an admin's hands."""
    return replace(house, clock=clock).acting(ADMIN)


def claims(clock, **changes):
    return {"iss": "https://id.example", "sub": "42", "name": "Ada", "iat": clock.at.timestamp(), **changes}


def test_an_unknown_person_is_noted_without_a_role_and_gets_one_from_an_admin(owned, clock):
    first = signed_in_actor(owned, claims(clock))
    assert (first.role, first.key, first.name, first.is_named) == ("none", KEY, "Ada", True)
    assert [(row["key"], row["role"], row["who"]) for row in list_people(owned)] == [(KEY, "none", "first sign-in")]
    set_person(owned, {"key": KEY, "name": "Ada", "role": "decider"})
    assert signed_in_actor(owned, claims(clock)).role == "decider"
    line = list_audit(owned)[0]
    assert (line["action"], line["object"], line["actor"], line["outcome"]) == ("person.set", KEY, ADMIN.key, "done")
    assert line["detail"] == {"role": "decider", "is_disabled": False, "role_before": "none", "was_disabled": False}


def test_a_claim_grants_a_role_and_disabling_takes_it_at_once(owned, clock):
    mapped = replace(owned, role_claim="groups", role_map={"bench": "runner"})
    ada = signed_in_actor(mapped, claims(clock, groups=["bench", "else"]))
    assert ada.role == "runner"
    set_person(mapped, {"key": KEY, "name": "Ada", "role": "admin", "is_disabled": True})
    assert signed_in_actor(mapped, claims(clock, groups=["bench"])).role == "none"
    with pytest.raises(NotAllowed):  # the page she had open before
        authorize(mapped.acting(ada), "see")
    assert signed_in_actor(mapped, claims(clock, sub="43", groups=["unknown"])).role == "none"


@pytest.mark.parametrize("changes", [{"iss": ""}, {"iss": None}, {"sub": 3}, {"iat": None}, {"iat": True}, {"iat": "1"}, {"sub": ""}])
def test_claims_that_lack_something_are_nobody(owned, clock, changes):
    assert signed_in_actor(owned, claims(clock, **changes)) == NOBODY


def test_a_sign_in_ends_after_twelve_hours_and_the_future_is_not_believed(owned, clock):
    held = claims(clock)
    assert not is_sign_in_over(owned, held)
    assert is_sign_in_over(owned, claims(clock, iat=clock.at.timestamp() + 3600))
    clock.at += timedelta(hours=12, seconds=1)
    assert is_sign_in_over(owned, held) and signed_in_actor(owned, held) == NOBODY


def test_the_same_mail_at_another_issuer_is_another_person_and_unverified_mail_is_no_name(owned, clock):
    set_person(owned, {"key": KEY, "name": "Ada", "role": "admin"})
    other = signed_in_actor(owned, claims(clock, iss="https://evil.example", email="ada@example.org", email_verified=True))
    assert other.role == "none"
    assert signed_in_actor(owned, claims(clock, sub="9", name=None, email="ada@example.org")).name == "9"
    assert signed_in_actor(owned, claims(clock, sub="9", name=None, email="a@b", email_verified=True)).name == "a@b"
    assert signed_in_actor(owned, claims(clock, sub="8", name="A\u202e\nB<b>")).name == "AB<b>"


def test_an_admin_cannot_lower_or_disable_themselves(owned):
    for changes in ({"role": "viewer"}, {"role": "admin", "is_disabled": True}):
        with pytest.raises(InvalidInput):
            set_person(owned, {"key": ADMIN.key, "name": "Root", **changes})
    assert set_person(owned, {"key": ADMIN.key, "name": "Root the First", "role": "admin"})["name"] == "Root the First"


BAD = [
    {"key": "x", "name": "A", "role": "viewer"},
    {"key": KEY, "name": "", "role": "viewer"},
    {"key": KEY, "name": "A", "role": "root"},
    {"key": "a b\nc", "name": "A", "role": "viewer"},
    {},
]


@pytest.mark.parametrize("values", BAD)
def test_bad_people_are_refused_and_nothing_is_stored(owned, values):
    with pytest.raises(InvalidInput):
        set_person(owned, values)
    assert list_people(owned) == [] and list_audit(owned) == []


def test_a_token_works_until_it_ends_or_is_revoked_and_only_its_hash_is_kept(owned, clock):
    token = make_token(owned, {"name": "nightly", "role": "viewer", "days": 2})
    actor = token_actor(owned, token)
    assert (actor.role, actor.name, actor.via) == ("viewer", "nightly", "api")
    assert token.split("_", 2)[2] not in str(owned.store.tokens.all()) + str(list_audit(owned))
    for wrong in (token[:-1] + ("a" if token[-1] != "a" else "b"), token + "x", "", "dl_00000000_" + "a" * 43, token.upper()):
        assert token_actor(owned, wrong) == NOBODY
    assert list_tokens(owned)[0]["state"] == "valid" and "sha256" not in list_tokens(owned)[0]
    clock.at += timedelta(days=2)
    assert token_actor(owned, token) == NOBODY and list_tokens(owned)[0]["state"] == "expired"
    second = make_token(owned, {"name": "second", "role": "runner"})
    revoke_token(owned, second.split("_")[1])
    revoke_token(owned, second.split("_")[1])
    assert token_actor(owned, second) == NOBODY and list_tokens(owned)[0]["state"] == "revoked"
    with pytest.raises(NotFound):
        revoke_token(owned, "nothere1")
    acts = [line["action"] for line in list_audit(owned)]
    assert acts == ["token.revoke", "token.revoke", "token.make", "token.use", "token.make"]
    assert broken_audit_line(owned) is None


def test_a_refusal_is_written_down_once_a_minute_and_says_what_is_missing(owned):
    viewer = owned.acting(replace(ADMIN, key="https://id.example v", name="Vi", role="viewer"))
    for _ in range(5):
        with pytest.raises(NotAllowed) as refused:
            authorize(viewer, "run.start", "r-1")
    assert "viewer" in refused.value.message and "runner" in refused.value.message
    with pytest.raises(NotAllowed):
        authorize(viewer, "run.start", "r-2")
    lines = list_audit(owned)
    assert [(line["object"], line["outcome"], line["name"]) for line in lines] == [("r-2", "denied", "Vi"), ("r-1", "denied", "Vi")]


def test_a_signed_in_person_writes_under_no_other_name_and_a_local_one_may(owned):
    ada = replace(ADMIN, name="Ada")
    authorize(owned.acting(ada), "decision.take", signed=" Ada ")
    authorize(owned.acting(ada), "decision.take", signed="")  # an empty name is the form's own matter
    with pytest.raises(NotAllowed, match="another name"):
        authorize(owned.acting(ada), "decision.take", signed="Bob")
    authorize(owned.acting(local_actor("Ada")), "decision.take", signed="Bob")


def test_nobody_may_do_nothing_and_an_unknown_act_is_denied(house):
    for actor in (NOBODY, Actor("k", "n", "emperor", "page")):
        with pytest.raises(NotAllowed):
            authorize(house.acting(actor), "see")
    with pytest.raises(NotAllowed):
        authorize(house.acting(ADMIN), "no.such.act")


def test_the_audit_log_shows_a_line_changed_by_hand(owned):
    make_token(owned, {"name": "a", "role": "viewer"})
    make_token(owned, {"name": "b", "role": "viewer"})
    db = owned.store.audit._db
    with db.tx() as cursor:
        cursor.execute("UPDATE audit SET name = 'Somebody' WHERE number = 1")
    assert broken_audit_line(owned) == 1
    with db.tx() as cursor:
        cursor.execute("DELETE FROM audit WHERE number = 1")
    assert broken_audit_line(owned) == 1


def test_a_secret_in_a_name_does_not_reach_the_log(owned):
    canary = "k" * 40
    with pytest.raises(NotAllowed):
        authorize(owned.acting(replace(ADMIN, role="none")), "see", f"Bearer {canary}")
    assert canary not in str(list_audit(owned))


def test_a_one_time_link_opens_one_browser_and_its_cookie_outlives_a_restart():
    key = b"k" * 32
    door = LocalDoor(key)
    token = door.token
    assert len(token) >= 43 and door.enter("wrong") is None and door.enter("") is None
    cookie = door.enter(token)
    assert cookie and door.holds(cookie) and door.enter(token) is None and door.token != token
    assert LocalDoor(key).holds(cookie) and not LocalDoor(b"x" * 32).holds(cookie)
    for forged in ("", "a.b.c", cookie[:-2], cookie.replace(".", ".x", 1), "\ud800"):
        assert not door.holds(forged)


def test_a_fixed_token_opens_again_and_an_open_door_asks_nothing():
    fixed = LocalDoor(b"k" * 32, fixed="f" * 32)
    assert fixed.enter("f" * 32) and fixed.enter("f" * 32) and fixed.enter("g" * 32) is None
    assert LocalDoor(b"k" * 32, is_open=True).holds("")


def test_a_browser_is_asked_for_a_name_once_and_never_told_the_name_of_another():
    door = LocalDoor(b"k" * 32)
    ada, bo = door.enter(door.token), door.enter(door.token)
    door.remember(ada, "Ada")
    door.remember("forged", "Eve")
    assert [door.name_of(cookie) for cookie in (ada, bo, "forged", "")] == ["Ada", "", "", ""]
    shared = LocalDoor(b"k" * 32, is_open=True)
    shared.remember("", "Ada")
    assert shared.name_of("") == "", "behind an open door nobody knows who comes next"


def test_a_cookie_ends_after_twelve_hours(monkeypatch):
    door = LocalDoor(b"k" * 32)
    cookie = door.enter(door.token)
    real = timed.time.time
    monkeypatch.setattr(timed.time, "time", lambda: real() + 12 * 3600 + 2)
    assert not door.holds(cookie)
