"""Keeps secrets out of what is written down: keys, tokens, passwords and private key blocks become ***."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"
_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\bdl_[0-9a-f]{8}_[A-Za-z0-9_-]{20,}"),  # this product's own API tokens
    re.compile(r"(?<=[?&]token=)[^\s&]+"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?i)((?:api[-_]?key|password|passphrase|client[-_]?secret|cookie[-_]?secret)[\"']?\s*[:= ]\s*[\"']?)([^\s\"',}]{4,})"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # signed identity tokens
    re.compile(r"\b(?:hf|ghp|gho|glpat|sk)[_-][A-Za-z0-9_-]{16,}"),
)


def redacted(text: str) -> str:
    """The text with what looks like a secret hidden; everything else as it is."""
    for pattern in _PATTERNS:
        text = pattern.sub((lambda match: match.group(1) + HIDDEN) if pattern.groups else HIDDEN, text)
    return text


def redacted_all(value: Any) -> Any:
    """The same through lists and objects."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {key: redacted_all(one) for key, one in value.items()}
    return [redacted_all(one) for one in value] if isinstance(value, list | tuple) else value
