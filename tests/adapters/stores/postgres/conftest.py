from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import TypeAlias

import psycopg
import pytest

from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresStore
from tests.adapters.stores.postgres import server as servers

Edit: TypeAlias = Callable[..., None]


@pytest.fixture(scope="session")
def server() -> Generator[str]:
    with servers.SHARED.served() as address:
        yield address


@pytest.fixture
def address(server: str) -> Generator[str]:
    """Return the address of a schema of this test's own."""
    with servers.schema(server) as made:
        yield made


@pytest.fixture
def store(address: str) -> Generator[PostgresStore]:
    with closing(PostgresStore(address)) as opened:
        yield opened


@pytest.fixture
def edit(address: str) -> Edit:
    """Change the tables from outside the store."""
    target = parsed(address)

    def run(*statements: str) -> None:
        with closing(psycopg.connect(target.conninfo)) as connection, connection:
            connection.execute(
                "SELECT set_config('search_path', quote_ident(%s), true)", (target.schema,)
            )
            for statement in statements:
                connection.execute(statement.encode())

    return run


def rows_of(address: str) -> bytes:
    """Return the content of all rows of a store."""
    target = parsed(address)
    with closing(psycopg.connect(target.conninfo)) as connection:
        connection.execute(
            "SELECT set_config('search_path', quote_ident(%s), true)", (target.schema,)
        )
        tables = ("commands", "payloads", "spaces", "stored_events")
        rows = [connection.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in tables]  # noqa: S608
    values = [value for table in rows for row in table for value in row]
    return b"\n".join(each if isinstance(each, bytes) else str(each).encode() for each in values)
