"""Several processes write the same store, or are killed while they do."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from tests.crash.reports import report

run_writers = partial(report, Path(__file__).with_name("writer_processes.py"))

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked"),
]


@pytest.fixture(params=["file", "server"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """Return the address of several stores, with {} for the name of one."""
    if request.param == "file":
        yield str(tmp_path / "{}.db")
        return
    from tests.adapters.stores.postgres import server as servers  # noqa: PLC0415 - an extra

    with servers.SHARED.served() as server, servers.schemas(server) as address:
        yield address


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(stores: str) -> None:
    report = run_writers("kill", stores, 7, 60)
    assert report["kills"] == 60
    assert report["acknowledged"] > 60  # they did write before they died


def test_four_processes_share_one_space_without_a_gap(stores: str) -> None:
    report = run_writers("race", stores, 4, 100)
    assert report["statuses"] == [0, 0, 0, 0]
    assert report["shares"] == [100, 100, 100, 100]
    assert report["turns"] > 20  # of 400; writers of a file are not served in order
