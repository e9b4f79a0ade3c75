"""``guide``: the purpose of each operation. The cards are in ``guides.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import overload

from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.errors import GuideUnknown
from mnemic.kernel.results import GuideCard, GuideIndex


class Guided:
    """Mixin with the operation guide."""

    @overload
    @staticmethod
    def guide(name: None = None) -> GuideIndex: ...
    @overload
    @staticmethod
    def guide(name: str) -> GuideCard: ...
    @staticmethod
    @operation("GET /v1/guide", group="Server")
    def guide(name: str | None = None) -> GuideCard | GuideIndex:
        """Return the card of an operation, or the list of all cards.

        It needs no session and no open file, and never waits.

        Args:
            name: An operation, such as ``connect``; None: all of them.

        Raises:
            GuideUnknown: No operation is called that.
        """
        cards = _cards()
        if name is None:
            return GuideIndex(cards=tuple(cards.values()))
        known = name.strip().lower() if isinstance(name, str) else ""
        if known not in cards:
            names = ", ".join(cards)
            raise GuideUnknown(
                f"no operation is called {name!r:.100}",
                recovery=f"Ask for one of: {names}.",
                names=list(cards),
            )
        return cards[known]


guide = Guided.guide


@cache
def _cards() -> dict[str, GuideCard]:
    page = resources.files("mnemic.adapters.inprocess.operations") / "guides.toml"
    return {
        name: GuideCard(
            name=name,
            call=card["call"],
            what=card["what"],
            when=card["when"],
            when_not=card["when_not"],
            cost=card["cost"],
            returns=card["returns"],
            next=tuple(card["next"]),
            notes=card.get("notes", "").strip("\n"),
        )
        for name, card in tomllib.loads(page.read_text(encoding="utf-8")).items()
    }
