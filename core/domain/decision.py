"""Keep or reject, with an owner: the form that is signed, when it may be taken, and the text a person signs."""

from __future__ import annotations

import json
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from core.domain.forms import Name, Rate, Record, Sentence, Title, printable
from core.domain.recipe import digest
from core.domain.worksheet import Score
from core.errors import DecisionRefused, InvalidInput

StaleName = Literal["engine build", "driver", "model artifact", "GPU", "slots", "spill", "p_min", "context"]
KEEP, REJECT, WITHDRAWN = "keep", "reject", "withdrawn"
NOT_PRICED = "not priced"
ACTIONS = ("keep", "widen", "narrow", "disable")
STALE_WHEN: tuple[StaleName, ...] = ("engine build", "driver", "model artifact", "GPU", "slots", "spill", "p_min", "context")
AGE_DAYS = 180
FORMULAS = "1"  # raised when a formula behind gates or suggestion changes
NOT_SHOWN = (
    "One engine build on one box. No other speculation method was tried. Acceptance is an observation:"
    " another head, the head switched off and re-drafted, or another context length were not run."
)

OptionalName = Annotated[str, StringConstraints(strip_whitespace=True, max_length=80), AfterValidator(printable)]


class OldProduction(Record):
    """What served before, where weights and speculation changed together: a measured cell, or figures typed in. Rates in tok/s."""

    label: Title
    cell_id: OptionalName = ""
    tok_s_min: Rate | None = None
    tok_s_max: Rate | None = None
    scores: list[Score] = Field(default_factory=list, max_length=50)
    fit: Sentence = ""
    failure_modes: Sentence = ""


class DecisionForm(Record):
    """What a person signs: `owner` is who signs, `on_behalf_of` somebody they sign for.

    `against_why`: one sentence where it goes against the suggestion; `second`: the second person, where asked for.
    `seen_sha256`: hash of the text that was shown, refused when another text would be signed now. `sign_id`: minted when the text was
    shown, so that a second click signs nothing twice.
    """

    worksheet_id: Name
    verdict: Literal["keep", "reject"]
    owner: Name
    on_behalf_of: OptionalName = ""
    reason: Sentence = ""
    against_why: Sentence = ""
    second: OptionalName = ""
    action: Literal["keep", "widen", "narrow", "disable", "not priced"] | None = None
    stale_when: tuple[StaleName, ...] = STALE_WHEN
    age_days: int = Field(default=AGE_DAYS, ge=1, le=3650)
    old: OldProduction | None = None
    seen_sha256: str = Field(default="", max_length=64)
    sign_id: str = Field(default="", max_length=64)


class WithdrawForm(Record):
    """Takes a decision back by a new record; the old one stays as it is."""

    number: int = Field(ge=1)
    owner: Name
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
    sign_id: str = Field(default="", max_length=64)


def refuse_unless_possible(
    form: DecisionForm,
    gates: list[dict[str, Any]],
    suggestion: dict[str, Any],
    *,
    unfit: list[str] | None = None,
    needs_second: bool = False,
) -> None:
    """Raises InvalidInput for missing words, DecisionRefused for open gates or unfit figures on `keep`. `reject` is always possible."""
    if form.verdict == KEEP:
        _refuse_open(gates, unfit or [])
    problems = _missing_words(form, suggestion, needs_second)
    if problems:
        raise InvalidInput(problems, hint="Nothing was signed; the worksheet is unchanged.")


def _refuse_open(gates: list[dict[str, Any]], unfit: list[str]) -> None:
    still = [gate for gate in gates if gate["state"] != "pass"]
    reasons = list(unfit)
    if still:
        counted = f"{len(still)} gate{'s are' if len(still) > 1 else ' is'} open"
        reasons.append(f"{counted}: " + "; ".join(f"{gate['label']} ({gate['state']})" for gate in still) + ".")
    if reasons:
        raise DecisionRefused(
            " ".join(reasons) + " The worksheet is kept as it is.", hint="Close what is open, or reject the change as not priced."
        )


