"""What a verb asks of the log: the command, what was decided on it, and what came of that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from mnemic.kernel.events import Event
from mnemic.kernel.ports import CommandRow
from mnemic.kernel.reading import Moment
from mnemic.projections.views import View

AFTER_ERASURE = ("erase", "erase_space", "end_session")
"""Verbs that an erased space still takes: asking again, and going home."""


@frozen
class Command:
    """What identifies a command: who asked for what, and under which id."""

    verb: str
    arguments: dict[str, Any]
    id: str | None = None
    """None: a fresh one, which nobody can repeat and so is not remembered."""

    def request(self, keys: Sequence[bytes] = ()) -> bytes:
        """Return the digest of what was asked.

        Args:
            keys: Of the payloads that it wrote, or the space's salt: once one of them is erased,
                the digest cannot be held against a guess any more.
        """
        asked = [self.verb, self.arguments]
        try:
            body = json.dumps(asked, sort_keys=True, default=str)
        except (TypeError, ValueError, RecursionError):
            body = repr(asked)  # not plain JSON: the verb will refuse it
        asked_bytes = body.encode("utf-8", "surrogatepass")
        if not keys:
            return hashlib.sha256(asked_bytes).digest()
        key = hashlib.sha256(b"".join(keys)).digest()
        return hashlib.blake2b(asked_bytes, key=key, digest_size=len(key)).digest()


@frozen
class Written:
    """What a decision wants written, and what its answer needs besides."""

    events: tuple[Event, ...]
    extra: Any = None
    erase: tuple[str, ...] = ()
    erase_all: bool = False


@frozen
class Outcome:
    """A decision that stands in the log, or that needed nothing written."""

    extra: Any
    first: int
    """Version of the first event written, or the head if there was none."""
    last: int
    events: tuple[Event, ...]


Decide = Callable[[View, Moment], Written]
Again = Callable[[CommandRow], Outcome]
"""Answers a repeated command from what it wrote, where deciding again would say something else."""
