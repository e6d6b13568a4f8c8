"""Packs the agent into one file named by its content: the same sources always give the same bytes."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import lru_cache
from pathlib import Path

# What travels, file by file: a new agent module has to be added here, nothing else can slip in.
FILES = (
    "core/agent/__init__.py",
    "core/agent/after.py",
    "core/agent/bounds.py",
    "core/agent/boxfacts.py",
    "core/agent/cgroup.py",
    "core/agent/client.py",
    "core/agent/detached.py",
    "core/agent/during.py",
    "core/agent/ending.py",
    "core/agent/engine.py",
    "core/agent/files.py",
    "core/agent/forget.py",
    "core/agent/gate.py",
    "core/agent/gguf_head.py",
    "core/agent/guard.py",
    "core/agent/heartbeat.py",
    "core/agent/journal.py",
    "core/agent/leftovers.py",
    "core/agent/lifecycle.py",
    "core/agent/locks.py",
    "core/agent/logpump.py",
    "core/agent/main.py",
    "core/agent/measure.py",
    "core/agent/outside.py",
    "core/agent/preflight.py",
    "core/agent/pricing.py",
    "core/agent/probe.py",
    "core/agent/proc.py",
    "core/agent/reply.py",
    "core/agent/run.py",
    "core/agent/same_but_text.py",
    "core/agent/shutdown.py",
    "core/agent/spec.py",
    "core/agent/suites.py",
    "core/agent/survival.py",
    "core/agent/talk.py",
    "core/agent/telemetry.py",
    "core/agent/turns.py",
    "core/agent/watch.py",
    "core/domain/__init__.py",
    "core/domain/arms.py",
    "core/domain/climb.py",
    "core/domain/cost_line.py",
    "core/domain/engine_flags.py",
    "core/domain/looks.py",
    "core/domain/price.py",
    "core/domain/stats.py",
    "core/domain/suite_score.py",
    "core/domain/sweep.py",
)
EMPTY = ("core/__init__.py",)
_SOURCE = Path(__file__).resolve().parents[2]
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip entry can carry

# Python 2 and 3 both read this file: a box whose Python is too old gets a sentence, not a traceback.
MAIN = b"""import sys
if sys.version_info < (3, 8):
    why = "Python %d.%d is too old for the agent: it needs 3.8 or newer." % tuple(sys.version_info[:2])
    sys.stdout.write('\\n@@draftledger {"answer": "refused", "error": "%s", "why": "%s"}\\n' % (why, why))
    sys.exit(0)
from core.agent.main import main
sys.exit(main())
"""


@lru_cache(maxsize=1)
def build() -> tuple[bytes, str]:
    """The packed agent and its SHA-256 (hex), which is its name on a box."""
    contents = {name: (_SOURCE / name).read_bytes() for name in FILES}
    contents.update({name: b"" for name in EMPTY})
    contents["__main__.py"] = MAIN
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.create_system = 3
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, contents[name])
    data = packed.getvalue()
    return data, hashlib.sha256(data).hexdigest()
