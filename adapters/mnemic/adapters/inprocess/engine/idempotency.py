"""Recognition of repeated commands by their id and the digest of their request.

A digest without a key could be compared with guesses for as long as the log exists, whatever was
erased; so it is keyed with the keys of the payloads, which are erased together with the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mnemic.adapters.inprocess.engine.commands import AFTER_ERASURE, Command
from mnemic.adapters.inprocess.engine.log_state import LogState
from mnemic.kernel.errors import CommandIdReused
from mnemic.kernel.ports import CommandRow, PayloadRow


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
