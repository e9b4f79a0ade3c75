"""Recognition of repeated commands by their actor, their id and the digest of their request.

A command id belongs to the actor that used it: two agents may both call a command ``learn-1``. The
store has one key per remembered command. It is the id itself for the actor that used it first, as
it was for everybody before ids were scoped, and a key derived from actor and id for any other.

A digest without a key could be compared with guesses for as long as the log exists, whatever was
erased; so it is keyed with the keys of the payloads, which are erased together with the text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from mnemic.adapters.inprocess.engine.commands import AFTER_ERASURE, Command
from mnemic.adapters.inprocess.engine.log_state import LogState
from mnemic.kernel.errors import CommandIdReused
from mnemic.kernel.ports import CommandRow, PayloadRow

KEY_DIGITS = 16
"""Hexadecimal digits of the digest in a derived key."""


def place(command_id: str, actor: str, folded: LogState) -> tuple[str, CommandRow | None]:
    """Return the key of an actor's command id in the store, and the command remembered there.

    Args:
        command_id: As the actor gave it.
        actor: The actor of the command.
        folded: Its space; the state lock is held.

    Returns:
        The key, and None if the actor has not used the id yet: the key is free then.
    """
    for key in _keys(command_id, actor):
        row = folded.log.command(key)
        if row is None or _actor_of(row, folded) == actor:
            return key, row
    raise AssertionError("the keys of a command id never end")  # pragma: no cover


def _keys(command_id: str, actor: str) -> Iterator[str]:
    """Yield the keys that an id may have: later ones where others' ids are spelled like it."""
    yield command_id
    for attempt in count():
        said = json.dumps([actor, command_id, attempt]).encode()
        yield f"{command_id}@{hashlib.sha256(said).hexdigest()[:KEY_DIGITS]}"


def _actor_of(row: CommandRow, folded: LogState) -> str | None:
    recorded = folded.event_at(row.first)
    return None if recorded is None else recorded.actor


def request(command: Command, payloads: Iterable[PayloadRow], folded: LogState) -> bytes:
    """Return the digest by which *command* is recognised when it is repeated.

    Args:
        command: The command.
        payloads: All that it wrote, by version and slot: once one of them is erased, the request
            cannot be verified any more.
        folded: Its space; the state lock is held.
    """
    return command.request([row.key for row in payloads] or _salt(command, folded))


def check_same(command: Command, row: CommandRow, folded: LogState) -> None:
    """Refuse a command whose id was used for another request.

    Args:
        command: The command.
        row: The remembered command with its id.
        folded: Its space; the state lock is held.

    Raises:
        CommandIdReused: The request differs, or cannot be verified any more.
        LogCorrupt: The payloads that it wrote cannot be read.
    """
    if row.request in {command.request(_salt(command, folded)), command.request()}:
        return  # it wrote no text, or an earlier release remembered it, without a key
    payloads: list[PayloadRow] = []
    named = 0
    for record, rows in folded.log.read(row.first - 1, row.last):
        payloads += rows
        named += len(folded.codec.references(record))
    if payloads and row.request == request(command, payloads, folded):
        return
    facts: dict[str, Any] = {"command_id": command.id, "version": row.first}
    used = f"command id {command.id!r} was used"
    if named > len(payloads) or folded.state.timeline.space_erased is not None:
        raise CommandIdReused(
            f"{used} at version {row.first}, and what it wrote is erased since",
            recovery="Use a fresh command id: whether this is the same command is unknown.",
            **facts,
        )
    raise CommandIdReused(f"{used} for another request at version {row.first}", **facts)


def _salt(command: Command, folded: LogState) -> list[bytes]:
    """Return the key for a command that writes no text: the salt of the space.

    The salt is erased with the space; so operations allowed after that have no key, and their
    arguments are ids alone.
    """
    salt = folded.state.timeline.salt
    return [] if salt is None or command.operation in AFTER_ERASURE else [salt]
