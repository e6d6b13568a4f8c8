"""`price`: two decode rates, no database."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, Answer, Verbs
from core.domain.price_form import PriceForm, priced


def register(verbs: Verbs) -> None:
    price = verbs.add("price", _price, "Price two decode rates.", database=False)
    price.add_argument("--baseline-tok-s", required=True, help="tok/s with speculation off")
    price.add_argument("--spec-tok-s", required=True, help="tok/s with speculation on")
    price.add_argument("--n-max", required=True, help="draft tokens per step")
    price.add_argument("--accept-share", help="accepted / proposed, 0-1; absent: bounds")
    price.add_argument("--d-ms", help="drafting cost of one step, ms")


def _price(args: argparse.Namespace) -> Answer:
    return EXIT_DONE, priced({name: getattr(args, name) for name in PriceForm.model_fields if getattr(args, name) is not None})
