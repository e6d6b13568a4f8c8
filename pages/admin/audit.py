"""Audit log: what was refused and what was changed at the doors, for admins."""

import streamlit as st

from core.services.audit import broken_audit_line, list_audit
from core.ui.components.audit_list import audit_list
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Audit log", "Refused acts, role changes, pinned keys, exports, tokens: newest first, never edited.", action="audit.see")
with shown():
    lines, broken = list_audit(house), broken_audit_line(house)
if not lines:
    st.info("Nothing was written down yet. Ordinary reading leaves no line here.")
    st.stop()
if broken is None:
    st.success("The chain holds: no line was changed or taken out.")
else:
    st.error(f"The chain is broken at line {broken}: it, or the one before, was changed after it was written.")
audit_list(lines)
