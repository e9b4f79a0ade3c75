"""The items of a conversation, for integrations that keep its history.

Each item is a record under its number. One that is taken back is forgotten by an event: it stays in
the past. Messages are learned as such, with role and thread, so that a recall finds what was said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from attrs import field, frozen

from mnemic.adapters.integrations.records import Put, Record, Records, valid_names
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.roles import role_named

NUMBER_WIDTH: Final = 12


@frozen
class Said:
    """The text of an item that is a message."""

    text: str
    role: str | None = None


@frozen
class Conversation:
    """A conversation of a name. What is appended in one call is one transaction.

    Args:
        records: Where its items are.
        name: Its name.
        said: Returns what a message says; None: the item is none, and is not searched.
    """

    records: Records
    name: str
    said: Callable[[Any], Said | None] = field(repr=False)

    @property
    def items(self) -> list[Any]:
        """The items, oldest first."""
        return [record.value for record in self._kept(self.records)]

    def append(self, items: Sequence[Any]) -> None:
        """Append items."""

        def work(records: Records) -> None:
            kept = self._kept(records)
            number = int(kept[-1].path[-1]) + 1 if kept else 0
            records.write(
                {self._path(place): self._put(item) for place, item in enumerate(items, number)}
            )

        self.records.transaction(work)

    def pop(self) -> Any:
        """Take back the latest item, and return it; None: there is none."""

        def work(records: Records) -> Any:
            kept = self._kept(records)
            if not kept:
                return None
            records.write({kept[-1].path: None})
            return kept[-1].value

        return self.records.transaction(work)

    def clear(self) -> None:
        """Take back all items."""

        def work(records: Records) -> None:
            records.write({record.path: None for record in self._kept(records)})

        self.records.transaction(work)

    def _kept(self, records: Records) -> list[Record]:
        return sorted(records.below(self.name), key=lambda record: record.path[-1])

    def _path(self, number: int) -> tuple[str, ...]:
        return self.name, f"{number:0{NUMBER_WIDTH}}"

    def _put(self, item: Any) -> Put:
        said = self.said(item)
        if said is None:
            return Put(value=item)
        fields = {"category": MESSAGE, "role": role_named(said.role)}
        fields |= valid_names(thread=self.name)
        return Put(value=item, text=said.text, fields=fields)
