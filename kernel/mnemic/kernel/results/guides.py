"""Results of ``guide``: a card for one operation, or the list of all."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.results.shape import Result


@frozen(kw_only=True, str=False)
class GuideCard(Result):
    """Explanation of one operation. As text it is the whole card; ``summary`` is one line of it."""

    name: str
    call: str
    """The operation with the names of its arguments."""
    what: str
    when: str
    """Empty, as are ``when_not`` and ``cost``, if there is no advice on the operation."""
    when_not: str
    cost: str
    returns: str
    next: tuple[str, ...]
    """Operations that often follow."""
    notes: str = ""
    """Further notes, in a few lines."""

    @property
    def summary(self) -> str:
        return f"{self.name}: {self.what}"

    def __str__(self) -> str:
        lines = [self.call, "", self.what, ""]
        if self.when:
            lines += [f"USE WHEN: {self.when}", f"NOT WHEN: {self.when_not}", f"COST: {self.cost}"]
        lines.append(f"RETURNS: {self.returns}")
        if self.notes:
            lines += ["", self.notes, ""]
        if self.next:
            lines.append(f"NEXT: {', '.join(self.next)}")
        return "\n".join(lines)


@frozen(kw_only=True, str=False)
class GuideIndex(Result):
    """All operations, one line each. As text it is the list; ``summary`` only names them."""

    cards: tuple[GuideCard, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that ``guide`` accepts."""
        return tuple(card.name for card in self.cards)

    @property
    def summary(self) -> str:
        return f"Guides: {', '.join(self.names)}."

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        return "\n".join(f"{card.name:{width}}  {card.what}" for card in self.cards)
