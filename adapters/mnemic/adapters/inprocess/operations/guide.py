"""``guide``: the purpose of each operation.

A card is made of the signature and the docstring of its operation. ``guides.toml`` adds when to use
it and when not, its cost and what comes next, and replaces what it words better for a guide.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

from mnemic.adapters.inprocess.registry import (
    declarations,
    implementation,
    implementing_class,
    operation,
)
from mnemic.kernel.errors import GuideUnknown

if TYPE_CHECKING:
    from mnemic.kernel.results import GuideCard, GuideIndex

WORDED: Final = Path(__file__).with_name("guides.toml")


class Guided:
    """Mixin with the operation guide."""

    @overload
    @staticmethod
    def guide(name: None = None) -> GuideIndex: ...
    @overload
    @staticmethod
    def guide(name: str) -> GuideCard: ...
    @staticmethod
    @operation("GET /v1/guide", "Server")
    def guide(name: str | None = None) -> GuideCard | GuideIndex:
        """Return the card of an operation, or the list of all cards.

        It needs no session and no open file, and never waits.

        Args:
            name: An operation, such as ``connect``; None: all of them.

        Raises:
            GuideUnknown: No operation is called that.
        """
        from mnemic.kernel.results import GuideIndex

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
    import tomllib

    worded = tomllib.loads(WORDED.read_text(encoding="utf-8"))
    return {name: _card(name, worded.get(name, {})) for name in [*worded, *declarations()]}


def _card(name: str, worded: Mapping[str, Any]) -> GuideCard:
    from mnemic.adapters.docstrings import docstring, plainly
    from mnemic.kernel.results import GuideCard

    of = implementing_class()
    call, place = implementation(of, name), inspect.getattr_static(of, name)
    owner = f"{of.__name__}." if isinstance(place, classmethod) else ""
    docs, signature = docstring(call), inspect.signature(call)
    raises = (f"{error}: {why or 'see the class.'}" for error, why in docs.raises.items())
    return GuideCard(
        name=name,
        call=f"{owner}{name}({_arguments(signature)})",
        what=worded.get("what") or plainly(docs.summary),
        when=worded.get("when", ""),
        when_not=worded.get("when_not", ""),
        cost=worded.get("cost", ""),
        returns=worded.get("returns") or f"{signature.return_annotation}.",
        next=tuple(worded.get("next", ())),
        notes=worded.get("notes", "").strip("\n")
        if worded
        else "\n".join(filter(None, (plainly(docs.body), *raises))),
    )


def _arguments(signature: inspect.Signature) -> str:
    """Return the names of the arguments, without the command id that all writers share."""
    words: list[str] = []
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        if each.name not in {"self", "cls", "command_id"}:
            words.append(each.name)
    return ", ".join(words).removesuffix("*").removesuffix(", ")
