"""Reads the few facts of a GGUF file that a bench needs, from its header only and with limits on everything."""

from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_FORMS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_KEYS, _MAX_KEY, _MAX_TEXT, _MAX_ITEMS, _MAX_HEAD = 4096, 1 << 12, 1 << 22, 1 << 22, 256 << 20
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
    14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
    36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
}  # fmt: skip
_COUNTS = ("block_count", "expert_count", "expert_used_count", "leading_dense_block_count", "nextn_predict_layers")


class NotGguf(ValueError):
    """The file is not a GGUF file this reader understands."""


def read_header(path: str) -> dict[str, Any]:
    """architecture, quantization and the counts above; None where the file does not say. Raises NotGguf, OSError."""
    with open(path, "rb", buffering=1 << 20) as stream:
        try:
            keys = _keys(stream)
        except (struct.error, UnicodeDecodeError) as error:
            raise NotGguf("the header is cut or damaged") from error
    architecture = keys.get("general.architecture")
    if not isinstance(architecture, str):
        raise NotGguf("the header names no architecture")
    found = {"architecture": architecture, "quantization": _FILE_TYPES.get(_count(keys.get("general.file_type"), -1))}  # type: dict[str, Any]
    for name in _COUNTS:
        found[name] = _count(keys.get("%s.%s" % (architecture, name)), None)
    return found


def _count(value: Any, otherwise: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _keys(stream: BinaryIO) -> dict[str, Any]:
    if stream.read(4) != b"GGUF":
        raise NotGguf("it does not begin with GGUF")
    version, _tensors, count = struct.unpack("<IQQ", _take(stream, 20))
    if version not in (2, 3) or count > _MAX_KEYS:
        raise NotGguf("format version %d with %d keys is not understood" % (version, count))
    found = {}
    for _ in range(count):
        key = _text(stream, _MAX_KEY)
        (kind,) = struct.unpack("<I", _take(stream, 4))
        value = _value(stream, kind)
        if value is not None:
            found[key] = value
        if stream.tell() > _MAX_HEAD:
            raise NotGguf("the header is longer than %d bytes" % _MAX_HEAD)
    return found


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(stream, _MAX_TEXT)
    if kind == _ARRAY:
        _skip_array(stream)
        return None
    if kind not in _SIZES:
        raise NotGguf("value type %d is not understood" % kind)
    return struct.unpack(_FORMS[kind], _take(stream, _SIZES[kind]))[0]


def _skip_array(stream: BinaryIO) -> None:
    kind, count = struct.unpack("<IQ", _take(stream, 12))
    if count > _MAX_ITEMS:
        raise NotGguf("a list of %d items is too long" % count)
    if kind == _STRING:
        for _ in range(count):
            (size,) = struct.unpack("<Q", _take(stream, 8))
            _skip(stream, size)
    elif kind in _SIZES:
        _skip(stream, count * _SIZES[kind])
    else:
        raise NotGguf("a list of type %d is not understood" % kind)


def _skip(stream: BinaryIO, size: int) -> None:
    if size > _MAX_HEAD:
        raise NotGguf("a value of %d bytes is too long" % size)
    if size < 1 << 12:
        _take(stream, size)  # a seek would throw the read-ahead away
    else:
        stream.seek(size, os.SEEK_CUR)


def _take(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise NotGguf("the header is cut")
    return data


def _text(stream: BinaryIO, limit: int) -> str:
    (size,) = struct.unpack("<Q", _take(stream, 8))
    if size > limit:
        raise NotGguf("a text of %d bytes is too long" % size)
    return _take(stream, size).decode("utf-8", "replace")
