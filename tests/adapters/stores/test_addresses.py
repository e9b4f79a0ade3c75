"""Parsing of addresses, and how they are shown without their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.stores.addresses import address_of, is_file, is_server, parsed, told
from mnemic.kernel.errors import NotAStore

SHOWN = {
    "postgresql://ines@db/agents": "postgresql://ines@db/agents",
    "postgres://ines:geheim@db:5433/agents": "postgresql://ines@db:5433/agents",
    "postgresql://ines:ge%2Fheim@[::1]/agents?sslmode=require": "postgresql://ines@[::1]/agents",
    "postgresql:///agents?host=/run/postgresql&user=ines&password=geheim": (
        "postgresql://ines@/agents?host=/run/postgresql"
    ),
    "postgresql://db/agents?schema=two": "postgresql://db/agents?schema=two",
    "postgresql://a,b:5433/agents?sslpassword=geheim": "postgresql://a,b:5433/agents",
    "postgresql://": "postgresql:///",
    "POSTGRESQL://db/x": "postgresql://db/x",
    "postgresql://ines:geheim/agents": "postgresql://ines:***/agents",  # the host was forgotten
}


@pytest.mark.parametrize(("address", "shown"), SHOWN.items())
def test_an_address_is_shown_without_its_secrets(address: str, shown: str) -> None:
    found = parsed(address)
    assert (found.shown, str(found)) == (shown, shown)
    assert "heim" not in repr(found)


def test_all_options_but_ours_go_to_the_server() -> None:
    found = parsed("postgres://u:p+%2F@h/db?schema=mine&options=-c%20a%3D1+2&sslmode=prefer")
    assert (found.conninfo, found.schema) == (
        "postgresql://u:p+%2F@h/db?options=-c%20a%3D1%2B2&sslmode=prefer",
        "mine",
    )
    assert found.secrets == ("p+%2F", "p+/")


def test_an_explicit_schema_overrides_the_address() -> None:
    assert parsed("postgres://h/db?schema=mine", schema="other").schema == "other"
    assert parsed("postgres://h/db").schema == "mnemic"


def test_an_explicit_timeout_overrides_the_address() -> None:
    found = parsed("postgres://h/db?answer_timeout=2.5&sslmode=prefer")
    assert (found.answer_timeout_s, found.conninfo) == (2.5, "postgresql://h/db?sslmode=prefer")
    assert parsed("postgres://h/db?answer_timeout=2.5", answer_timeout_s=5).answer_timeout_s == 5.0
    assert parsed("postgres://h/db").answer_timeout_s == 60.0
    with pytest.raises(NotAStore):
        parsed("postgres://h/db", answer_timeout_s=-1)


def test_messages_are_shown_without_secrets() -> None:
    found = parsed("postgres://u:p%2Fq@h/db?sslpassword=xyz")
    assert found.censored("p/q and\n p%2Fq  and xyz") == "*** and *** and ***"


@pytest.mark.parametrize(
    "address",
    [
        "mysql://ines:geheim@db/agents",
        "postgresql://ines:geheim@db/agents?schema",
        "postgresql://ines:geheim@db/agents?schema=",
        "postgresql://ines:geheim@db/agents?schema=50%25",
        "postgresql://ines:geheim@[db/agents",
        "postgresql://ines:geheim@db/agents?schema=" + "x" * 64,
        "postgresql://ines:geheim@db/agents?schema=a%00b",
        "postgresql://ines:geheim@db/agents?answer_timeout=0",
        "postgresql://ines:geheim@db/agents?answer_timeout=inf",
        "postgresql://ines:geheim@db/agents?answer_timeout=nan",
        "postgresql://ines:geheim@db/agents?answer_timeout=soon",
        "postgresql://ines:geheim@db/agents?answer_timeout=",
    ],
)
def test_a_malformed_address_is_refused_without_quoting_it(address: str) -> None:
    with pytest.raises(NotAStore) as caught:
        parsed(address)
    assert "geheim" not in str(caught.value.to_dict())
    assert caught.value.__cause__ is None


def test_any_kind_of_store_can_be_shown() -> None:
    given = (
        "agent.db",
        Path("a/agent.db"),
        ":memory:",
        "postgres://u:geheim@h/db",
        "my://u:geheim@h",
    )
    assert [told(each) for each in given] == [
        "agent.db",
        "a/agent.db",
        ":memory:",
        "postgresql://u@h/db",
        "my://…",
    ]


def test_server_and_file_addresses_are_distinguished() -> None:
    assert is_server("postgres://h/db")
    assert not any(map(is_server, ("agent.db", ":memory:", "http://h", Path("postgres://h/db"))))
    assert [is_file(each) for each in ("agent.db", Path("a"), ":memory:", "postgres://h/db")] == [
        True,
        True,
        False,
        False,
    ]
    assert [address_of(each) for each in ("agent.db", "postgres://h/db")] == [
        Path("agent.db"),
        "postgres://h/db",
    ]
