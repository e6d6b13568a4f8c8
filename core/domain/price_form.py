"""Two decode rates and their price: the form, and the answer that command line and API both give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from core.domain.break_even import ledger_of
from core.domain.forms import Record, Share, checked
from core.domain.price import price_pair, tokens_per_step_from_share
from core.errors import InvalidInput

# A token in eleven days is the least: below it, figures lose their digits.
_Rate = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]


class PriceForm(Record):
    """Rates in tok/s with speculation off and on, draft tokens per step, accepted / proposed (0-1; None: bounds), D of one step in ms."""

    baseline_tok_s: _Rate
    spec_tok_s: _Rate
    n_max: int = Field(ge=1, le=1000)
    accept_share: Share | None = None
    d_ms: float | None = Field(default=None, ge=0, le=1e9, allow_inf_nan=False)


def priced(values: Mapping[str, Any]) -> dict[str, Any]:
    """The price with its break-even ledger under `ledger`. Raises InvalidInput."""
    form = checked(PriceForm, values)
    share = form.accept_share
    try:
        a = None if share is None else tokens_per_step_from_share(form.n_max, share)
        found = price_pair(form.baseline_tok_s, form.spec_tok_s, form.n_max, a=a, d_ms=form.d_ms)
    except ValueError as error:
        raise InvalidInput({"price": f"{error}."}, hint="") from error
    return {**found.as_json(), "ledger": ledger_of(found, form.n_max).as_json()}
