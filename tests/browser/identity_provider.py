"""A small OpenID provider on this machine: code flow with S256 and nonce, one person at a time, whom the test names."""

from __future__ import annotations

import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwk, jwt

CLIENT = "draftledger-test"


class Provider:
    """`person` holds the claims of whoever signs in next; `issued` counts the sign-ins."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.issued = 0
        self.refusal = ""
        self._key = jwk.RSAKey.generate_key(2048, {"kid": "k1", "use": "sig", "alg": "RS256"})
        self._nonces: dict[str, str] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.answer(self, urlsplit(self.path).path, parse_qs(urlsplit(self.path).query))

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                provider.answer(self, urlsplit(self.path).path, parse_qs(self.rfile.read(length).decode()))

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, path: str, given: dict[str, list[str]]) -> None:
        """One request."""
        if path == "/authorize":
            self._authorize(request, given)
            return
        bodies = {"/.well-known/openid-configuration": self._metadata, "/jwks": self._keys, "/token": lambda: self._token(given)}
        body = json.dumps(bodies[path]()).encode()
        request.send_response(200)
        request.send_header("content-type", "application/json")
        request.end_headers()
        request.wfile.write(body)

    def _authorize(self, request: BaseHTTPRequestHandler, given: dict[str, list[str]]) -> None:
        code = secrets.token_hex(8)
        self._nonces[code] = given["nonce"][0]
        back = {"error": self.refusal, "state": given["state"][0]} if self.refusal else {"code": code, "state": given["state"][0]}
        request.send_response(302)
        request.send_header("location", f"{given['redirect_uri'][0]}?{urlencode(back)}")
        request.end_headers()

    def _metadata(self) -> dict[str, Any]:
        names = {f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in (("authorization", "authorize"), ("token", "token"))}
        return {
            "issuer": self.issuer,
            **names,
            "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def _keys(self) -> dict[str, Any]:
        return {"keys": [self._key.as_dict(private=False)]}

    def _token(self, given: dict[str, list[str]]) -> dict[str, Any]:
        now, self.issued = int(time.time()), self.issued + 1
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 3600, "nonce": self._nonces.pop(given["code"][0])}
        token = jwt.encode({"alg": "RS256", "kid": "k1"}, {**claims, **self.person}, self._key)
        return {"access_token": secrets.token_hex(8), "token_type": "Bearer", "id_token": token}
