"""Roles: the ladder, written out once more by hand, and denied by default."""

from __future__ import annotations

import pytest

from core.domain.audit import first_broken_line, linked
from core.domain.roles import ACTIONS, LADDER, allowed, role_of_claims
from core.domain.secret_words import redacted, redacted_all
from core.domain.start import StartFacts, start_problems

MAY = {
    "none": set(),
    "viewer": {"see", "export"},
    "runner": {"work.propose", "work.type", "work.comment", "run.start", "run.stop", "run.order", "run.exclude", "box.check", "import.add"},
    "decider": {"decision.take"},
    "admin": {
        "box.add", "box.edit", "box.pin", "box.remove", "person.see", "person.set", "token.see", "token.make", "token.revoke",
        "audit.see", "house.keep",
    },
}  # fmt: skip


@pytest.mark.parametrize("role", LADDER)
@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_every_role_against_every_action(role, action):
    below = LADDER[: LADDER.index(role) + 1]
    assert allowed(role, action) is any(action in MAY[one] for one in below)


def test_the_table_by_hand_names_every_action():
    assert set().union(*MAY.values()) == set(ACTIONS)


@pytest.mark.parametrize(("role", "action"), [("root", "see"), ("", "see"), ("admin", "see.all"), ("admin", ""), ("Admin", "see")])
def test_unknown_roles_and_actions_are_denied(role, action):
    assert allowed(role, action) is False


@pytest.mark.parametrize(
    ("held", "role"),
    [
        (["a", "b"], "admin"),
        ("a", "viewer"),
        (["x"], "none"),
        ([], "none"),
        (None, "none"),
        ({"b": 1}, "none"),
        ([["b"]], "none"),
        (3, "none"),
    ],
)
def test_a_claim_grants_its_highest_role_and_unknown_groups_nothing(held, role):
    assert role_of_claims(held, {"a": "viewer", "b": "admin", "c": "emperor"}) == role


def test_the_chain_shows_a_changed_a_missing_and_a_moved_line():
    lines, prev = [], ""
    for number in range(1, 5):
        lines.append(linked(number, prev, {"action": f"a{number}"}))
        prev = lines[-1]["sha"]
    assert first_broken_line(lines) is None
    assert first_broken_line([*lines[:1], {**lines[1], "action": "other"}, *lines[2:]]) == 2
    assert first_broken_line([lines[0], *lines[2:]]) == 2
    assert first_broken_line([lines[1], lines[0], *lines[2:]]) == 1


CANARY = "c4n4ry" * 6


@pytest.mark.parametrize(
    "text",
    [
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}",
        f"Authorization: Bearer {CANARY}",
        f"--api-key {CANARY} -c 4",
        f"LLAMA_API_KEY={CANARY}",
        f'{{"api_key": "{CANARY}"}}',
        f"password: {CANARY}",
        f"cookie_secret = '{CANARY}'",
        f"dl_0123abcd_{CANARY}",
        f"http://127.0.0.1:1/enter?token={CANARY}",
        f"hf_{CANARY}",
        f"eyJhbGciOi.{CANARY}.{CANARY}",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text):
    assert CANARY not in redacted(text) and "***" in redacted(text)
    assert CANARY not in str(redacted_all({"a": [text, {"b": text}], "n": 3}))


@pytest.mark.parametrize("text", ["n_max 3 tok/s 18.8", "the key type is ssh-ed25519", "api", "sha256 " + "ab" * 32, "password?"])
def test_ordinary_words_stay(text):
    assert redacted(text) == text


OIDC = {"has_sign_in": True, "cookie_secret": "s" * 32, "redirect_uri": "https://bench.example.org/oauth2callback"}


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"address": "0.0.0.0"}, "this machine only"),
        ({"address": ""}, "every address"),
        ({"address": "::"}, "this machine only"),
        ({"address": "127.0.0.1", "has_xsrf": False}, "enableXsrfProtection"),
        ({"address": "127.0.0.1", "has_cors": False}, "enableCORS"),
        ({"address": "127.0.0.1", "trusts_headers": True}, "trustedUserHeaders"),
        ({"address": "127.0.0.1", "has_agent_api": True}, "enableAgentApi"),
        ({**OIDC, "address": "0.0.0.0"}, "DRAFTLEDGER_HOSTS"),
        ({**OIDC, "address": "127.0.0.1", "cookie_secret": "s" * 31}, "cookie_secret"),
        ({**OIDC, "address": "127.0.0.1", "redirect_uri": "http://bench.example.org/oauth2callback"}, "https"),
        ({**OIDC, "address": "127.0.0.1", "redirect_uri": ""}, "https"),
        ({**OIDC, "address": "127.0.0.1", "has_sign_in_library": False}, "Authlib"),
        ({**OIDC, "address": "0.0.0.0", "host_names": ["bench.example.org"], "trusts_headers": True}, "trustedUserHeaders"),
    ],
)
def test_unsafe_combinations_do_not_start_and_say_why(facts, word):
    problems = start_problems(StartFacts(**facts))
    assert len(problems) == 1 and word in problems[0]


@pytest.mark.parametrize(
    "facts",
    [
        {"address": "127.0.0.1"},
        {"address": "::1"},
        {**OIDC, "address": "127.0.0.1"},
        {**OIDC, "address": "127.0.0.1", "redirect_uri": "http://127.0.0.1:8501/oauth2callback"},
        {**OIDC, "address": "0.0.0.0", "host_names": ["bench.example.org"]},
    ],
)
def test_safe_combinations_start(facts):
    assert start_problems(StartFacts(**facts)) == []
