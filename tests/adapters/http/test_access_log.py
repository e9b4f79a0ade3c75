"""The access log: a line for each request, with its peer and the id of its token."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from mnemic.adapters.http.settings import Settings
from tests.adapters.http.interfaces import NOTES, Interface, interface

ACCESS = "mnemic.http.access"


def lines(caplog: pytest.LogCaptureFixture) -> list[list[str]]:
    """Return method, path, status, peer and token id of every line."""
    found = [each.getMessage() for each in caplog.records if each.name == ACCESS]
    words = [line.split(" ") for line in found]
    assert all(re.fullmatch(r"[0-9]+\.[0-9]", line[4]) and line[5] == "ms" for line in words)
    return [[*line[1:4], *line[6:]] for line in words]


def test_a_line_names_the_peer_and_the_token(
    opened: Interface, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    opened.ask("GET", NOTES, by="reader")
    opened.ask("GET", NOTES, by=None)
    opened.ask("GET", NOTES, by=None, headers={"authorization": "Bearer mnemic_00000000_x"})
    opened.learn("Mine.", by="reader")
    (reader,) = (each.id for each in opened.keyring.list() if each.name == "reader")
    assert lines(caplog) == [
        ["GET", NOTES, "200", "127.0.0.1", reader],
        ["GET", NOTES, "401", "127.0.0.1", "-"],
        ["GET", NOTES, "401", "127.0.0.1", "-"],
        ["POST", f"{NOTES}/blocks", "403", "127.0.0.1", reader],
    ]


def test_a_request_without_a_token_has_a_peer_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    with interface(tmp_path, Settings(open_loopback=True), peer=("::1", 4000)) as opened:
        opened.ask("GET", NOTES, by=None)
    assert lines(caplog) == [["GET", NOTES, "200", "::1", "-"]]
