"""Commands, the results of their decisions, and their outcomes in the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.events import Event
from mnemic.kernel.ports import CommandRow, StartRunner
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value
from mnemic.projections.view import View

Progress = Callable[[int, int], None]
"""Called with the number of units done and the total."""
RunnerChoice: TypeAlias = str | StartRunner | None
"""Where tasks are done: ``inprocess``, ``processes``, ``ray``, ``auto``, or a host's own; None: in
this process."""

AFTER_ERASURE = ("erase", "erase_space", "end_session")
"""Operations that an erased space still accepts: repeated erasure, and ending a session."""


@frozen
class Command(Value):
    """The identity of a command: its operation, its arguments and its id."""

    operation: str
    arguments: dict[str, Any]
    id: str | None = None
    """None: the id is generated, so the command cannot be repeated."""
    replacements: int | None = None
    """The count of replaced histories when the command was prepared, if it depends on what was
    read then; None: it depends on nothing read before."""

    def request(self, keys: Sequence[bytes] = ()) -> bytes:
        """Return the digest of the operation and its arguments.

        Args:
            keys: Keys of the payloads that the command wrote, or the space's salt. Once one of them
                is erased, no guess can be compared with the digest any more. Empty: the digest
                has no key.
        """
        asked = [self.operation, self.arguments]
        try:
            body = json.dumps(asked, sort_keys=True, default=str)
        except (TypeError, ValueError, RecursionError):
            body = repr(asked)  # not plain JSON: the operation will refuse it
        encoded = body.encode("utf-8", "surrogatepass")
        if not keys:
            return hashlib.sha256(encoded).digest()
        key = hashlib.sha256(b"".join(keys)).digest()
        return hashlib.blake2b(encoded, key=key, digest_size=len(key)).digest()


@frozen
class Outcome(Value):
    """The result of a decision, and the events that it wrote to the log."""

    result: Any
    first: int
    """Version of the first event written; without events, the version of the head."""
    last: int
    """The same of the last event."""
    events: tuple[Event, ...]


Decide = Callable[[View, Instant], Decision[Any]]
"""Returns the decision on a view at an instant, or refuses by raising."""
ReplayHandler = Callable[[CommandRow], Outcome]
"""Answers a repeated command from its events, where deciding again would give another answer."""
