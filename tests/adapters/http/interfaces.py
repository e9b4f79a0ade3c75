"""An HTTP interface in the process of the test: no socket, and a manual clock."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from attrs import frozen

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import application
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy

NOTES = "/v1/spaces/notes"
"""The space that most tests use."""
LOCAL = ("127.0.0.1", 50_000)
SCOPES: Mapping[str, Mapping[str, Any]] = {
    "ines": {"notes": "admin"},
    "writer": {"notes": "write"},
    "reader": {"notes": "read"},
    "stranger": {"other": "admin"},
    "root": {"*": "admin"},
}
"""Callers with their scopes."""


@frozen(kw_only=True)
class Interface:
    """Sends requests to an application with the token of a caller."""

    portal: BlockingPortal
    client: httpx.AsyncClient
    secrets: Mapping[str, str]
    keyring: Keyring
    spaces: Spaces
    clock: ManualClock

    def ask(
        self, method: str, path: str, *, by: str | None = "ines", **request: Any
    ) -> httpx.Response:
        """Return the answer to a request.

        Args:
            method: Of HTTP.
            path: With its query.
            by: The caller whose token it bears; None: no token.
            request: Whatever httpx takes: json, content, headers.
        """
        headers = dict(request.pop("headers", {}))
        if by is not None:
            headers.setdefault("authorization", f"Bearer {self.secrets[by]}")

        async def asked() -> httpx.Response:
            return await self.client.request(method, path, headers=headers, **request)

        return self.portal.call(asked)

    def learn(self, content: str, **request: Any) -> httpx.Response:
        """Learn a text in the space of the tests."""
        return self.ask("POST", f"{NOTES}/blocks", json={"content": content}, **request)


@contextmanager
def interface(
    folder: Path,
    settings: Settings | None = None,
    *,
    peer: tuple[str, int] = LOCAL,
    store: Any = None,
    **opening: Any,
) -> Generator[Interface]:
    """Open an interface to the spaces ``notes`` and ``other``, for a ``with`` block."""
    clock = ManualClock()
    keyring = Keyring.open(folder / "tokens", clock=clock, entropy=SeededEntropy("tokens"))
    secrets = {name: keyring.create(name, scopes)[1] for name, scopes in SCOPES.items()}
    opening = {"embedder": HashEmbedder(), "entropy": SeededEntropy("interface"), **opening}
    with start_blocking_portal() as portal:
        spaces = Spaces(store or MemoryStore(), clock=clock, **opening)
        with portal.wrap_async_context_manager(spaces):
            for name in ("notes", "other"):
                portal.call(spaces.make, name)
            app = portal.call(application, spaces, keyring, settings)
            transport = httpx.ASGITransport(app, client=peer)
            client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
            with portal.wrap_async_context_manager(client):
                yield Interface(
                    portal=portal,
                    client=client,
                    secrets=secrets,
                    keyring=keyring,
                    spaces=spaces,
                    clock=clock,
                )
