from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from mnemic.adapters.access import Keyring, beside
from mnemic.adapters.access.register import Register
from mnemic.kernel.errors import AccessDamaged, StoreFailed, StoreFull, StoreTooNew
from tests.crash.limits import files_of

on_posix = pytest.mark.skipif(os.name != "posix", reason="no such permissions there")


def test_the_file_holds_a_digest_and_no_secret(keyring: Keyring, path: Path) -> None:
    token, secret = keyring.create("ines", {"notes": "read"})
    head, line = path.read_bytes().splitlines(keepends=True)
    assert orjson.loads(head) == {
        "format": "mnemic-tokens",
        "version": 1,
        "sha256": sha256(line).hexdigest(),
    }
    assert orjson.loads(line) == {
        "id": token.id,
        "name": "ines",
        "digest": sha256(secret.encode()).hexdigest(),
        "scopes": {"notes": "read"},
        "created_us": token.created_us,
        "expires_us": None,
        "revoked_us": None,
    }


def test_what_is_read_is_what_was_written(keyring: Keyring, server: Keyring) -> None:
    made = [
        keyring.create("ines", {"*": "admin", "Zoë's 猫\n": "read"}, "2027-01-01")[0],
        keyring.create("tomasz", {"notes": "write"})[0],
    ]
    made[1] = keyring.revoke(made[1].id)
    assert server.list() == tuple(made)


@on_posix
def test_only_its_owner_may_use_the_file_whatever_the_mask(keyring: Keyring, path: Path) -> None:
    mask = os.umask(0)
    try:
        keyring.create("ines", {"notes": "read"})
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600


@on_posix
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o602, 0o666])
def test_a_file_open_to_others_is_refused_until_fixed(
    keyring: Keyring, path: Path, mode: int
) -> None:
    token, secret = keyring.create("ines", {"notes": "read"})
    written = path.read_bytes()
    path.chmod(mode)
    for ask in (
        keyring.list,
        lambda: keyring.check(secret),
        lambda: keyring.revoke(token.id),
        lambda: Keyring.open(path),
    ):
        with pytest.raises(StoreFailed) as caught:
            ask()
        assert caught.value.recovery.startswith(f"Run `chmod 600 {path}`")
        assert f"(mode {mode:04o})" in caught.value.message
    assert path.read_bytes() == written
    path.chmod(0o600)
    assert keyring.check(secret) == token


def test_no_byte_of_the_file_can_change_unnoticed(
    keyring: Keyring, server: Keyring, path: Path
) -> None:
    _, secret = keyring.create("ines", {"notes": "read"})
    data = path.read_bytes()
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(AccessDamaged):
            server.check(secret)


def test_a_truncated_file_grants_no_access(keyring: Keyring, server: Keyring, path: Path) -> None:
    keyring.create("ines", {"notes": "read"})
    _, secret = keyring.create("tomasz", {"notes": "read"})
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(AccessDamaged):
            server.check(secret)


def test_a_damaged_file_is_left_unchanged_and_reported(keyring: Keyring, path: Path) -> None:
    path.write_text("a shopping list\n", encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(AccessDamaged) as caught:
        keyring.create("ines", {"notes": "read"})
    assert caught.value.to_dict() == {
        "code": "access-damaged",
        "detail": f"{path} is not a valid file of tokens: it does not begin like one",
        "recovery": AccessDamaged.default_recovery,
        "path": str(path),
    }
    assert path.read_text(encoding="utf-8") == "a shopping list\n"


def rewrite(path: Path, *, head: dict[str, Any] | None = None, lines: list[Any]) -> None:
    """Write a file with a valid digest."""
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    first = {"format": "mnemic-tokens", "version": 1, "sha256": sha256(body).hexdigest()}
    path.write_bytes(orjson.dumps(first | (head or {})) + b"\n" + body)
    path.chmod(0o600)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "0"},
        {"id": None},
        {"name": ""},
        {"name": " ines"},
        {"digest": "00"},
        {"digest": 0},
        {"digest": "no digest"},
        {"scopes": {}},
        {"scopes": {"notes": "owner"}},
        {"created_us": -1},
        {"created_us": "today"},
        {"expires_us": "never"},
        {"revoked_us": 0.5},
        {"nickname": "i"},
    ],
    ids=str,
)
def test_a_line_without_a_token_is_damage_despite_a_valid_digest(
    keyring: Keyring, path: Path, wrong: dict[str, Any]
) -> None:
    token, _ = keyring.create("ines", {"notes": "read"})
    rewrite(path, lines=[token.stored()])
    assert keyring.list() == (token,)
    rewrite(path, lines=[token.stored() | wrong])
    with pytest.raises(AccessDamaged, match="line 2 holds no token"):
        keyring.list()


