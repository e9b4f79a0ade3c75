"""The command line accepts the address of a server in place of a file, and shows no password."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from mnemic.adapters.cli import main
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import VersionConflict
from mnemic.specs.contracts.log_entries import payload, records
from tests.adapters.cli.conftest import Ran, Shell
from tests.adapters.stores.postgres import server as servers

PASSWORD = "geheim"  # noqa: S105


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as address:
        yield address


@pytest.fixture
def address(server: str) -> Generator[str]:
    """Return an address with a password, which a server that trusts everybody does not ask for."""
    with servers.schema(server) as made:
        yield made.replace("//postgres:@", f"//postgres:{PASSWORD}@")


@pytest.fixture
def shell(address: str, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Run a command on the store of the test."""

    def run(*tokens: str) -> Ran:
        exit_code = main(["--db", address, *tokens])
        printed = capsys.readouterr()
        assert PASSWORD not in printed.out + printed.err
        return Ran(exit_code, printed.out, printed.err)

    return run


def test_what_is_learned_on_a_server_is_recalled_from_it(shell: Shell) -> None:
    assert shell("learn", "Ines moved the demo to Thursday.").exit == 0
    assert "Thursday" in shell("recall", "When is the demo?").out
    assert shell("verify").exit == 0
    assert shell("--json", "status").document["space"] == "default"


def test_a_reading_command_creates_no_schema(shell: Shell, address: str) -> None:
    for command in (["status"], ["curate"], ["recall", "demo"]):
        ran = shell("--json", *command)
        assert (ran.exit, ran.error["code"]) == (Exit.UNAVAILABLE, "store-failed")
        assert "mnemic learn" in ran.error["recovery"]
    with closing(PostgresStore(address)) as store:
        assert store.spaces() == ()
    assert shell("--json", "status").error["code"] == "space-not-found"


def test_a_space_is_forked_onto_a_server_and_back_into_a_file(
    shell: Shell, server: str, tmp_path: Path
) -> None:
    shell("learn", "Ines moved the demo to Thursday.")
    with servers.schema(server) as other:
        forked = shell("--json", "fork", "trial", "--into", other).document
        with closing(PostgresStore(other)) as store:
            assert store.log("trial").head().version == forked["version"]
    file = tmp_path / "saved.jsonl"
    assert shell("export", str(file)).exit == 0
    assert shell("--space", "again", "import", str(file)).exit == 0
    assert "Thursday" in shell("--space", "again", "recall", "When is the demo?").out


def test_the_doctor_looks_at_the_server(shell: Shell) -> None:
    missing = shell("--json", "doctor").document["findings"][-1]
    assert (missing["state"], missing["what"]) == ("problem", "server")
    shell("learn", "Ines moved the demo to Thursday.")
    found = shell("--json", "doctor").document
    answer = {each["what"]: each["state"] for each in found["findings"] if each["about"] == "store"}
    assert answer == {
        "server": "ok",
        "format": "ok",
        "durability": "warning",  # the tests' server waits for no disk
        "connections": "ok",
        "spaces": "ok",
    }
    assert found["path"].startswith("postgresql://postgres@/postgres?host=")
    assert any(each["about"] == "space default" for each in found["findings"])


def test_the_doctor_names_a_space_whose_row_is_gone(shell: Shell, address: str) -> None:
    shell("learn", "Ines moved the demo to Thursday.")
    with closing(psycopg.connect(parsed(address).conninfo, autocommit=True)) as connection:
        connection.execute(f'DELETE FROM "{parsed(address).schema}".spaces'.encode())  # noqa: S608
    (found,) = [
        each
        for each in shell("--json", "doctor").document["findings"]
        if each["what"] == "lost rows"
    ]
    assert (found["state"], "space number 1, with events up to" in found["detail"]) == (
        "problem",
        True,
    )
    refused = shell("--json", "learn", "Another.").error
    assert (refused["code"], "space number 1" in refused["detail"]) == ("log-corrupt", True)


def test_the_doctor_sweeps_a_server(shell: Shell, address: str) -> None:
    missing = shell("--json", "doctor", "--sweep").document["findings"]
    assert [(each["what"], each["state"]) for each in missing[-2:]] == [
        ("server", "problem"),
        ("sweep", "problem"),
    ]
    with (
        closing(PostgresStore(address)) as store,
        suppress(VersionConflict),
        store.draft("half") as log,
    ):
        log.append(records(0, 1), [payload(0)], after=log.head())
        raise VersionConflict("as if somebody else had it")  # who is killed leaves it too
    last = shell("--json", "doctor", "--sweep").document["findings"][-1]
    assert last["detail"] == "the unfinished space 'half' was removed"


def test_tokens_need_a_file_that_is_named(shell: Shell, tmp_path: Path) -> None:
    refused = shell("--json", "token", "create", "ines", "--write", "default")
    assert (refused.error["code"], "--file" in refused.error["recovery"]) == ("field-refused", True)
    refused = shell("--json", "serve")
    assert "--token-file" in refused.error["recovery"]
    file = tmp_path / "tokens"
    made = shell("--json", "token", "create", "ines", "--write", "default", "--file", str(file))
    assert json.loads(made.out)["file"] == str(file)


def test_a_server_that_is_not_there_is_named_without_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exit_code = main(["--db", f"postgres://ines:{PASSWORD}@127.0.0.1:1/db", "--json", "status"])
    printed = capsys.readouterr()
    assert exit_code == Exit.UNAVAILABLE
    assert json.loads(printed.err)["path"] == "postgresql://ines@127.0.0.1:1/db"
    assert PASSWORD not in printed.err


def test_an_in_memory_store_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "mysql://ines:geheim@h/db"):
        assert main(["--db", name, "--json", "learn", "A fact."]) != 0
        assert PASSWORD not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
