"""What a made model is: its dimensions, its two token tables f and g, and the tensors its file holds. No numbers, no engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

# 60 characters: a multiple of 2, 3, 4, 5, 6, 10 and 12, so those `wrong_every` are spread evenly over the whole cycle.
CYCLE_TEXT = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567"
FIRST_BYTE_ID = 3  # ids 0-2 are <unk>, <s>, </s>; the 256 byte tokens follow, then one for the space mark
VOCABULARY = FIRST_BYTE_ID + 256 + 1
Q8_BLOCK = 32
ALIGNMENT = 32


@dataclass(frozen=True)
class ModelShape:
    """What a made model is. `dims` is a power of two >= 64; widths are multiples of 32.

    `experts == 0` makes a dense trunk. `wrong_every=k`: the head is wrong at every k-th token of the cycle; None: never.
    """

    name: str
    title: str
    dims: int = 64
    layers: int = 2
    ffn: int = 128
    experts: int = 0
    experts_used: int = 2
    expert_ffn: int = 32
    heads: int = 2
    quant: str = "F32"
    wrong_every: int | None = None
    context: int = 8192

    def __post_init__(self) -> None:
        if self.dims < 64 or self.dims & (self.dims - 1):
            raise ValueError(f"dims must be a power of two >= 64, not {self.dims}")
        if self.quant not in ("F32", "Q8_0"):
            raise ValueError(f"quant must be F32 or Q8_0, not {self.quant}")
        if self.wrong_every is not None and self.wrong_every < 1:
            raise ValueError("wrong_every must be at least 1")

    @property
    def is_moe(self) -> bool:
        """Whether the trunk's layers hold experts."""
        return self.experts > 0

    @property
    def cycle(self) -> tuple[int, ...]:
        """Token ids of the cycle, in the order the text walks them."""
        return tuple(FIRST_BYTE_ID + ord(letter) for letter in CYCLE_TEXT)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Position on the cycle for every token id; an id outside the cycle stands in for one on it."""
        known = {token: place for place, token in enumerate(self.cycle)}
        return tuple(known.get(token, token % len(known)) for token in range(VOCABULARY))

    @cached_property
    def follow(self) -> tuple[int, ...]:
        """f: the token the model writes after each token id."""
        return tuple(self.cycle[(place + 1) % len(self.cycle)] for place in self.places)

    @cached_property
    def guess(self) -> tuple[int, ...]:
        """g: the token the MTP head proposes after each token id; where wrong, it lands half a cycle away."""
        return tuple(self.cycle[self._guessed_place(place)] for place in self.places)

    def _guessed_place(self, place: int) -> int:
        wrong = self.wrong_every is not None and (place + 1) % self.wrong_every == 0
        return (place + 1 + (len(self.cycle) // 2 if wrong else 0)) % len(self.cycle)

    @property
    def size_bytes(self) -> int:
        """Bytes of the weights with their padding; the file adds a header of 10 to 13 KB."""
        return sum(tensor.padded_bytes for tensor in tensors_of(self))


@dataclass(frozen=True)
class Tensor:
    """One tensor of the file: its name, row-major shape, what fills it, and its number format."""

    name: str
    shape: tuple[int, ...]
    fill: str
    quant: str

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor's numbers."""
        count = math.prod(self.shape)
        return count * 4 if self.quant == "F32" else count // Q8_BLOCK * (Q8_BLOCK + 2)

    @property
    def padded_bytes(self) -> int:
        """Bytes it takes in the file, where every tensor starts on a multiple of 32."""
        return padded(self.nbytes)


def padded(count: int) -> int:
    """`count` bytes rounded up to the file's alignment."""
    return -(-count // ALIGNMENT) * ALIGNMENT


def tensors_of(shape: ModelShape) -> list[Tensor]:
    """Every tensor of the file in file order: embeddings, trunk, MTP block, heads."""
    dims = shape.dims
    wide, narrow = shape.quant, "F32"
    listed = [Tensor("token_embd.weight", (VOCABULARY, dims), "embed", wide)]
    for block in range(shape.layers):
        listed += _attention(shape, block)
        listed += _experts(shape, block, shape.experts) if shape.is_moe else _dense_ffn(shape, block)
    head = shape.layers
    listed += _attention(shape, head) + _experts(shape, head, shape.experts or 2)
    listed += [
        Tensor(f"blk.{head}.nextn.eh_proj.weight", (dims, 2 * dims), "take_embedding", wide),
        Tensor(f"blk.{head}.nextn.enorm.weight", (dims,), "one", narrow),
        Tensor(f"blk.{head}.nextn.hnorm.weight", (dims,), "one", narrow),
        Tensor(f"blk.{head}.nextn.shared_head_head.weight", (VOCABULARY, dims), "guess", wide),
        Tensor(f"blk.{head}.nextn.shared_head_norm.weight", (dims,), "one", narrow),
        Tensor("output_norm.weight", (dims,), "one", narrow),
        Tensor("output.weight", (VOCABULARY, dims), "follow", wide),
    ]
    return listed


def _attention(shape: ModelShape, block: int) -> list[Tensor]:
    dims, at = shape.dims, f"blk.{block}."
    return [
        Tensor(at + "attn_norm.weight", (dims,), "one", "F32"),
        Tensor(at + "post_attention_norm.weight", (dims,), "one", "F32"),
        Tensor(at + "attn_q.weight", (dims, dims), "random", shape.quant),
        Tensor(at + "attn_k.weight", (dims, dims), "random", shape.quant),
        Tensor(at + "attn_v.weight", (dims, dims), "random", shape.quant),
        Tensor(at + "attn_output.weight", (dims, dims), "zero", shape.quant),
    ]


def _dense_ffn(shape: ModelShape, block: int) -> list[Tensor]:
    dims, at = shape.dims, f"blk.{block}."
    return [
        Tensor(at + "ffn_gate.weight", (shape.ffn, dims), "random", shape.quant),
        Tensor(at + "ffn_up.weight", (shape.ffn, dims), "random", shape.quant),
        Tensor(at + "ffn_down.weight", (dims, shape.ffn), "zero", shape.quant),
    ]


def _experts(shape: ModelShape, block: int, experts: int) -> list[Tensor]:
    dims, width, at = shape.dims, shape.expert_ffn, f"blk.{block}."
    return [
        Tensor(at + "ffn_gate_inp.weight", (experts, dims), "random", "F32"),
        Tensor(at + "exp_probs_b.bias", (experts,), "zero", "F32"),
        Tensor(at + "ffn_gate_exps.weight", (experts, width, dims), "random", shape.quant),
        Tensor(at + "ffn_up_exps.weight", (experts, width, dims), "random", shape.quant),
        Tensor(at + "ffn_down_exps.weight", (experts, dims, width), "zero", shape.quant),
        Tensor(at + "ffn_gate_shexp.weight", (width, dims), "random", shape.quant),
        Tensor(at + "ffn_up_shexp.weight", (width, dims), "random", shape.quant),
        Tensor(at + "ffn_down_shexp.weight", (dims, width), "zero", shape.quant),
    ]
