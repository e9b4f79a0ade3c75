"""Queues of texts that wait for analysis."""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.kernel.model.texts import BlockText
from mnemic.projections.storage.payloads import Payloads


class Queue:
    """Texts waiting for analysis, in order."""

    def __init__(self) -> None:
        """Start empty."""
        self._texts: list[str | None] = []

    def append(self, text: str | None) -> None:
        """Append *text*."""
        self._texts.append(text)

    def __len__(self) -> int:
        """Return the number of waiting texts."""
        return len(self._texts)

    def __iter__(self) -> Iterator[str | None]:
        """Yield all, oldest first."""
        return iter(self._texts)

    def clear(self) -> None:
        """Remove all."""
        self._texts = []


class Owed(Queue):
    """A queue that refers to texts stored elsewhere, because a long log brings very many.

    Args:
        kept: Where each text is stored before it is queued here, by document number.
    """

    def __init__(self, kept: Payloads[BlockText]) -> None:
        """Start with an empty queue."""
        self._kept = kept
        self._count = 0

    def append(self, text: str | None) -> None:  # noqa: ARG002 - it is stored already
        """Queue the next stored text."""
        self._count += 1

    def __len__(self) -> int:
        """Return the number of waiting texts."""
        return self._count

    def __iter__(self) -> Iterator[str | None]:
        """Yield all, oldest first."""
        for text in self._kept.since(len(self._kept) - self._count):
            yield text.content if isinstance(text, BlockText) else None

    def clear(self) -> None:
        """Remove all."""
        self._count = 0
