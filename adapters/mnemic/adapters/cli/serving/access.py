"""Commands that manage access tokens for a server: token create, list, revoke."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli.invocation.context import (
    Flag,
    Invocation,
    Run,
    plain,
)
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.system.clocks import SystemClock
from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from mnemic.adapters.access import Keyring, Scope, Token

STYLES = {"live": "green", "expired": "dim", "revoked": "dim"}
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"([0-9]{1,9})([mhdw])")

token = App(
    name="token",
    help="Create, list and revoke the tokens that give others access through a server.",
    version_flags=[],
    print_error=False,
    exit_on_error=False,
)


@token.command
def create(
    name: str,
    /,
    *,
    read: tuple[str, ...] = (),
    write: tuple[str, ...] = (),
    admin: tuple[str, ...] = (),
    expires: str | None = None,
    zone: str | None = None,
    file: Path | None = None,
    run: Run,
) -> int:
    """Create a token and print its secret, only this once: only a digest of it is kept.

    ```
    mnemic token create ines --write notes --read team --expires 90d
    mnemic token create mailbox --write notes --zone untrusted
    SECRET=$(mnemic token create backup --read "*")
    curl -H "Authorization: Bearer $SECRET" ...
    ```

    Args:
        name: The actor that uses it, as named in the log.
        read: A space that it may read; repeat for more. "*" is every space.
        write: A space that it may read and write.
        admin: A space that it may also administer: change as a whole, and erase.
        expires: When it expires: a date (ISO 8601; UTC if it names no zone), or 90d, 12h, 30m, 2w
            from now. Never, if not given.
        zone: Its trust zone: what it learns is of this zone at most, and it may not change blocks
            of a higher one. Full trust, if not given.
        file: The file of tokens: STORE.tokens next to the store, if not given.
        run: The invocation.
    """
    keyring = keyring_of(run, file, option="--file")
    made, secret = keyring.create(name, _scopes(read, write, admin), _end(expires), zone=zone)
    if run.as_json:
        run.write_json({"token": made.to_dict(), "secret": secret, "file": str(keyring.path)})
        return Exit.OK
    # Only the secret goes to standard output, on one line, so that a shell can capture it.
    run.out.print(Text(secret), soft_wrap=True)
    for sentence in (
        made.summary,
        "This secret cannot be shown again. Send it with each request, as the header",
        "Authorization: Bearer <secret>",
        f"Revoke it with `mnemic token revoke {made.id}`. The tokens are in {keyring.path}.",
    ):
        run.err.print(Text(plain(sentence), style="dim"), soft_wrap=not run.err.is_terminal)
    return Exit.OK


@token.command(name="list")
def list_(
    *, every: Annotated[Flag, Parameter(name="--all")] = False, file: Path | None = None, run: Run
) -> int:
    """List the tokens with their scopes and expiry. No secret is shown.

    Args:
        every: Also those that are revoked or expired.
        file: The file of tokens: STORE.tokens next to the store, if not given.
        run: The invocation.
    """
    keyring = keyring_of(run, file, option="--file")
    now_us = SystemClock().now_us()
    listed = [(each, each.state(now_us)) for each in keyring.list()]
    shown = [(each, state) for each, state in listed if every or state == "live"]
    document = {
        "tokens": [each.to_dict() | {"state": state} for each, state in shown],
        "file": str(keyring.path),
    }
    run.show_document(
        document, _drawn(shown) if shown else Text(plain(f"No token in {keyring.path}."))
    )
    return Exit.OK


@token.command
def revoke(token_id: str, /, *, file: Path | None = None, run: Run) -> int:
    """Revoke a token. A running server refuses it from the next request on.

    Args:
        token_id: The 8 digits that `mnemic token list` shows.
        file: The file of tokens: STORE.tokens next to the store, if not given.
        run: The invocation.
    """
    run.show(keyring_of(run, file, option="--file").revoke(token_id.strip().lower()))
    return Exit.OK


def keyring_of(run: Invocation, file: Path | None, *, option: str) -> Keyring:
    """Return the tokens for the store of an invocation.

    Args:
        run: The invocation that names the store.
        file: The file of tokens; None: next to the store.
        option: The command-line option that names the file.

    Raises:
        FieldRefused: No file was named, and the store is not a file.
        AccessDamaged, StoreFailed: See ``Keyring.open``.
    """
    from mnemic.adapters.access import Keyring, beside

    if file is None and not isinstance(run.path, Path):
        raise FieldRefused(
            "a store on a server has no default file of tokens",
            recovery=f"Name one: {option} FILE.",
            field=option.strip("-"),
        )
    return Keyring.open(beside(Path(run.path)) if file is None else file)


def _scopes(
    read: tuple[str, ...], write: tuple[str, ...], admin: tuple[str, ...]
) -> Mapping[str, Scope]:
    """Return scopes by space; of two on one space the wider one applies."""
    if not read + write + admin:
        raise FieldRefused(
            "the token has no scope",
            recovery='Name a space with --read, --write or --admin; "*" is every space.',
            field="scopes",
        )
    return {
        **dict.fromkeys(read, "read"),
        **dict.fromkeys(write, "write"),
        **dict.fromkeys(admin, "admin"),
    }


def _end(expires: str | None) -> str | datetime | None:
    """Return the named instant, or the one after the named span from now."""
    span = None if expires is None else _SPAN.fullmatch(expires.strip().lower())
    if span is None:
        return expires
    try:
        return datetime.now(UTC) + timedelta(**{UNITS[span[2]]: int(span[1])})
    except OverflowError as error:
        raise FieldRefused(
            f"--expires {expires} is beyond the year 9999",
            recovery="Leave it out for a token that lasts until it is revoked.",
            field="expires",
        ) from error


def _drawn(shown: Sequence[tuple[Token, str]]) -> RenderableType:
    from mnemic.adapters.cli.render.tables import table

    drawn = table("id", "name", "state", "until (UTC)", "scopes", "zone")
    for each, state in shown:
        facts = each.to_dict()
        drawn.add_row(
            Text(each.id, style="cyan"),
            Text(plain(each.name)),
            Text(state, style=STYLES[state]),
            Text((facts["expires_at"] or "-")[:16]),
            Text(plain("; ".join(f"{scope} {space}" for space, scope in each.scopes.items()))),
            Text(plain(each.zone or "-")),
        )
    return drawn
