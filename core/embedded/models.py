"""Makes the two models of the embedded engine: small GGUF files with an MTP head whose acceptance is known beforehand.

The trunk's attention outputs and FFN down projections are zero, so the residual stream stays the token's embedding while
every multiplication and every byte read stays real. The output matrix sends each token to the next one on a fixed cycle
of printable characters (`follow`, f); the MTP head does the same, except where it shall be wrong (`guess`, g). Text and
accept counts are therefore computable without an engine: see `walk`.

    made-dense   all F32, bound by memory: verifying more tokens is nearly free, so drafts win
    made-moe     32 experts a layer, 2 used: each verified token reads other experts, so drafts lose
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from core.errors import BenchError

Progress = Callable[[float, str], None]
Rows = np.ndarray[Any, Any]

# 60 characters: a multiple of 2, 3, 4, 5, 6, 10 and 12, so those `wrong_every` are spread evenly over the whole cycle.
CYCLE_TEXT = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567"
FIRST_BYTE_ID = 3  # ids 0-2 are <unk>, <s>, </s>; the 256 byte tokens follow
SPACE_ID = FIRST_BYTE_ID + 256
VOCABULARY = SPACE_ID + 1
Q8_BLOCK = 32
SEED = 20260923
# Ends with the last character of the last message, so a request chooses where on the cycle the text starts.
CHAT_TEMPLATE = "{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}{% endfor %}"


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
        """Bytes of all weights; the file adds a header of a few KiB."""
        return sum(tensor.nbytes for tensor in _tensors(self))


MODELS: dict[str, ModelShape] = {
    "made-dense": ModelShape(
        name="made-dense", title="Made dense: head always right, drafts win", dims=512, layers=2, ffn=21504, expert_ffn=32, heads=8
    ),
    "made-moe": ModelShape(
        name="made-moe",
        title="Made MoE: 32 experts, head wrong at every 5th token, drafts lose",
        dims=512,
        layers=4,
        ffn=384,
        experts=32,
        expert_ffn=384,
        heads=8,
        quant="Q8_0",
        wrong_every=5,
    ),
}


@dataclass(frozen=True)
class _Tensor:
    """One tensor of the file: its name, row-major shape, what fills it, and its number format."""

    name: str
    shape: tuple[int, ...]
    fill: str
    quant: str

    @property
    def nbytes(self) -> int:
        count = int(np.prod(self.shape))
        return count * 4 if self.quant == "F32" else count // Q8_BLOCK * (Q8_BLOCK + 2)


def _tensors(shape: ModelShape) -> list[_Tensor]:
    """Every tensor of the file in file order: embeddings, trunk, MTP block, heads."""
    dims = shape.dims
    wide, narrow = shape.quant, "F32"
    listed = [_Tensor("token_embd.weight", (VOCABULARY, dims), "embed", wide)]
    for block in range(shape.layers):
        listed += _attention(shape, block)
        listed += _experts(shape, block, shape.experts) if shape.is_moe else _dense_ffn(shape, block)
    head = shape.layers
    listed += _attention(shape, head) + _experts(shape, head, shape.experts or 2)
    listed += [
        _Tensor(f"blk.{head}.nextn.eh_proj.weight", (dims, 2 * dims), "take_embedding", wide),
        _Tensor(f"blk.{head}.nextn.enorm.weight", (dims,), "one", narrow),
        _Tensor(f"blk.{head}.nextn.hnorm.weight", (dims,), "one", narrow),
        _Tensor(f"blk.{head}.nextn.shared_head_head.weight", (VOCABULARY, dims), "guess", wide),
        _Tensor(f"blk.{head}.nextn.shared_head_norm.weight", (dims,), "one", narrow),
        _Tensor("output_norm.weight", (dims,), "one", narrow),
        _Tensor("output.weight", (VOCABULARY, dims), "follow", wide),
    ]
    return listed


def _attention(shape: ModelShape, block: int) -> list[_Tensor]:
    dims, at = shape.dims, f"blk.{block}."
    return [
        _Tensor(at + "attn_norm.weight", (dims,), "one", "F32"),
        _Tensor(at + "post_attention_norm.weight", (dims,), "one", "F32"),
        _Tensor(at + "attn_q.weight", (dims, dims), "random", shape.quant),
        _Tensor(at + "attn_k.weight", (dims, dims), "random", shape.quant),
        _Tensor(at + "attn_v.weight", (dims, dims), "random", shape.quant),
        _Tensor(at + "attn_output.weight", (dims, dims), "zero", shape.quant),
    ]


def _dense_ffn(shape: ModelShape, block: int) -> list[_Tensor]:
    dims, at = shape.dims, f"blk.{block}."
    return [
        _Tensor(at + "ffn_gate.weight", (shape.ffn, dims), "random", shape.quant),
        _Tensor(at + "ffn_up.weight", (shape.ffn, dims), "random", shape.quant),
        _Tensor(at + "ffn_down.weight", (dims, shape.ffn), "zero", shape.quant),
    ]


def _experts(shape: ModelShape, block: int, experts: int) -> list[_Tensor]:
    dims, width, at = shape.dims, shape.expert_ffn, f"blk.{block}."
    return [
        _Tensor(at + "ffn_gate_inp.weight", (experts, dims), "random", "F32"),
        _Tensor(at + "exp_probs_b.bias", (experts,), "zero", "F32"),
        _Tensor(at + "ffn_gate_exps.weight", (experts, width, dims), "random", shape.quant),
        _Tensor(at + "ffn_up_exps.weight", (experts, width, dims), "random", shape.quant),
        _Tensor(at + "ffn_down_exps.weight", (experts, dims, width), "zero", shape.quant),
        _Tensor(at + "ffn_gate_shexp.weight", (width, dims), "random", shape.quant),
        _Tensor(at + "ffn_up_shexp.weight", (width, dims), "random", shape.quant),
        _Tensor(at + "ffn_down_shexp.weight", (dims, width), "zero", shape.quant),
    ]


def _signs(dims: int) -> Rows:
    """Rows of +1/-1, each exactly orthogonal to every other (Sylvester's construction), so a token never looks like another."""
    rows = np.ones((1, 1), dtype=np.int8)
    while rows.shape[0] < dims:
        rows = np.block([[rows, rows], [rows, -rows]])
    return rows


def _integers(shape: ModelShape, tensor: _Tensor) -> Rows:
    """The tensor as small integers; its scale is applied on encoding."""
    if tensor.fill == "random":
        return np.random.default_rng([SEED, zlib.crc32(tensor.name.encode())]).integers(-127, 128, tensor.shape, dtype=np.int8)
    filled = np.full(tensor.shape, tensor.fill == "one", dtype=np.int8)
    if tensor.fill == "take_embedding":
        np.fill_diagonal(filled, 1)  # [I | 0]: the embedding passes, the hidden state does not
    elif tensor.fill == "embed":
        filled[:] = _signs(shape.dims)[list(shape.places)]
    elif tensor.fill in ("follow", "guess"):
        table = shape.follow if tensor.fill == "follow" else shape.guess
        for token, place in zip(shape.cycle, range(len(shape.cycle)), strict=True):
            filled[table[token]] += _signs(shape.dims)[place]
    return filled


def _encode(shape: ModelShape, tensor: _Tensor) -> Rows:
    """The tensor's bytes as the file holds them. Random weights are scaled so that activations stay near 1."""
    whole = _integers(shape, tensor)
    scale = 2.0**-11 if tensor.fill == "random" else 1.0
    if tensor.quant == "F32":
        return whole.astype(np.float32) * np.float32(scale)
    blocks = np.empty((*tensor.shape[:-1], tensor.shape[-1] // Q8_BLOCK, Q8_BLOCK + 2), dtype=np.uint8)
    blocks[..., :2] = np.array([scale], dtype="<f2").view(np.uint8)
    blocks[..., 2:] = whole.view(np.uint8).reshape(*blocks.shape[:-1], Q8_BLOCK)
    return blocks.reshape(*tensor.shape[:-1], -1)


def _tokenizer(writer: gguf.GGUFWriter) -> None:
    letters = [f"<0x{value:02X}>" for value in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>", *letters, "\u2581"])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([*kinds, *[gguf.TokenType.BYTE] * 256, gguf.TokenType.NORMAL])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def _open_writer(shape: ModelShape, path: Path) -> gguf.GGUFWriter:
    """Write everything but the weights to `path`; the returned writer expects the tensors next, in file order."""
    writer = gguf.GGUFWriter(path, "glm4moe")
    writer.add_name(shape.name)
    writer.add_description(f"{shape.title}; wrong_every={shape.wrong_every}; seed={SEED}; {CYCLE_TEXT}")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if shape.quant == "F32" else gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_block_count(shape.layers + 1)  # the MTP block counts
    writer.add_nextn_predict_layers(1)
    writer.add_leading_dense_block_count(0 if shape.is_moe else shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dims)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_key_length(shape.dims // shape.heads)
    writer.add_value_length(shape.dims // shape.heads)
    writer.add_rope_dimension_count(shape.dims // shape.heads // 2)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_expert_count(shape.experts or 2)
    writer.add_expert_used_count(shape.experts_used)
    writer.add_expert_shared_count(1)
    writer.add_expert_feed_forward_length(shape.expert_ffn)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_expert_weights_norm(True)
    writer.add_expert_weights_scale(1.0)
    _tokenizer(writer)
    for tensor in _tensors(shape):
        kind = gguf.GGMLQuantizationType[tensor.quant]
        writer.add_tensor_info(tensor.name, tensor.shape, np.dtype(np.float32), tensor.nbytes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    return writer
