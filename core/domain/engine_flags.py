"""Which arguments an engine may get: every flag known to that very build, none that opens a port, touches files, downloads or runs.

One table for both ends: the app refuses before anything travels, the agent refuses again on the box. Standard library only, Python 3.8.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"-(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\Z")
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*\Z")
_MODEL = re.compile(r"\{model(?::[^{}/\\\0]{1,200})?\}\Z")
_MAX_VALUE = 1000

# Spellings of llama.cpp, ik_llama.cpp and vLLM; compared in lower case with "_" read as "-", as the engines do.
_DENIED = frozenset(
    """--host --port --reuse-port --uds --api-key --alias -a --metrics --props --api-prefix
    -hf -hfr -hff -hfv -hfrv -hffv -hfd -hfrd -hft -mu -dr --docker-repo --path --media-path --slot-save-path --public
    -ld --logdir --log-jsonl --log-new --log-append --log-save -lora -lcs -lcd --lookup-cache-static --lookup-cache-dynamic
    --prompt-cache --prompt-cache-all -f --file -bf --in-file -o --output -ofreq -mm -mmu -mv --model-vocoder -jf -cvector
    --rpc --tools --agent --ui-mcp-proxy --webui-mcp-proxy --trust-remote-code --tokenizer --config --spec-autotune
    --middleware --kv-transfer-config --worker-cls --worker-extension-cls --logits-processors
    --served-model-name --enable-lora""".split()
)
_DENIED_STARTS = (
    "--hf", "--ssl", "--lora", "--control-vector", "--models-", "--mmproj", "--rpc", "--log-file", "--fim-", "--embd-", "--gpt-oss",
    "--vision-", "--tts-", "--api-key", "--webui-config", "--ui-config", "--spec-draft-hf", "--save", "--write", "--dump", "--sql",
)  # fmt: skip
_DENIED_ENDS = ("-url", "-file", "-dir", "-path", "-repo", "-fname", "-hf", "-hf-repo", "-hf-file", "-uri", "-endpoint", "-plugin")
WHY_DENIED = "the agent sets it itself, or it listens, writes, downloads or executes outside the run."
_MODEL_FLAGS = frozenset(("-m", "--model", "-md", "--model-draft", "--spec-draft-model"))


class FlagProblem(Exception):
    """An argument that may not be given; `code` is flag_unknown or flag_refused."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def plain(flag: str) -> str:
    """The spelling that is compared: value after "=" left out, lower case, "_" as "-". Short flags keep their case apart from that."""
    return flag.partition("=")[0].replace("_", "-").lower()


def is_denied(flag: str) -> bool:
    name = plain(flag)
    return name in _DENIED or name.startswith(_DENIED_STARTS) or name.endswith(_DENIED_ENDS)


def refused_in_command(argv: list[str]) -> str:
    """Why an engine may not be registered with this command (the program, then its own arguments); "" where it may."""
    if not argv[0].strip() or argv[0].startswith("-"):
        return "has to begin with a program."
    if any(not part.isprintable() for part in argv):
        return "may not contain control characters or line breaks."
    denied = [plain(part) for part in argv[1:] if not is_value(part) and is_denied(part)]
    return f"may not carry {denied[0]}: {WHY_DENIED}" if denied else ""


def is_value(token: str) -> bool:
    """A token that cannot be taken for a flag."""
    return not token.startswith("-") or bool(_NUMBER.match(token))


def is_known(flag: str, help_text: str) -> bool:
    """Whether the help text names the flag as a word of its own."""
    return bool(re.search(r"(?<![\w-])" + re.escape(flag) + r"(?![\w-])", help_text))


def check(args: list[str], help_text: str) -> None:
    """Raises FlagProblem for the first argument that may not be given."""
    last = ""
    for token in args:
        if is_value(token):
            _check_value(last, token)
        else:
            _check_flag(token, help_text)
            last = token
    if not args or is_value(args[0]):
        raise FlagProblem("flag_refused", "The arguments have to begin with a flag.")


def _check_flag(token: str, help_text: str) -> None:
    if is_denied(token):
        raise FlagProblem("flag_refused", f"{plain(token)} may not be set for a run: {WHY_DENIED}")
    if not _FLAG.match(token):
        raise FlagProblem("flag_refused", f"{token[:60]!r} is not a plain flag; a value may not begin with '-'.")
    if not is_known(token, help_text):
        raise FlagProblem("flag_unknown", f"{token} is not known to this engine: its --help does not name it.")


def _check_value(flag: str, token: str) -> None:
    if not token.isprintable():
        raise FlagProblem("flag_refused", f"A value of {flag or 'the engine'} holds a control character or a line break.")
    if plain(flag) in _MODEL_FLAGS:
        if not _MODEL.match(token):
            raise FlagProblem("flag_refused", f"{flag} takes a registered model by name, not a path.")
    elif _MODEL.match(token):
        raise FlagProblem("flag_refused", f"A model may not be given to {flag}.")
    elif "/" in token or len(token) > _MAX_VALUE:
        raise FlagProblem("flag_refused", f"A value of {flag or 'the engine'} holds a path or is too long.")


def models_named(args: list[str]) -> list[str]:
    """Names inside `{model:NAME}`: models besides the run's own, for example a draft model."""
    return [token[len("{model:") : -1] for token in args if _MODEL.match(token) and ":" in token]
