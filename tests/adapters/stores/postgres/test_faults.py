"""Errors of the server become errors of ours, with a recovery."""

from __future__ import annotations

import psycopg
import pytest

from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres.faults import fault

ADDRESS = parsed("postgresql://ines:geheim@db/agents")
CASES = {
    "53100": ("store-full", "Free some disk space"),
    "53300": ("store-busy", "max_connections"),
    "53200": ("store-failed", "the server's own log"),
    "55P03": ("store-busy", "Another process holds"),
    "57014": ("store-busy", "statement_timeout"),
    "40001": ("store-busy", "try again"),
    "40P01": ("store-busy", "try again"),
    "25006": ("store-failed", "read_only=True"),
    "28P01": ("store-failed", "PGPASSWORD"),
    "28000": ("store-failed", "PGPASSWORD"),
    "3D000": ("store-failed", "createdb"),
    "42501": ("store-failed", "Let the user use"),
    "42P01": ("not-a-store", "Restore the tables"),
    "57P03": ("store-failed", "Wait until the server"),
    "XX001": ("log-corrupt", "Restore a backup"),
    "XX002": ("log-corrupt", "REINDEX"),
}
SENTENCES = {
    'FATAL:  password authentication failed for user "ines"': ("store-failed", "PGPASSWORD"),
    "fe_sendauth: no password supplied": ("store-failed", "PGPASSWORD"),
    'FATAL:  database "agents" does not exist': ("store-failed", "createdb"),
    'FATAL:  role "ines" does not exist': ("store-failed", "PGPASSWORD"),
    "FATAL:  sorry, too many clients already": ("store-busy", "max_connections"),
    "FATAL:  the database system is starting up": ("store-failed", "Wait until"),
    "Connection refused": ("store-failed", "whether the server runs"),
    'could not translate host name "db" to address': ("store-failed", "whether the server runs"),
}


@pytest.mark.parametrize("state", CASES)
def test_every_sqlstate_maps_to_an_error_with_a_recovery(state: str) -> None:
    code, remedy = CASES[state]
    error = fault(psycopg.errors.lookup(state)("what\n  happened"), ADDRESS)
    assert (error.code, error.message) == (code, "postgresql://ines@db/agents: what happened")
    assert remedy in error.recovery


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_message_without_sqlstate_maps_to_an_error_with_a_recovery(sentence: str) -> None:
    code, remedy = SENTENCES[sentence]
    error = fault(psycopg.OperationalError(sentence), ADDRESS)
    assert (error.code, remedy in error.recovery) == (code, True)


def test_no_message_holds_a_password() -> None:
    error = fault(psycopg.ProgrammingError('bad value in "ines:geheim@db"'), ADDRESS)
    assert "geheim" not in str(error.to_dict())
    assert "***" in error.message