def _missing_words(form: DecisionForm, suggestion: dict[str, Any], needs_second: bool) -> dict[str, str]:
    problems = {}
    if form.verdict == REJECT and not form.reason:
        problems["reason"] = "A rejection needs a reason: one sentence the next person can use."
    if form.action and (form.verdict == KEEP) == (form.action in ("disable", NOT_PRICED)):
        problems["action"] = f"“{form.action}” does not go with {form.verdict}."
    is_other = is_against(form.verdict, suggestion, form.action)
    if is_other and not form.against_why:
        problems["against_why"] = f"The computed suggestion is “{suggestion['action']}”. Say in one sentence why you decide otherwise."
    if form.on_behalf_of and same_person(form.on_behalf_of, form.owner):
        problems["on_behalf_of"] = "is who signs; leave it empty where you sign for yourself."
    if form.second and same_person(form.second, form.owner):
        problems["second"] = "The second person has to be somebody else than the owner."
    elif is_other and needs_second and not form.second:
        problems["second"] = "Deciding against the suggestion needs a second named person here."
    return problems


def same_person(one: str, other: str) -> bool:
    """Whether two names are the same but for case, blanks and how characters are composed."""
    first, second = ("".join(unicodedata.normalize("NFKC", name).casefold().split()) for name in (one, other))
    return first == second


def is_against(verdict: str, suggestion: dict[str, Any], action: str | None = None) -> bool:
    """Whether the verdict, or the action chosen with it, contradicts a suggestion that could be computed."""
    suggested = suggestion.get("action")
    if suggested is None:
        return False
    return (verdict == KEEP) == (suggested == "disable") or (verdict == KEEP and action is not None and action != suggested)


def action_of(form: DecisionForm, gates: list[dict[str, Any]], suggestion: dict[str, Any]) -> str:
    """The action that goes with the verdict: the chosen one, else on reject `disable` where the loss is measured, else not priced while a
    gate is missing."""
    suggested = suggestion.get("action")
    if form.action:
        return form.action
    if form.verdict == KEEP:
        return suggested if suggested in ("widen", "narrow") else "keep"
    if suggested is None or (suggested != "disable" and any(gate["state"] == "missing" for gate in gates)):
        return NOT_PRICED
    return "disable"


def signed_text(parts: dict[str, Any]) -> str:
    """The canonical text that is signed: one line a part, words from people in quotes so that no line can be forged inside them."""
    lines = [f"{name:<18}{_shown(value)}" for name, value in parts.items()]
    return "\n".join(["Draftledger decision", *lines])


def _shown(value: Any) -> str:
    if isinstance(value, str | list | dict):
        return json.dumps(value, ensure_ascii=False)
    return "none" if value is None else str(value)


def text_sha256(text: str) -> str:
    """SHA-256 of the signed text."""
    return digest(text)


def standing(entries: list[dict[str, Any]]) -> dict[int, str]:
    """Number → "in force", "superseded by N" or "withdrawn by N". A withdrawal itself stands as "a withdrawal"."""
    found: dict[int, str] = {}
    for entry in entries:
        replaced = (entry.get("details") or {}).get("supersedes")
        is_withdrawal = entry["verdict"] == WITHDRAWN
        if replaced in found:
            found[replaced] = f"{'withdrawn' if is_withdrawal else 'superseded'} by {entry['number']}"
        found[entry["number"]] = "a withdrawal" if is_withdrawal else "in force"
    return found


def in_force(entries: list[dict[str, Any]], worksheet_id: str) -> dict[str, Any] | None:
    """The decision that holds for a worksheet: its newest one, unless that was withdrawn; None while none holds."""
    mine = [entry for entry in entries if entry["worksheet_id"] == worksheet_id]
    return mine[-1] if mine and mine[-1]["verdict"] != WITHDRAWN else None
