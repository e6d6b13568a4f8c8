"""Asks an ASGI app in this process, as one caller at one address; an exception inside the app fails the test."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class Client:
    """`get`, `post`, `delete`, `request`, each on a connection of its own."""

    def __init__(self, app: Any, *, address: str = "127.0.0.1") -> None:
        self._transport = httpx.ASGITransport(app, client=(address, 5))

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.request("POST", path, **given)

    def delete(self, path: str, **given: Any) -> httpx.Response:
        return self.request("DELETE", path, **given)
