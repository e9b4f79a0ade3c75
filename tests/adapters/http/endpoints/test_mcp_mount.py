"""The MCP interface below the HTTP interface: access log and metrics of its requests."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.adapters.http.live_servers import running
from tests.adapters.http.worker_processes import eventually

ACCESS = "mnemic.http.access"
TAKES = {"accept": "application/json, text/event-stream"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}


def test_mcp_requests_are_logged_and_counted_under_their_own_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    with running(tmp_path) as server, server.client() as client:
        client.put("/v1/spaces/my%2Fnotes").raise_for_status()
        opened = client.post("/mcp/my%2Fnotes?words=secret", json=INITIALIZE, headers=TAKES)
        session = {**TAKES, "mcp-session-id": opened.headers["mcp-session-id"]}
        with client.stream("GET", "/mcp/my%2Fnotes", headers=session) as listening:
            client.get("/mcp/absent")
            client.delete("/mcp", headers=session)
            client.get("/mcpx")
            listening.read()
        eventually(partial(_are_counted, client))
    records = [each for each in caplog.records if each.name == ACCESS]
    lines = sorted(record.getMessage().split()[1:4] for record in records)
    assert [line for line in lines if "mcp" in line[1]] == [
        ["DELETE", "/mcp", "200"],
        ["GET", "/mcp/absent", "404"],
        ["GET", "/mcp/my%2Fnotes", "200"],
        ["GET", "/mcpx", "404"],
        ["POST", "/mcp/my%2Fnotes", "200"],
    ]


def _are_counted(client: httpx.Client) -> bool:
    """Return whether the metrics count three answers and two refusals, two of them timed."""
    page = client.get("/metrics").text.splitlines()
    return {
        'mnemic_requests_total{operation="mcp",status="200"} 3.0',
        'mnemic_requests_total{operation="mcp",status="404"} 2.0',
        'mnemic_request_duration_seconds_count{operation="mcp"} 2.0',
    } <= set(page)
