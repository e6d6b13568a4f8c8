"""Import: drop what other tools printed, see what is recognised in it, confirm, and it stands in the matrix with its mark."""

from __future__ import annotations

import streamlit as st

from core.services.imports import import_files
from core.ui.components import import_preview as part
from core.ui.components.field_problems import told
from core.ui.components.person import person
from core.ui.guard import enter
from core.ui.problem import shown

house = enter(
    "Import", "What engines and bench tools printed elsewhere, read and kept as imported: shown beside the lab's own, never mixed in."
)

files, kind = part.choose_files()
if part.DONE in st.session_state:
    part.result(st.session_state[part.DONE])
with shown():
    previews = part.read_all(house, files, kind)
if previews:
    part.overview(previews)
    good = {one.sha256 for one in previews if not one.problem}
    with st.container(key="import-confirm"):
        asked = st.button(f"Take in {len(good)} of {len(previews)} files", type="primary", disabled=not good)
    if asked:
        with told({"by": "Your name (in the menu)"}):
            chosen = [file for file, one in zip(files, previews, strict=True) if one.sha256 in good]
            st.session_state[part.DONE] = import_files(house, chosen, who=person(), kind=kind)
            part.forget_files()
            st.rerun()
    for number, one in enumerate(previews):
        part.detail(one, number)
elif part.DONE not in st.session_state:
    st.info("Drop a load log, a server log, a llama-bench or batched-bench table, a vLLM report. Nothing is stored before you confirm.")
part.imported_so_far(house)
