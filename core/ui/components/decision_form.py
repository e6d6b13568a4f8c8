"""Keep or reject: who answers, and why; then the very text that is signed, with its hash, and Sign. The service checks everything again."""

from __future__ import annotations

import secrets
from typing import Any

import streamlit as st

from core.domain.decision import ACTIONS, AGE_DAYS, KEEP, NOT_PRICED, REJECT, STALE_WHEN, WITHDRAWN, is_against
from core.services.decisions import decide, draft_decision, withdraw
from core.services.house import House
from core.ui.components.field_problems import told
from core.ui.components.figures import when
from core.ui.components.gate_list import open_gates
from core.ui.components.links import decision_link
from core.ui.components.name_field import follow_person
from core.ui.components.old_production import old_production

LABELS = {
    "owner": "Owner", "on_behalf_of": "On behalf of",
    "reason": "Reason", "against_why": "Why against the suggestion", "verdict": "Verdict", "second": "Second person",
    "action": "Action", "stale_when": "Goes stale when one of these differs in a newer run", "age_days": "Age limit in days",
    "old": "Old production recipe", "old.label": "Name of the old recipe", "old.tok_s_min": "The old recipe's lowest tok/s",
    "old.tok_s_max": "The old recipe's highest tok/s", "old.scores": "The old recipe's suite scores", "number": "Entry",
}  # fmt: skip
_OWNER, _DRAFT, _OF, _KEPT = "decision-owner", "decision-draft", "decision-of", "kept-decisions"
_AS_SUGGESTED = "as suggested"


def owner_typed() -> str:
    """The owner as it stands in the form: at first the person's own name."""
    return follow_person(_OWNER)


def decision_form(house: House, view: dict[str, Any]) -> None:
    """The form, or the decision once it is taken; a later one supersedes it."""
    st.subheader("Decision", anchor=False)
    _forget_other(view["worksheet"]["worksheet_id"])
    taken = view["decisions"][-1] if view["decisions"] else None
    if taken:
        _final(taken)
    if taken is None or taken["verdict"] == WITHDRAWN:
        _form(house, view)
    elif st.toggle("Supersede or withdraw this decision", key=f"decide-again-{taken['number']}"):
        _form(house, view)
        _withdraw(house, taken["number"])


def _forget_other(worksheet_id: str) -> None:
    """Words typed for one worksheet do not stand in the form of another; they come back with their own."""
    earlier, kept = st.session_state.get(_OF), st.session_state.setdefault(_KEPT, {})
    if earlier != worksheet_id:
        typed = {str(key): st.session_state[key] for key in st.session_state if _is_typed(str(key))}
        kept[earlier] = {key: value for key, value in typed.items() if key != _DRAFT}
        for key in typed:
            del st.session_state[key]
        st.session_state.update(kept.pop(worksheet_id, {}))
        st.session_state[_OF] = worksheet_id


def _is_typed(key: str) -> bool:
    return key.startswith("decision-") and key != _OF and not key.startswith(_OWNER)


def _form(house: House, view: dict[str, Any]) -> None:
    verdict = st.radio("Verdict", (REJECT, KEEP), index=None, horizontal=True, key="decision-verdict", persist_state="session")
    values = {"worksheet_id": view["worksheet"]["worksheet_id"], "verdict": verdict, **_words(house, view, verdict)}
    still = open_gates(view["gates"])
    is_closed = verdict == KEEP and bool(still)
    if is_closed:
        st.text("Keep is not possible yet. Open gates: " + ", ".join(still))
    if st.button("Read what will be signed", key="read-decision", disabled=verdict is None or is_closed):
        st.session_state.pop(_DRAFT, None)
        with told(LABELS):
            draft = draft_decision(house, values)
            st.session_state[_DRAFT] = {"values": values, "text": draft.text, "sha256": draft.sha256, "sign_id": secrets.token_hex(16)}
    _sign(house, values)


