"""A stand-in for the packed agent: the verbs' answers and files without any measuring, in one small zip."""

from __future__ import annotations

import hashlib
import io
import zipfile

from core.remote import agent_bundle

_MAIN = """
import json, os, sys
root, verb, rest = sys.argv[2], sys.argv[3], sys.argv[4:]
run = os.path.join(root, "runs", rest[0]) if rest else ""
name = lambda leaf: os.path.join(run, leaf)
answer = {}
if verb == "probe":
    answer = {"python": "%d.%d.%d" % sys.version_info[:3], "allow": json.load(open(os.path.join(root, "allow.json")))}
elif verb == "start":
    if os.path.exists(name("agent.json")):
        answer = {"answer": "already", "finished": False}
    else:
        json.load(open(name("spec.json")))
        open(name("agent.json"), "w").write("{}")
        open(name("events.jsonl"), "w").write('{"seq":1}\\n{"seq":2}\\n')
        answer = {"answer": "started", "pid": os.getpid()}
elif verb == "state":
    known = os.path.exists(name("agent.json"))
    answer = {"known": known, "alive": known, "finished": False, "heartbeat": None}
elif verb == "cancel":
    assert rest[1] == "--who", rest
    answer = {"answer": "asked" if os.path.exists(name("agent.json")) else "unknown-run", "left": []}
elif verb == "reap":
    answer = {"reaped": []}
print("noise before @@draftledger {broken")
print("@@draftledger " + json.dumps(answer))
"""


def pack(main: str) -> tuple[bytes, str]:
    """A zipapp of one `__main__`, with its SHA-256."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", (1980, 1, 1, 0, 0, 0)), main)  # the same content has the same hash, always
    return packed.getvalue(), hashlib.sha256(packed.getvalue()).hexdigest()


def build() -> tuple[bytes, str]:
    """The stand-in, in the form AgentBox takes a bundle."""
    return pack(_MAIN)


# The same answers below the real gate.
_LIFECYCLE = """
import json, os
def _run(root, run_id, leaf):
    return os.path.join(root, "runs", run_id, leaf)
def start(root, run_id, sha):
    if os.path.exists(_run(root, run_id, "agent.json")):
        return {"answer": "already", "finished": False}
    json.load(open(_run(root, run_id, "spec.json")))
    open(_run(root, run_id, "agent.json"), "w").write("{}")
    open(_run(root, run_id, "events.jsonl"), "w").write('{"seq":1}\\n{"seq":2}\\n')
    return {"answer": "started", "pid": os.getpid()}
def state(root, run_id):
    known = os.path.exists(_run(root, run_id, "agent.json"))
    return {"known": known, "alive": known, "finished": False, "heartbeat": None}
def cancel(root, run_id, who):
    return {"answer": "asked" if os.path.exists(_run(root, run_id, "agent.json")) else "unknown-run", "left": []}
def reap(root):
    return {"reaped": []}
"""


def build_below_the_gate() -> bytes:
    """The real agent, gate and all, whose runs measure nothing."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(agent_bundle.build()[0])) as real, zipfile.ZipFile(packed, "w") as archive:
        for name in real.namelist():
            archive.writestr(
                zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), _LIFECYCLE if name.endswith("/lifecycle.py") else real.read(name)
            )
    return packed.getvalue()
