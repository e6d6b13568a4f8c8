"""Keep or reject, with an owner: when it may be taken, and the chain that shows whether one was changed later."""

from __future__ import annotations

from typing import Any, Literal

from core.domain.forms import Name, Record, Sentence
from core.domain.recipe import digest
from core.errors import DecisionRefused, InvalidInput

KEEP, REJECT = "keep", "reject"
ACTIONS = ("keep", "widen", "narrow", "disable")
STALE_WHEN = ("engine build", "driver", "model artifact", "GPU", "slots", "spill", "p_min", "context")


class DecisionForm(Record):
    """What a person signs. `against_why`: one sentence, needed where the verdict goes against the suggestion."""

    worksheet_id: Name
    verdict: Literal["keep", "reject"]
    owner: Name
    reason: Sentence = ""
    against_why: Sentence = ""


def refuse_unless_possible(form: DecisionForm, gates: list[dict[str, Any]], suggestion: dict[str, Any]) -> None:
    """Raises InvalidInput for missing words, DecisionRefused for open gates on `keep`. `reject` is possible at any time."""
    problems = {}
    if form.verdict == REJECT and not form.reason:
        problems["reason"] = "A rejection needs a reason: one sentence the next person can use."
    if is_against(form.verdict, suggestion) and not form.against_why:
        problems["against_why"] = f"The computed suggestion is “{suggestion['action']}”. Say in one sentence why you decide otherwise."
    if problems:
        raise InvalidInput(problems, hint="The worksheet is unchanged.")
    open_gates = [gate for gate in gates if gate["state"] != "pass"]
    if form.verdict == KEEP and open_gates:
        raise DecisionRefused(
            f"{len(open_gates)} gates are open: "
            + "; ".join(f"{gate['label']} ({gate['state']})" for gate in open_gates)
            + ". The worksheet is kept as it is.",
            hint="Close them, or reject the change as not priced.",
        )


def is_against(verdict: str, suggestion: dict[str, Any]) -> bool:
    """Whether the verdict contradicts a suggestion that could be computed."""
    action = suggestion.get("action")
    return action is not None and ((verdict == KEEP) == (action == "disable"))


def chained(number: int, prev: str, body: dict[str, Any]) -> dict[str, Any]:
    """The ledger entry: `evidence_sha256` over the frozen evidence, `sha` over everything else and the entry before."""
    entry = {
        "number": number,
        "prev": prev,
        **{key: value for key, value in body.items() if key != "evidence"},
        "evidence_sha256": digest(body["evidence"]),
    }
    return {**entry, "evidence": body["evidence"], "sha": digest(entry)}


def first_broken(entries: list[dict[str, Any]]) -> int | None:
    """Number of the first entry whose hash, evidence or predecessor does not fit; None when the chain holds."""
    prev = ""
    for position, entry in enumerate(entries, 1):
        bare = {key: value for key, value in entry.items() if key not in ("evidence", "sha")}
        fits = entry["number"] == position and entry["prev"] == prev
        if not fits or digest(bare) != entry["sha"] or digest(entry["evidence"]) != entry["evidence_sha256"]:
            return position
        prev = entry["sha"]
    return None
