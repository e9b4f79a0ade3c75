"""The log version of a session handle, for interfaces that return it with each answer.

These functions use internals of the interface, as its operations do, but are not operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mnemic.adapters.inprocess.operations.host import Host

Hear = Callable[[Callable[[], None]], Callable[[], None]]
T = TypeVar("T")

TAG_DIGITS = 16
"""Hexadecimal digits of a digest in a tag."""


def version_of(memory: Host) -> int:
    """Return the current version of the log."""
    return memory._open().snapshot().version  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def tag_of(memory: Host, version: int) -> str:
    """Return what identifies the log up to a version: the version, and the start of its digest.

    Two histories of a space may both have the version. For a log that is open up to its damage, the
    version alone.

    Raises:
        HistoryReplaced: The log is another one than that of which *memory* has the state.
    """
    space = memory._open()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if space.log_state.damage is not None:
        return str(version)
    return f"{version}.{space.digest_at(version).hex()[:TAG_DIGITS]}"


def check_same_log(memory: Host) -> None:
    """Refuse once, if the log was found to be another history since *memory* was used.

    Raises:
        HistoryReplaced: It was.
    """
    memory._open().check_informed()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def hearing(memory: Host) -> Hear | None:
    """Return the function that subscribes to changes of the log, if the log supports it.

    See ``mnemic.kernel.ports.LogCapabilities``.
    """
    return memory._open().log.capabilities.hear  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def version_written(memory: Host) -> int:
    """Return the version of the log after the last command of a session handle.

    For a repeated command that is the version after its first execution.
    """
    answered = memory._open().caller.answered_version  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return version_of(memory) if answered is None else answered


def asked(memory: Host, question: Callable[[], T]) -> tuple[T, int]:
    """Return the answer to a read-only query, and the one version it was read from.

    What others append meanwhile is ignored.
    """
    space = memory._open()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    with space.pinned():
        return question(), space.snapshot().version
