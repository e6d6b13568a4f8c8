"""What an engine must count on a made model, from its two token tables alone: no engine, no stored numbers.

Speculative decoding under greedy sampling: the prompt's pass yields the first token; each later step drafts up to n_max
tokens with g, the target (f) checks them in order, keeps those that agree and adds one token of its own. A step never
drafts more than still fits in front of that own token, so the last step's draft is cut by the token limit, and when one
token is left nothing is drafted. The prompt's pass is no step.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.embedded.shape import FIRST_BYTE_ID, ModelShape


@dataclass(frozen=True)
class Walk:
    """The counts of one request. `tokens`: the ids written, in order; all other figures count tokens or steps.

    drafted, accepted   as `draft_n`, `draft_n_accepted` in the reply's timings (0 where the engine leaves them out)
    steps               target passes after the prompt's: predicted_n - 1 - accepted
    drafts              steps that verified a draft, as `spec_decode_num_drafts_total`
    accepted_at         per draft position from 0: drafts accepted at least that far, as `..._per_pos_total`
    """

    tokens: tuple[int, ...]
    drafted: int
    accepted: int
    steps: int
    drafts: int
    accepted_at: tuple[int, ...]

    @property
    def text(self) -> str:
        """The reply's text."""
        return bytes(token - FIRST_BYTE_ID for token in self.tokens).decode("ascii")


def walk(shape: ModelShape, *, n_max: int, prompt_end: int, length: int) -> Walk:
    """The exact outcome of one request: `length` tokens (>= 1) after a prompt whose last token id is `prompt_end`.

    `n_max` 0 means speculation off. Holds for one slot's greedy decoding with n_min and p_min at 0 and room in the context.
    """
    if length < 1 or n_max < 0:
        raise ValueError("length must be at least 1 and n_max at least 0")
    written = [shape.follow[prompt_end]]
    draft_sizes: list[int] = []
    accepted_sizes: list[int] = []
    while len(written) < length:
        draft = draft_from(shape, written[-1], min(n_max, length - len(written) - 1))
        kept = agreeing(shape, written[-1], draft)
        written += kept
        written.append(shape.follow[written[-1]])
        draft_sizes.append(len(draft))
        accepted_sizes.append(len(kept))
    return Walk(
        tokens=tuple(written),
        drafted=sum(draft_sizes),
        accepted=sum(accepted_sizes),
        steps=len(draft_sizes),
        drafts=sum(size > 0 for size in draft_sizes),
        accepted_at=tuple(sum(kept > position for kept in accepted_sizes) for position in range(n_max)),
    )


def draft_from(shape: ModelShape, token: int, size: int) -> list[int]:
    """What the head proposes after `token`: each proposal follows from the one before, right or wrong."""
    draft: list[int] = []
    for _ in range(size):
        token = shape.guess[token]
        draft.append(token)
    return draft


def agreeing(shape: ModelShape, token: int, draft: list[int]) -> list[int]:
    """The front part of `draft` that the target would have written itself after `token`."""
    kept: list[int] = []
    for proposed in draft:
        token = shape.follow[token]
        if proposed != token:
            break
        kept.append(proposed)
    return kept
