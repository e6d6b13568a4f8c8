"""People: who has which role, for admins."""

import streamlit as st

from core.services.people import list_people
from core.ui.components.people_list import names_kept, people_list, person_form
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("People", "Who may look, run, decide and administer. A change counts at the person's next action.", action="person.see")
with shown():
    people = list_people(house)
people_list(house, people)
st.subheader("Give a role to somebody who has not signed in yet", anchor=False)
person_form(house)
with shown():
    names_kept(house)
