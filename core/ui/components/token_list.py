"""API tokens: the form that makes one and shows it once, and the list with its Revoke buttons."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.people import MAX_TOKEN_DAYS
from core.domain.roles import LADDER
from core.services.house import House
from core.services.tokens import make_token, revoke_token
from core.ui.components.field_problems import told
from core.ui.components.figures import when

LABELS = {"name": "What it is for", "role": "Role", "days": "Days it lives"}


def new_token_form(house: House) -> None:
    """Makes a token; it stands on the page until the next click and nowhere else."""
    with st.form("token-form"):
        name = st.text_input(LABELS["name"], key="token-name", placeholder="nightly report")
        role = st.selectbox(LABELS["role"], LADDER[1:], key="token-role")
        days = st.number_input(LABELS["days"], value=30, step=1, key="token-days", help=f"1 to {MAX_TOKEN_DAYS}.")
        is_sent = st.form_submit_button("Make token", key="make-token")
    if is_sent:
        with told(LABELS):
            token = make_token(house, {"name": name, "role": role, "days": days})
            st.success("Copy the token now: it is shown this once and kept only as a hash.")
            st.code(token, language=None)
            st.caption("Send it as a header: `Authorization: Bearer …`")


def token_list(house: House, tokens: list[dict[str, Any]]) -> None:
    """Tokens, newest first."""
    for row in tokens:
        with st.container(border=True, key=f"token-{row['token_id']}"):
            words, button = st.columns([6, 1], vertical_alignment="center")
            with words:
                st.text(row["name"])
                st.caption(f"{row['state']} · {row['role']} · id {row['token_id']}")
                st.text(f"made {when(row['made_at'])} by {row['made_by']} · {_end(row)}")
            done = False
            if row["state"] == "valid" and button.button("Revoke", key=f"revoke-{row['token_id']}", width="stretch"):
                with told(LABELS):
                    revoke_token(house, row["token_id"])
                    done = True
            if done:
                st.rerun()


def _end(row: dict[str, Any]) -> str:
    if row["revoked_at"]:
        return f"revoked {when(row['revoked_at'])} by {row['revoked_by']}"
    return f"ends {when(row['expires_at'])}"
