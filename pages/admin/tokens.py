"""Tokens: what programs call the API with, for admins."""

import streamlit as st

from core.services.tokens import list_tokens
from core.ui.components.token_list import new_token_form, token_list
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Tokens", "Programs call the API with these. Each has a role and an end; its secret is shown once.", action="token.see")
new_token_form(house)
with shown():
    tokens = list_tokens(house)
if not tokens:
    st.info("No token was made yet.")
    st.stop()
token_list(house, tokens)
