"""The command that installs an extra, by the place that mnemic was installed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters import extras

CLONE: dict[str, Any] = {"url": "file:///src/my%20clones/mnemic", "dir_info": {}}
WHEEL: dict[str, Any] = {"url": "file:///tmp/mnemic-1.whl", "archive_info": {}}
GIT: dict[str, Any] = {
    "url": "https://example.org/mnemic.git",
    "vcs_info": {"vcs": "git", "commit_id": "abc"},
}


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (CLONE, "/src/my clones/mnemic[http]"),
        (WHEEL, "mnemic[http] @ file:///tmp/mnemic-1.whl"),
        (GIT, "mnemic[http] @ git+https://example.org/mnemic.git@abc"),
        ({}, "mnemic[http]"),
    ],
)
def test_an_extra_comes_from_where_mnemic_came_from(origin: dict[str, Any], wanted: str) -> None:
    assert extras.requirement("http", origin) == wanted


def test_this_installation_names_its_clone() -> None:
    root = Path(__file__).parents[2]
    assert extras.pip_install("http") == f"pip install '{root}[http]'"
