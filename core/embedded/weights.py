"""The numbers of a made model, tensor by tensor. Integers from a fixed seed times a power of two: the same bytes on every machine."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from core.embedded.shape import Q8_BLOCK, ModelShape, Tensor

Rows = np.ndarray[Any, Any]

SEED = 20260923


def _signs(dims: int) -> Rows:
    """Rows of +1/-1, each exactly orthogonal to every other (Sylvester's construction), so a token never looks like another."""
    rows = np.ones((1, 1), dtype=np.int8)
    while rows.shape[0] < dims:
        rows = np.block([[rows, rows], [rows, -rows]])
    return rows


def _integers(shape: ModelShape, tensor: Tensor) -> Rows:
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


def encode(shape: ModelShape, tensor: Tensor) -> Rows:
    """The tensor's bytes as the file holds them. Random weights are scaled so that activations stay near 1."""
    whole = _integers(shape, tensor)
    scale = 2.0**-11 if tensor.fill == "random" else 1.0
    if tensor.quant == "F32":
        return whole.astype(np.float32) * np.float32(scale)
    blocks = np.empty((*tensor.shape[:-1], tensor.shape[-1] // Q8_BLOCK, Q8_BLOCK + 2), dtype=np.uint8)
    blocks[..., :2] = np.array([scale], dtype="<f2").view(np.uint8)
    blocks[..., 2:] = whole.view(np.uint8).reshape(*blocks.shape[:-1], Q8_BLOCK)
    return blocks.reshape(*tensor.shape[:-1], -1)
