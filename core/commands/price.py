"""`price`: two decode rates, no database."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, Answer, Verbs
from core.domain.break_even import ledger_of
from core.domain.forms import Rate, Record, Share, checked
from core.domain.price import price_pair, tokens_per_step_from_share
from core.errors import InvalidInput


class PriceForm(Record):
    """What `price` takes: rates in tok/s, share 0-1, D in ms."""

    baseline_tok_s: Rate
    spec_tok_s: Rate
    n_max: int
    accept_share: Share | None = None
    d_ms: float | None = None


def register(verbs: Verbs) -> None:
    price = verbs.add("price", _price, "Price two decode rates.", database=False)
    price.add_argument("--baseline-tok-s", required=True, help="tok/s with speculation off")
    price.add_argument("--spec-tok-s", required=True, help="tok/s with speculation on")
    price.add_argument("--n-max", required=True, help="draft tokens per step")
    price.add_argument("--accept-share", help="accepted / proposed, 0-1; absent: bounds")
    price.add_argument("--d-ms", help="drafting cost of one step, ms")


def _price(args: argparse.Namespace) -> Answer:
    given = {name: getattr(args, name) for name in PriceForm.model_fields if getattr(args, name) is not None}
    form = checked(PriceForm, given)
    share = form.accept_share
    try:
        a = None if share is None else tokens_per_step_from_share(form.n_max, share)
        found = price_pair(form.baseline_tok_s, form.spec_tok_s, form.n_max, a=a, d_ms=form.d_ms)
    except ValueError as error:
        raise InvalidInput({"price": f"{error}."}, hint="") from error
    return EXIT_DONE, {**found.as_json(), "ledger": ledger_of(found, form.n_max).as_json()}
