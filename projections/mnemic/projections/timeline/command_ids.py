"""Command ids: which versions carry which id, so that a repeated command is recognised.

Kept is a 64-bit number of each id and the version of its first event, twelve bytes a command,
whether a caller chose the id or the engine did. Two ids may have one number; the event at the
version says which it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import compress
from operator import ne
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import ArrayBundle, nested, packed, unpacked, within
from mnemic.projections.storage.event_columns import EventColumns

_COLUMNS: Mapping[str, type[np.generic]] = {"number": np.int64, "first": np.int32}
_DIGITS = re.compile("[0-9a-f]*")
GENERATED_DIGITS = 16
"""Length of an id that the engine generates, in hexadecimal digits."""
RECENT_MIN = 1024
RECENT_SHARE = 64
"""Commands that are compared one by one, before all are sorted again: at least `RECENT_MIN`, and
one in so many."""
_NONE: Final[NDArray[np.int64]] = np.zeros(0, np.int64)


class CommandIds:
    """The ids of all commands in the log."""

    def __init__(self) -> None:
        self._rows = EventColumns(**_COLUMNS)
        """One row for each command, in the order of the log."""
        self._latest = ""
        """The id of the last event."""
        self._sorted: tuple[NDArray[np.int64], NDArray[np.int64]] = _NONE, _NONE
        """Cache: the numbers of the first commands, ascending, and the rows they belong to."""

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        return {"facts": packed({"latest": self._latest}), **nested(rows=self._rows.frozen())}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> CommandIds:
        """Return the ids that were frozen."""
        found = cls()
        found._rows = EventColumns.thawed(within(parts, "rows"), _COLUMNS)
        found._latest = unpacked(parts["facts"])["latest"]
        return found

    def record(self, command_id: str, version: int) -> None:
        """Add the id of the next event; successive events with one id are of one command."""
        if command_id != self._latest:
            self._latest = command_id
            self._rows.append((_number(command_id), version))

    def make_room(self) -> None:
        """Make room for a command."""
        self._rows.make_room()

    def record_each(self, command_ids: Sequence[str], first: int) -> None:
        """Add the ids of the next events, the first of them at version *first*."""
        before = [self._latest, *command_ids[:-1]]
        places = list(compress(range(len(before)), map(ne, command_ids, before)))
        if places:
            numbers = _numbers([command_ids[place] for place in places])
            self._rows.extend([numbers, np.array(places, np.int64) + first])
        self._latest = command_ids[-1]

    def candidates(self, command_id: str) -> list[tuple[int, int | None]]:
        """Return the commands that may have an id, in the order of the log.

        Args:
            command_id: The id as the events carry it.

        Returns:
            The first version of each, and the first version of the command after it; None: it is
            the last one.
        """
        column, (numbers, places) = self._rows.column("number"), self._sorted
        count = len(column)
        if count - len(numbers) > max(RECENT_MIN, len(numbers) // RECENT_SHARE):
            places = np.argsort(column, kind="stable")
            numbers = column[places]
            self._sorted = numbers, places
        number = np.int64(_number(command_id))
        ends = (numbers.searchsorted(number, side) for side in ("left", "right"))
        recent = np.flatnonzero(column[len(numbers) :] == number) + len(numbers)
        rows = [*places[slice(*ends)].tolist(), *recent.tolist()]
        return [
            (self._rows.row(row)[1], self._rows.row(row + 1)[1] if row < count - 1 else None)
            for row in rows
        ]


def is_like_generated(command_id: str) -> bool:
    """Return whether the engine may have made an id, for a command to which its caller gave none.

    Args:
        command_id: An id as the events carry it. A caller may have given one of the same form.
    """
    return len(command_id) == GENERATED_DIGITS and _DIGITS.fullmatch(command_id) is not None


def _number(command_id: str) -> int:
    """Return a number by which an id is found. Range: [-2**63, 2**63)."""
    if is_like_generated(command_id):
        digest = bytes.fromhex(command_id)
    else:
        digest = blake2b(command_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _numbers(command_ids: Sequence[str]) -> NDArray[np.int64]:
    """Return the numbers of many ids; faster where all are of the generated form."""
    digits = "".join(command_ids)
    if set(map(len, command_ids)) == {GENERATED_DIGITS} and _DIGITS.fullmatch(digits):
        return np.frombuffer(bytes.fromhex(digits), ">i8").astype(np.int64)
    return np.fromiter(map(_number, command_ids), np.int64, len(command_ids))