def _words(house: House, view: dict[str, Any], verdict: str | None) -> dict[str, Any]:
    """Everything a person types or chooses beside the verdict."""
    found: dict[str, Any] = {"owner": st.text_input(LABELS["owner"], key=_OWNER, persist_state="session")}
    found["reason"] = st.text_area(LABELS["reason"], key="decision-reason", height=80, persist_state="session")
    action = None
    with st.expander("Action, what makes it stale, and for whom", key="decision-more", expanded=False):
        chosen = st.selectbox(LABELS["action"], (_AS_SUGGESTED, *ACTIONS, NOT_PRICED), key="decision-action", persist_state="session")
        action = None if chosen == _AS_SUGGESTED else chosen
        found["stale_when"] = st.multiselect(
            LABELS["stale_when"], STALE_WHEN, default=STALE_WHEN, key="decision-stale", persist_state="session"
        )
        found["age_days"] = st.number_input(LABELS["age_days"], value=AGE_DAYS, step=1, key="decision-age", persist_state="session")
        found["on_behalf_of"] = st.text_input(
            LABELS["on_behalf_of"], key="decision-for", placeholder="only where you sign for somebody else", max_chars=80,
            persist_state="session",
        )  # fmt: skip
    found["action"] = action
    found["old"] = old_production()
    if verdict and is_against(verdict, view["suggestion"], action):
        st.text(f"The computed suggestion is “{view['suggestion']['action']}”.")
        found["against_why"] = st.text_area(LABELS["against_why"], key="decision-against", height=80, persist_state="session")
        found["second"] = st.text_input(
            LABELS["second"] + (" (needed here)" if house.second_person else " (if somebody else looked)"),
            key="decision-second",
            persist_state="session",
        )
    return found


def _sign(house: House, values: dict[str, Any]) -> None:
    """The text as it was shown; Sign sends its hash, so that nothing else is signed. The click's own id makes a second one harmless."""
    draft = st.session_state.get(_DRAFT)
    if draft is None:
        return
    if draft["values"] != values:
        del st.session_state[_DRAFT]
        st.info("What you typed has changed since the text was shown. Read it again before you sign.")
        return
    is_done = False
    with st.container(border=True, key="decision-signing"):
        st.caption("You are about to sign exactly this. It is final: superseded or withdrawn by a later entry, never edited.")
        st.code(draft["text"], language=None, wrap_lines=True)
        st.caption(f"SHA-256 of this text: {draft['sha256']}")
        if st.button(f"Sign as {values['owner'].strip()}", type="primary", key="sign-decision"):
            with told(LABELS):
                decide(house, {**values, "seen_sha256": draft["sha256"], "sign_id": draft["sign_id"]})
                is_done = True
    if is_done:
        del st.session_state[_DRAFT]
        st.toast("The decision stands in the ledger.")
        st.rerun()


def _withdraw(house: House, number: int) -> None:
    is_done = False
    follow_person("withdraw-owner")
    with st.form("withdraw-form"):
        st.text(f"Or withdraw entry {number}: it stays, and a new entry takes it back.")
        owner = st.text_input("Withdrawn by", key="withdraw-owner")
        reason = st.text_area("Reason for withdrawing", key="withdraw-reason", height=80)
        if st.form_submit_button("Withdraw", key="withdraw"):
            with told({"owner": "Withdrawn by", "reason": "Reason for withdrawing"}):
                withdraw(house, {"number": number, "owner": owner, "reason": reason})
                is_done = True
    if is_done:
        st.toast(f"Entry {number} is withdrawn.")
        st.rerun()


def signed_by(entry: dict[str, Any]) -> str:
    """“Ada (local identity) for Bo · 29 Nov, 20:00 · action: keep”."""
    details = entry.get("details") or {}
    identity = f" ({details['identity']})" if details.get("identity") else ""
    behalf = f" for {details['on_behalf_of']}" if details.get("on_behalf_of") else ""
    return f"{entry['owner']}{identity}{behalf} · {when(entry['noted_at'])} · action: {entry['action']}"


def verdict_badge(verdict: str) -> None:
    """KEEP, REJECT or WITHDRAWN on its colour."""
    st.badge(verdict.upper(), color="blue" if verdict == KEEP else "orange" if verdict == REJECT else "gray")


def _final(entry: dict[str, Any]) -> None:
    with st.container(border=True, key="decision-final"):
        verdict_badge(entry["verdict"])
        st.text(signed_by(entry))
        st.text(entry["reason"])
        st.caption("This is final: it can be superseded or withdrawn by a later entry, never edited.")
        decision_link(entry["number"], f"Entry {entry['number']} in the ledger")
