"""Where a worksheet may start from: the usual changes, each with what it asks and what to look at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.domain.run import Proposal


class WorksheetForm(Proposal):
    """A proposal as one worksheet: which change it prices, and the worksheet it was cloned from."""

    change: Literal["mtp", "widen", "draft", "engine"] = "mtp"
    cloned_from: str | None = None


@dataclass(frozen=True)
class Template:
    """`title` takes the model's name; `n_max` None: as it stands."""

    label: str
    title: str
    hint: str
    n_max: int | None = None


TEMPLATES: dict[str, Template] = {
    "mtp": Template(
        "Turn on MTP",
        "Turn on MTP for {model}",
        "MTP: the model drafts a few tokens ahead and checks them in one step. Off is measured against n_max 1, then longer drafts while"
        " each pays.",
        3,
    ),
    "widen": Template(
        "Widen n_max",
        "Longer drafts for {model}",
        "The sweep begins at n_max 1 again: a longer draft is worth something only against every shorter one, in the same run.",
        6,
    ),
    "draft": Template(
        "Change the draft model",
        "Another draft head for {model}",
        "Choose the model file with the other head. Before training a better one: does n_max 1 pay, and how much is spilled?",
    ),
    "engine": Template(
        "New engine build",
        "{model} on a new engine build",
        "Choose the engine with the new build. Off and on are both measured with it: a speed-up is taken within one run.",
    ),
}


def template(change: str | None) -> Template:
    """The template of a change; worksheets from before there were any count as “Turn on MTP”."""
    return TEMPLATES.get(change or "mtp", TEMPLATES["mtp"])
