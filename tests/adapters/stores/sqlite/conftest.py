from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.stores.sqlite import SQLiteStore

Edit: TypeAlias = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def store(path: Path) -> Generator[SQLiteStore]:
    with closing(SQLiteStore(path, synchronous="normal")) as opened:
        yield opened


@pytest.fixture
def edit(path: Path) -> Edit:
    """Change the file from outside the store."""

    def run(*statements: str) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return run
