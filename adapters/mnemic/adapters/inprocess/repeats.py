"""Whether a command is the one that is remembered under its id.

What it asked is kept as a digest. One without a key could be held against a guess for as long as
the log lives, whatever was erased; so it is keyed with what dies with the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mnemic.adapters.inprocess.commands import AFTER_ERASURE, Command
from mnemic.adapters.inprocess.folding import Folded
from mnemic.kernel.errors import CommandIdReused
from mnemic.kernel.ports import CommandRow, PayloadRow


def request(command: Command, payloads: Iterable[PayloadRow], folded: Folded) -> bytes:
    """Return the digest by which *command* is known again.

    Args:
        command: What was asked.
        payloads: All that it wrote, by version and slot: with the first of them that is erased
            nobody can tell any more what was asked.
        folded: Its space; the guard is held.
    """
    return command.request([row.key for row in payloads] or _salt(command, folded))


def check_same(command: Command, row: CommandRow, folded: Folded) -> None:
    """Refuse a command that is not the one whose id it bears.

    Args:
        command: What is asked.
        row: What is remembered under its id.
        folded: Its space; the guard is held.

    Raises:
        CommandIdReused: It is another one, or nobody can tell any more.
        LogCorrupt: What it wrote cannot be read.
    """
    if row.request in {command.request(_salt(command, folded)), command.request()}:
        return  # it wrote no words, or an earlier release remembered it, without a key
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
            recovery="Use a fresh command id: nobody can tell whether this is the same command.",
            **facts,
        )
    raise CommandIdReused(f"{used} for another request at version {row.first}", **facts)


def _salt(command: Command, folded: Folded) -> list[bytes]:
    """Return the key for a command that writes no words: the salt of the space.

    It goes with the space; so what may be asked after that does without, and names ids alone.
    """
    salt = folded.state.timeline.salt
    return [] if salt is None or command.verb in AFTER_ERASURE else [salt]
