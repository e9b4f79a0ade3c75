"""Commands, the results of their decisions, and their outcomes in the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.events import Event
from mnemic.kernel.ports import CommandRow
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View

AFTER_ERASURE = ("erase", "erase_space", "end_session")
"""Operations that an erased space still accepts: repeated erasure, and ending a session."""


@frozen
class Command:
    """The identity of a command: its operation, its arguments and its id."""

    operation: str
    arguments: dict[str, Any]
    id: str | None = None
    """None: a generated id, which cannot be repeated and so is not remembered."""
    replacements: int | None = None
    """How often the log had been found to be another history when the command was prepared: it
    depends on what was read then. None: it depends on nothing read before."""

    def request(self, keys: Sequence[bytes] = ()) -> bytes:
        """Return the digest of the operation and its arguments.

        Args:
            keys: Keys of the payloads that it wrote, or the space's salt: once one of them is
                erased, the digest cannot be compared with a guess any more.
        """
        asked = [self.operation, self.arguments]
        try:
            body = json.dumps(asked, sort_keys=True, default=str)
        except (TypeError, ValueError, RecursionError):
            body = repr(asked)  # not plain JSON: the operation will refuse it
        asked_bytes = body.encode("utf-8", "surrogatepass")
        if not keys:
            return hashlib.sha256(asked_bytes).digest()
        key = hashlib.sha256(b"".join(keys)).digest()
        return hashlib.blake2b(asked_bytes, key=key, digest_size=len(key)).digest()


@frozen
class Outcome:
    """A decision that is in the log, or that needed no events."""

    result: Any
    first: int
    """Version of the first event written, or the head if there was none."""
    last: int
    events: tuple[Event, ...]


Decide = Callable[[View, Instant], Decision[Any]]
ReplayHandler = Callable[[CommandRow], Outcome]
"""Answers a repeated command from its events, where deciding again would give another answer."""
