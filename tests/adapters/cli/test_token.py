"""mnemic token: create, list, revoke."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.adapters.access import Keyring, beside
from tests.adapters.cli.conftest import Shell


def test_the_secret_is_printed_alone_for_a_shell_to_capture(shell: Shell, store: Path) -> None:
    made = shell("token", "create", "ines", "--write", "notes", "--read", "team")
    secret = made.out.removesuffix("\n")
    token = Keyring.open(beside(store)).check(secret)
    assert token is not None
    assert (token.name, dict(token.scopes)) == ("ines", {"notes": "write", "team": "read"})
    assert made.err.splitlines() == [
        f"ines ({token.id}): write on notes; read on team.",
        "This secret cannot be shown again. Send it with each request, as the header",
        "Authorization: Bearer <secret>",
        f"Revoke it with `mnemic token revoke {token.id}`. The tokens are in {beside(store)}.",
    ]


def test_a_token_is_made_listed_and_revoked(shell: Shell, store: Path) -> None:
    made = shell("token", "create", "ines", "--admin", "*", "--json").document
    token = made["token"]
    assert made == {"token": token, "secret": made["secret"], "file": str(beside(store))}
    keyring = Keyring.open(beside(store))
    assert keyring.admit(made["secret"]).to_dict() == token
    listed = shell("token", "list", "--json")
    assert listed.document == {"tokens": [{**token, "state": "live"}], "file": str(beside(store))}
    revoked = shell("token", "revoke", token["id"], "--json").document
    assert revoked == {**token, "revoked_at": revoked["revoked_at"]}
    assert keyring.check(made["secret"]) is None
    assert shell("token", "list", "--json").document["tokens"] == []
    assert shell("token", "list", "--all", "--json").document["tokens"] == [
        {**revoked, "state": "revoked"}
    ]
    random = made["secret"].split("_", 2)[2]
    assert random not in listed.out + shell("token", "list", "--all").out


def test_a_list_shows_who_may_do_what(shell: Shell, store: Path) -> None:
    assert shell("token", "list").out == f"No token in {beside(store)}.\n"
    made = shell("token", "create", "ines", "--write", "notes", "--expires", "9999-01-01", "--json")
    shown = shell("token", "list").out.splitlines()[-1].split()
    assert shown == [
        *(made.document["token"]["id"], "ines", "live", "9999-01-01T00:00", "write", "notes"),
        "-",
    ]


def test_a_token_can_be_bound_to_a_zone(shell: Shell) -> None:
    options = ("--write", "notes", "--zone", "untrusted")
    made = shell("token", "create", "mailbox", *options, "--json").document
    assert made["token"]["zone"] == "untrusted"
    assert shell("token", "list").out.splitlines()[-1].split()[-1] == "untrusted"
    refused = shell("token", "create", "root", "--admin", "notes", "--zone", "untrusted")
    assert (refused.exit, "cannot be bound to a zone" in refused.err) == (1, True)


def test_of_two_scopes_on_a_space_the_wider_holds(shell: Shell) -> None:
    options = ("--admin", "b", "--read", "a", "--write", "a", "--read", "b", "--read", "c")
    made = shell("token", "create", "ines", *options, "--json").document
    assert made["token"]["scopes"] == {"a": "write", "b": "admin", "c": "read"}


@pytest.mark.parametrize(
    ("span", "length"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("90d", timedelta(days=90)),
        (" 2W", timedelta(weeks=2)),
    ],
)
def test_a_token_may_end_so_long_from_now(shell: Shell, span: str, length: timedelta) -> None:
    before = datetime.now(UTC)
    made = shell("token", "create", "ines", "--read", "a", "--expires", span, "--json").document
    ends = datetime.fromisoformat(made["token"]["expires_at"])
    assert before + length <= ends <= datetime.now(UTC) + length


def test_a_token_may_end_at_a_date(shell: Shell) -> None:
    options = ("--read", "a", "--expires", "2999-12-31T12:00+02:00")
    made = shell("token", "create", "ines", *options, "--json").document
    assert made["token"]["expires_at"] == "2999-12-31T10:00:00+00:00"


@pytest.mark.parametrize(
    ("tokens", "code"),
    [
        (["create", "ines"], "field-refused"),
        (["create", " ", "--read", "a"], "field-refused"),
        (["create", "ines", "--read", ""], "field-refused"),
        (["create", "ines", "--read", "a", "--expires", "soon"], "field-refused"),
        (["create", "ines", "--read", "a", "--expires", "2001-01-01"], "field-refused"),
        (["create", "ines", "--read", "a", "--expires", "0d"], "field-refused"),
        (["create", "ines", "--read", "a", "--expires", "999999999w"], "field-refused"),
        (["revoke", "00000000"], "token-not-found"),
        (["revoke", "ines"], "token-not-found"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_refused_and_makes_no_file(
    shell: Shell, store: Path, tokens: list[str], code: str
) -> None:
    failed = shell("token", *tokens, "--json")
    assert (failed.exit, failed.error["code"], failed.out) == (1, code, "")
    assert failed.error["recovery"]
    assert not beside(store).exists()


def test_a_name_belongs_to_one_live_token(shell: Shell) -> None:
    assert shell("token", "create", "ines", "--read", "a").exit == 0
    failed = shell("token", "create", "ines", "--read", "b", "--json")
    assert (failed.exit, failed.error["code"]) == (1, "token-exists")


@pytest.mark.parametrize("tokens", [["create"], ["revoke"], ["bogus"], ["list", "bogus"]])
def test_a_wrong_command_line_points_to_its_help(shell: Shell, tokens: list[str]) -> None:
    failed = shell("token", *tokens, "--json")
    assert (failed.exit, failed.error["code"]) == (2, "usage")
    assert failed.error["recovery"].startswith("Run `mnemic token")


def test_tokens_may_stand_in_another_file(shell: Shell, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "interface.tokens"
    made = shell("token", "create", "ines", "--read", "a", "--file", str(file), "--json").document
    assert made["file"] == str(file.resolve())
    assert shell("token", "list", "--json").document["tokens"] == []
    listed = shell("token", "list", "--file", str(file), "--json").document
    assert [each["id"] for each in listed["tokens"]] == [made["token"]["id"]]
    assert shell("token", "revoke", made["token"]["id"], "--file", str(file)).exit == 0
    assert not beside(store).exists()


def test_damage_and_places_where_no_file_can_be_have_their_exit_codes(
    shell: Shell, store: Path
) -> None:
    beside(store).write_bytes(b"")
    beside(store).chmod(0o600)
    failed = shell("token", "list", "--json")
    assert (failed.exit, failed.error["code"]) == (4, "access-damaged")
    for path in (".", "n" * 300):
        failed = shell("token", "create", "ines", "--read", "a", "--file", path, "--json")
        assert (failed.exit, failed.error["code"]) == (5, "store-failed")


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_every_command_explains_itself(shell: Shell, command: str) -> None:
    answer = shell("token", command, "--help")
    assert answer.exit == 0
    assert answer.out.startswith(f"Usage: mnemic token {command}")
    assert answer.out.endswith("see mnemic help options.\n")
    assert " token " in shell("help", "all").out
