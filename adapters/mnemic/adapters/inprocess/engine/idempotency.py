"""Recognition of repeated commands by their actor, their id and the digest of their request.

Which ids were used follows from the events, like all state; the store adds the digest of the
request. So a command whose row the store has lost is recognised too, and never carried out twice:
it is refused, since whether the request is the same cannot be verified any more.

A command id belongs to the actor that used it: two agents may both call a command ``learn-1``. The
log has one key per command: for the actor that used an id first, the id itself, as for all actors
before ids belonged to actors; for any other actor, a key derived from actor and id.

A digest without a key could be compared with guesses for as long as the log exists, even after an
erasure. So it is keyed with the keys of the payloads, which are erased together with the text.
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
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import CommandRow, Log, PayloadRow
from mnemic.projections.state.state import State
from mnemic.projections.timeline.command_ids import is_like_generated

KEY_DIGITS = 16
"""Hexadecimal digits of the digest in a derived key."""
LOST = b""
"""Digest of a request that the store has no row for."""


def place(
    command_id: str, actor: str, log_state: LogState, state: State, *, upto: int
) -> tuple[str, CommandRow | None]:
    """Return the key of an actor's command id in the log, and the command that was written with it.

    Args:
        command_id: As the actor gave it.
        actor: The actor of the command.
        log_state: The log.
        state: The state folded from it.
        upto: Version after which events are ignored.

    Returns:
        The key, and the versions and digest of the command; None if the actor has not used the id.
    """
    for key in _keys(command_id, actor):
        row = _used(key, log_state, state, upto)
        if row is None or state.timeline.actor_at(row.first) == actor:
            return key, row
    raise AssertionError("the keys of a command id never end")  # pragma: no cover


def _keys(command_id: str, actor: str) -> Iterator[str]:
    """Yield the keys that an id may have: the first that no other actor uses is the one it has."""
    yield command_id
    for attempt in count():
        said = json.dumps([actor, command_id, attempt]).encode()
        yield f"{command_id}@{hashlib.sha256(said).hexdigest()[:KEY_DIGITS]}"


def _used(key: str, log_state: LogState, state: State, upto: int) -> CommandRow | None:
    """Return the command whose events carry *key*, with the digest that the store has for it."""
    uses = list(_versions(key, log_state, state, upto))
    if not uses:
        return None
    row = log_state.log.command(key)
    if row is not None and (row.first, row.last) in uses:
        return row
    return CommandRow(key, LOST, *uses[0])  # a row that does not fit the events counts as lost


def _versions(key: str, log_state: LogState, state: State, upto: int) -> Iterator[tuple[int, int]]:
    """Yield the versions of the first and the last event of each command with *key*.

    There is one at most, except in a log that lost its rows under a release before 0.5.0.
    """
    for first, following in state.timeline.command_ids.candidates(key):
        recorded = log_state.event_at(first) if first <= upto else None
        if recorded is not None and recorded.command_id == key:
            yield first, upto if following is None else min(upto, following - 1)


def request(command: Command, payloads: Iterable[PayloadRow], state: State) -> bytes:
    """Return the digest by which *command* is recognised when it is repeated.

    Args:
        command: The command.
        payloads: All payloads that it wrote, by version and slot. Once one of them is erased, the
            request cannot be verified any more.
        state: The state of its space.
    """
    return command.request([row.key for row in payloads] or _salt(command, state))


def check_same(command: Command, row: CommandRow, log_state: LogState, state: State) -> None:
    """Refuse a command whose id was used for another request.

    Args:
        command: The command.
        row: The remembered command with its id.
        log_state: The log.
        state: The state folded from it.

    Raises:
        CommandIdReused: The request differs, or cannot be verified any more.
        LogCorrupt: The payloads that it wrote cannot be read.
    """
    if row.request in {command.request(_salt(command, state)), command.request()}:
        return  # it wrote no text, or an earlier release stored its digest without a key
    payloads: list[PayloadRow] = []
    named = 0
    for record, rows in log_state.log.read(row.first - 1, row.last):
        payloads += rows
        named += len(log_state.codec.references(record))
    if payloads and row.request == request(command, payloads, state):
        return
    facts: dict[str, Any] = {"command_id": command.id, "version": row.first}
    used = f"command id {command.id!r} was used"
    if row.request == LOST:
        raise CommandIdReused(
            f"{used} at version {row.first}, and the store has lost its request",
            recovery=f"See what was written at version {row.first}; for anything else, use a "
            "fresh command id.",
            **facts,
        )
    if named > len(payloads) or state.timeline.space_erased is not None:
        raise CommandIdReused(
            f"{used} at version {row.first}, and what it wrote has been erased since",
            recovery="Use a fresh command id: whether the request is the same cannot be verified.",
            **facts,
        )
    raise CommandIdReused(f"{used} for another request at version {row.first}", **facts)


class RequestCheck:
    """Counts the commands of a log whose rows the store has lost."""

    def __init__(self, log: Log) -> None:
        self.lost = 0
        """Commands without a row in the store whose ids do not have the form of generated ones."""
        self._log = log
        self._id = ""
        self._first = self._last = -1

    def see(self, recorded: Recorded) -> None:
        """Process the next event."""
        if recorded.command_id != self._id:
            self.settle()
            self._id, self._first = recorded.command_id, recorded.version
        self._last = recorded.version

    def settle(self) -> None:
        """Count the command of the last event."""
        if self._id and not is_like_generated(self._id):
            row = self._log.command(self._id)
            self.lost += row is None or (row.first, row.last) != (self._first, self._last)


def _salt(command: Command, state: State) -> list[bytes]:
    """Return the key for a command that writes no text: the salt of the space.

    The salt is erased with the space, so operations that are allowed after that have no key; their
    arguments contain ids only.
    """
    salt = state.timeline.salt
    return [] if salt is None or command.operation in AFTER_ERASURE else [salt]
