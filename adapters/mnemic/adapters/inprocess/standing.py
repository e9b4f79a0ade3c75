"""Where a seat stands in the log, for doors that say so with each answer.

A part of the door that looks behind it, as its verbs do, and no verb itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mnemic.adapters.inprocess.host import Host

Hear = Callable[[Callable[[], None]], Callable[[], None]]
T = TypeVar("T")

TRIES = 3
"""Times that a question is asked while others write, before they have to wait for it."""


def version_of(memory: Host) -> int:
    """Return the version that the log stands at."""
    space = memory._open()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    with space.guard:
        space.catch_up()
        return space.state.version


def hearing(memory: Host) -> Hear | None:
    """Return what asks the log to tell when it may have moved on, if it is one that can.

    See ``mnemic.kernel.ports.Telling``.
    """
    log = memory._open().log  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    hear: Hear | None = getattr(log, "hear", None)
    return hear


def version_written(memory: Host) -> int:
    """Return where the log stood when the last command of a seat had been answered.

    A repeated command is answered where it was the first time.
    """
    answered = memory._open().answered  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return version_of(memory) if answered is None else answered


def asked(memory: Host, question: Callable[[], T]) -> tuple[T, int]:
    """Return the answer to a question that only reads, and the one version it was read from.

    Nobody waits for it, unless others keep on writing. Then the seats of this process wait, once;
    what other processes write meanwhile, and what waits to be consolidated, is left for later.
    """
    for _ in range(TRIES):
        before = version_of(memory)
        answer = question()
        if version_of(memory) == before:
            return answer, before
    with memory._open().still() as version:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return question(), version
