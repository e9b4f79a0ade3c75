"""What a verb asks of the log: the command, what was decided on it, and what came of that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from attrs import frozen

from mnemic.kernel.events import Event
from mnemic.kernel.ports import CommandRow
from mnemic.kernel.reading import Moment
from mnemic.projections.views import View


@frozen
class Command:
    """What identifies a command: who asked for what, and under which id."""

    verb: str
    arguments: dict[str, Any]
    id: str | None = None
    """None: a fresh one, which nobody can repeat and so is not remembered."""

    def request(self) -> bytes:
        """Return the digest of what was asked."""
        asked = [self.verb, self.arguments]
        try:
            body = json.dumps(asked, sort_keys=True, default=str)
        except (TypeError, ValueError, RecursionError):
            body = repr(asked)  # not plain JSON: the verb will refuse it
        return hashlib.sha256(body.encode("utf-8", "surrogatepass")).digest()


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
