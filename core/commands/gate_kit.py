"""`gate-kit`: what the owner of a locked box installs there: the agent, the list of what may run, and the line for the app's key."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

from core.bootstrap import packed_agent
from core.commands.frame import EXIT_DONE, Answer, Verbs
from core.domain.box_limits import NAMES, Limits
from core.domain.forms import checked
from core.errors import InvalidInput, StoreError

_KEY = re.compile(r"(?:ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa|sk-\S+) [A-Za-z0-9+/=]+(?: [^\x00-\x1f]*)?")
_PATH = re.compile(r"/[^\x00-\x1f\"\\]*")


def register(verbs: Verbs) -> None:
    kit = verbs.add("gate-kit", _kit, "Write what a locked box needs.", database=False)
    kit.add_argument("folder", type=Path, help="where to write agent.pyz, allow.json and authorized_keys.line")
    kit.add_argument("--public-key", type=Path, required=True, help="public half of the app's key for this box")
    kit.add_argument("--engine", action="append", required=True, metavar="ID=PATH", help="an engine on the box; may be given again")
    kit.add_argument("--models", action="append", required=True, metavar="FOLDER", help="a folder of models on the box; may be given again")
    kit.add_argument("--most", action="append", default=[], metavar="NAME=N", help=f"the most one run may ask for: {', '.join(NAMES)}")
    kit.add_argument("--install-at", default="/var/lib/draftledger", help="where the files will lie on the box; runs go to its folder box/")
    kit.add_argument("--python", default="/usr/bin/python3", help="interpreter on the box")


def _kit(args: argparse.Namespace) -> Answer:
    key = _public_key(args.public_key)
    engines = [_engine(text) for text in args.engine]
    for name, path in (
        ("models", args.models[0]),
        ("install_at", args.install_at),
        ("python", args.python),
        *(("models", one) for one in args.models),
    ):
        if not _PATH.fullmatch(path):
            raise InvalidInput({name: "has to be an absolute path on the box."})
    packed, sha256 = packed_agent()
    root = f"{args.install_at.rstrip('/')}/box"
    # -I: what a client sends along as environment, where sshd takes it, does not reach the interpreter.
    command = shlex.join([args.python, "-I", f"{args.install_at.rstrip('/')}/agent.pyz", "--root", root, "gate"])
    line = f'restrict,command="{command}" {key}'
    allow = {"engines": engines, "models": [], "model_roots": args.models, "suites": [], "limits": _limits(args.most)}
    files = {"agent.pyz": packed, "allow.json": json.dumps(allow, indent=1).encode() + b"\n", "authorized_keys.line": line.encode() + b"\n"}
    try:
        args.folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (args.folder / name).write_bytes(data)
    except OSError as error:
        raise StoreError(f"{args.folder}: {error.strerror}.", hint="Choose a folder that can be written.") from error
    todo = f"On the box: agent.pyz to {args.install_at}, allow.json to {root}, the line into ~/.ssh/authorized_keys of the bench user."
    return EXIT_DONE, {"folder": str(args.folder), "agent_sha256": sha256, "authorized_keys": line, "todo": todo}


def _public_key(path: Path) -> str:
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput({"public_key": f"{path} cannot be read."}) from error
    if not _KEY.fullmatch(text):
        raise InvalidInput({"public_key": f"{path} is not one public key."})
    return text


def _limits(given: list[str]) -> dict[str, int]:
    return checked(Limits, dict(text.partition("=")[::2] for text in given)).set_ones()


def _engine(text: str) -> dict[str, object]:
    name, _, path = text.partition("=")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}", name) or not _PATH.fullmatch(path):
        raise InvalidInput({"engine": "has to be ID=/absolute/path."})
    return {"id": name, "kind": "llama.cpp", "argv": [path], "env": {}}
