"""Tokens and texts of a memory stay out of logs, refusals, metrics and representations."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.client import SyncMemory
from mnemic.adapters.endpoints.chat import ChatAnalyst
from mnemic.adapters.endpoints.embeddings import EndpointEmbedder
from tests.adapters.http.servers import PATIENCE_S, Served, served
from tests.fuzz.interfaces import REQUESTS, SMUGGLED, sent

TEXT = "the harbour is mined at the seventh buoy"
BLOCKS = "/v1/spaces/default/blocks"
API_KEY = "sk-harbour-4711"


def hostile(client: httpx.Client, secret: str) -> list[httpx.Response]:
    """Send requests that are refused, with the text or the token wherever it could be repeated."""
    wrong = secret[:-4] + "AAAA"
    bearer = {"authorization": f"Bearer {wrong}"}
    return [
        client.get("/v1/spaces", headers=bearer),
        client.get("/v1/spaces", headers={"authorization": f"Basic {secret}"}),
        client.get("/v1/spaces", headers={"authorization": secret}),
        client.get("/v1/spaces", headers={"authorization": f"Bearer {secret} {secret}"}),
        client.get("/v1/spaces/other/blocks"),
        client.get(BLOCKS, params={"limit": "many"}),
        client.get(f"{BLOCKS}/0000000000000000"),
        client.post(BLOCKS, content=b"{", headers={"content-type": "application/json"}),
        client.post(BLOCKS, json={"content": 7}),
        client.post(BLOCKS, json={"content": TEXT, "confidence": 7}),
        client.post(BLOCKS, json={"content": TEXT * 20_000}),
        client.post("/v1/spaces/default/recall", json={"query": TEXT, "frame": "nobody's"}),
        client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "nobody's"}),
        client.put("/v1/spaces/copy/import", content=TEXT.encode()),
        client.delete("/v1/spaces"),
    ]


def asked(server: Served) -> list[str]:
    """Return all responses of a server to refused requests, and its metrics."""
    with server.client() as client:
        client.put("/v1/spaces/default").raise_for_status()
        client.post(BLOCKS, json={"content": TEXT}).raise_for_status()
        answers = hostile(client, server.secret)
        assert [each.status_code for each in answers if not 400 <= each.status_code < 500] == []
        numbers = client.get("/metrics").raise_for_status()
        lives = client.get("/healthz").raise_for_status()
    for request in (*REQUESTS, *SMUGGLED):
        sent(server, request.replace(b"@", server.secret.encode()))
    return [f"{each.headers} {each.text}" for each in (*answers, numbers, lives)]


def test_neither_a_token_nor_a_text_is_in_what_a_server_logs_or_refuses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    # The client library in this process logs its own requests, which are excluded.
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore"):
        caplog.set_level(logging.CRITICAL, logger=name)
    with served(tmp_path) as server:
        answers = asked(server)
        secret = server.secret
    printed = "".join(capfd.readouterr())
    for result in (*answers, caplog.text, printed):
        assert secret not in result
        assert secret[:-4] not in result
        assert TEXT not in result
    assert "mnemic" in answers[-2]


def test_a_token_that_is_refused_on_every_path_is_refused_in_the_same_words(
    tmp_path: Path,
) -> None:
    keyring = Keyring.open(tmp_path / "tokens")
    live, dead = (keyring.create(name, {"*": "read"}) for name in ("live", "dead"))
    keyring.revoke(dead[0].id)
    other = "A" * 43
    shown = [
        f"mnemic_{live[0].id}_{other}",
        f"mnemic_{dead[0].id}_{other}",
        f"mnemic_00000000_{other}",
        "mnemic_",
        "x" * 100_000,
        "\ud800",
    ]
    with (
        served(tmp_path, None) as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client,
    ):
        result = {
            (answer.status_code, answer.json()["detail"], answer.headers["www-authenticate"])
            for each in shown[:4]
            for answer in [client.get("/v1/spaces", headers={"authorization": f"Bearer {each}"})]
        }
    assert len(result) == 1
    assert {keyring.check(each) for each in shown} == {None}


def test_objects_that_hold_a_secret_do_not_show_it(tmp_path: Path) -> None:
    token, secret = Keyring.open(tmp_path / "tokens").create("ines", {"*": "admin"})
    found: list[Any] = [
        token,
        ChatAnalyst("http://127.0.0.1:1/v1", "model", api_key=API_KEY),
        EndpointEmbedder("http://127.0.0.1:1/v1", "model", dimension=8, api_key=API_KEY),
        SyncMemory.open("http://127.0.0.1:1", token=secret),
    ]
    said = [f"{each!r} {each!s}" for each in found]
    for each in found[1:4]:
        each.close()
    assert [each for each in said if secret in each or API_KEY in each] == []
