"""Which combinations of settings the app refuses to start with, and how to mend each. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")
LEAST_SECRET = 32  # bytes


@dataclass(frozen=True)
class StartFacts:
    """What decides: the address to bind, the sign-in's settings, and the server's own guards."""

    address: str
    has_sign_in: bool = False
    cookie_secret: str = ""
    redirect_uri: str = ""
    has_sign_in_library: bool = True
    host_names: list[str] = field(default_factory=list)
    has_xsrf: bool = True
    has_cors: bool = True
    trusts_headers: bool = False
    has_agent_api: bool = False


def start_problems(facts: StartFacts) -> list[str]:
    """A sentence for each reason not to start, each with its way out; empty when the combination is safe."""
    found = []
    if not facts.has_xsrf:
        found.append("server.enableXsrfProtection is off: another site could send forms in your name. Take that setting out.")
    if not facts.has_cors:
        found.append("server.enableCORS is off: another site could read the pages. Take that setting out.")
    if facts.trusts_headers:
        found.append(
            "server.trustedUserHeaders is set: whoever reaches the port could write such a header, and no secret shared with a proxy"
            " shows the difference. Take it out and set up [auth] in .streamlit/secrets.toml."
        )
    if facts.has_agent_api:
        found.append("server.enableAgentApi is on: it drives the pages past their door. Take that setting out.")
    return found + (_sign_in_problems(facts) if facts.has_sign_in else _local_problems(facts))


def _local_problems(facts: StartFacts) -> list[str]:
    if facts.address in LOOPBACK:
        return []
    return [
        f"Without sign-in the app serves this machine only, and it was asked to listen on {facts.address or 'every address'}."
        " Start it with --server.address 127.0.0.1, or set up sign-in: [auth] in .streamlit/secrets.toml (docs/doors.md)."
    ]


def _sign_in_problems(facts: StartFacts) -> list[str]:
    found = []
    if len(facts.cookie_secret.encode()) < LEAST_SECRET:
        found.append(
            f"[auth] cookie_secret is shorter than {LEAST_SECRET} bytes, so cookies could be forged. Make one:"
            ' python3 -c "import secrets; print(secrets.token_urlsafe(48))"'
        )
    uri = urlsplit(facts.redirect_uri)
    if uri.scheme != "https" and uri.hostname not in LOOPBACK:
        found.append("[auth] redirect_uri is not https: codes would cross the network in the open. Use https://NAME/oauth2callback.")
    if not facts.has_sign_in_library:
        found.append("[auth] is set up, but Authlib is not installed. Run: make run, or pip install -r requirements.txt.")
    if facts.address not in LOOPBACK and not facts.host_names:
        found.append("DRAFTLEDGER_HOSTS is empty: name the host under which people reach the app, such as bench.example.org.")
    return found