@pytest.mark.parametrize("line", [[], None, 7, {}], ids=str)
def test_a_line_of_another_shape_is_damage(keyring: Keyring, path: Path, line: Any) -> None:
    rewrite(path, lines=[line])
    with pytest.raises(AccessDamaged, match="line 2 holds no token"):
        keyring.list()


def test_two_tokens_of_one_id_are_damage(keyring: Keyring, path: Path) -> None:
    token, _ = keyring.create("ines", {"notes": "read"})
    rewrite(path, lines=[token.stored(), token.stored()])
    with pytest.raises(AccessDamaged, match=f"line 3 repeats the id {token.id}"):
        keyring.list()


def test_a_file_of_a_later_release_is_not_touched(keyring: Keyring, path: Path) -> None:
    rewrite(path, head={"version": 2}, lines=[{"anything": "else"}])
    written = path.read_bytes()
    with pytest.raises(StoreTooNew, match="has format 2, this release knows 1"):
        keyring.create("ines", {"notes": "read"})
    assert path.read_bytes() == written


def test_a_new_file_looks_newer_than_the_one_it_replaces(keyring: Keyring, path: Path) -> None:
    token, _ = keyring.create("ines", {"notes": "read"})
    in_a_year_ns = path.stat().st_mtime_ns + 365 * 86_400 * 10**9
    os.utime(path, ns=(in_a_year_ns, in_a_year_ns))
    keyring.revoke(token.id)
    assert path.stat().st_mtime_ns > in_a_year_ns


@on_posix
def test_a_full_disk_leaves_the_file_as_it_was(keyring: Keyring, path: Path) -> None:
    token, secret = keyring.create("ines", {"notes": "read"})
    for refused in (
        lambda: keyring.create("tomasz", {"notes": "read"}),
        lambda: keyring.revoke(token.id),
    ):
        with files_of(100), pytest.raises(StoreFull):
            refused()
    assert keyring.check(secret) == token
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]
    keyring.revoke(token.id)
    assert keyring.check(secret) is None


def test_leftovers_of_a_killed_writer_do_no_harm(keyring: Keyring, path: Path) -> None:
    path.with_name(f".{path.name}.part").write_bytes(b"half a fi")
    token, secret = keyring.create("ines", {"notes": "read"})
    assert keyring.check(secret) == token
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]


MAKER = """
import sys
from mnemic.adapters.access import Keyring
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(count):
    Keyring.open(path).create(f"{name} {number}", {"notes": "read"})
"""


@pytest.mark.extended
def test_processes_that_make_tokens_at_once_lose_none(path: Path) -> None:
    makers = [
        subprocess.Popen([sys.executable, "-c", MAKER, path, name, "15"], stderr=subprocess.PIPE)
        for name in ("a", "b", "c")
    ]
    assert [maker.communicate()[1] for maker in makers] == [b"", b"", b""]
    assert sorted(token.name for token in Keyring.open(path).list()) == sorted(
        f"{name} {number}" for name in ("a", "b", "c") for number in range(15)
    )


def test_links_to_a_store_lead_to_one_file(tmp_path: Path) -> None:
    store, link = tmp_path / "memory.db", tmp_path / "link.db"
    store.touch()
    link.symlink_to(store)
    assert beside(link) == beside(store) == tmp_path.resolve() / "memory.db.tokens"


def test_a_link_to_the_file_is_kept(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    token, _ = Keyring.open(link).create("ines", {"notes": "read"})
    assert (link.is_symlink(), Keyring.open(path).list()) == (True, (token,))


@pytest.mark.parametrize("name", ["nowhere/tokens", ".", "n" * 300])
def test_an_impossible_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreFailed):
        Keyring.open(tmp_path / name).create("ines", {"notes": "read"})
    assert list(tmp_path.iterdir()) == []


def test_a_register_that_was_never_written_is_empty(path: Path) -> None:
    page = Register(path).read()
    assert (page.stamp, page.tokens) == (None, {})
