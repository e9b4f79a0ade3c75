"""serve: what it refuses before it begins. How it serves: tests of the HTTP interface."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.adapters.cli import main
from tests.adapters.cli.conftest import Shell

IMPORTED = (
    "import sys; from mnemic.adapters.cli import main; main(['--help']);"
    "sys.exit(any(name in sys.modules for name in ('litestar', 'uvicorn', 'mcp', 'httpx')))"
)


@pytest.mark.usefixtures("noted")
def test_a_missing_store_next_to_an_existing_one_is_not_created(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code = main(["--db", str(store.with_name("memroy.db")), "--json", "serve"])
    error = json.loads(capsys.readouterr().err)
    assert (exit_code, error["code"], error["beside"]) == (5, "store-failed", [str(store)])
    assert "--make" in error["recovery"]
    assert not store.with_name("memroy.db").exists()


def test_an_interface_to_other_machines_needs_a_token(noted: Shell) -> None:
    ran = noted("--json", "serve", "--host", "0.0.0.0")  # noqa: S104
    assert (ran.exit, ran.error["code"], ran.error["field"]) == (1, "field-refused", "tokens")


def test_an_interface_to_other_machines_is_never_open(noted: Shell) -> None:
    ran = noted("--json", "serve", "--host", "0.0.0.0", "--open-loopback")  # noqa: S104
    assert (ran.exit, ran.error["code"], ran.error["field"]) == (
        1,
        "field-refused",
        "open_loopback",
    )


def test_an_address_of_another_machine_is_refused(noted: Shell, tmp_path: Path) -> None:
    token_file = tmp_path / "tokens"
    assert (
        noted("token", "create", "ines", "--read", "default", "--file", str(token_file)).exit == 0
    )
    ran = noted("--json", "serve", "--host", "203.0.113.7", "--token-file", str(token_file))
    assert (ran.exit, ran.error["code"]) == (5, "store-failed")
    assert "cannot listen at" in ran.error["detail"]


@pytest.mark.parametrize(
    "given",
    [
        ("--checkpoints", "database"),
        ("--checkpoint-cache", "cache"),
        ("--checkpoints", "folder", "--checkpoint-cache", "cache"),
    ],
)
def test_a_file_has_its_checkpoints_beside_it_and_no_cache(
    noted: Shell, given: tuple[str, ...]
) -> None:
    ran = noted("--json", "serve", "--open-loopback", *given)
    assert (ran.exit, ran.error["code"]) == (1, "field-refused")


def test_a_port_has_a_number_that_ports_have(noted: Shell) -> None:
    ran = noted("--json", "serve", "--port", "70000", "--open-loopback")
    assert (ran.exit, ran.error["field"]) == (1, "port")


@pytest.mark.parametrize("workers", ["0", "65", "-1"])
def test_a_number_of_workers_is_one_that_can_be(noted: Shell, workers: str) -> None:
    ran = noted("--json", "serve", "--open-loopback", "--workers", workers)
    assert (ran.exit, ran.error["code"], ran.error["field"]) == (1, "field-refused", "workers")


def test_workers_are_a_number_or_left_to_the_machine(noted: Shell) -> None:
    assert noted("serve", "--open-loopback", "--workers", "many").exit == 2


def test_a_file_that_is_no_store_is_not_served(shell: Shell, store: Path) -> None:
    store.write_bytes(b"not a database, whatever its name says")
    ran = shell("--json", "serve", "--open-loopback")
    assert (ran.exit, ran.error["code"]) == (4, "not-a-store")


def test_help_imports_no_server() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
