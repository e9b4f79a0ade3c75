"""Selection of writes, by the source of a block, the actor that wrote, the block, and the time.

The time is when an event was recorded; the date of a text is only the writer's claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import BlockLearned, BlockRestated, Recorded
from mnemic.kernel.timestamps import instant, iso
from mnemic.kernel.values import Value
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find

Ints = NDArray[np.int64]
NAMES: Final = ("source", "actor", "block")
KEYS: Final = (*NAMES, "since", "until")
WORDS_MAX: Final = 1000
"""Maximum number of alternatives in one condition."""


@frozen(kw_only=True)
class Selection(Value):
    """A validated selector. Every given condition must hold; listed values are alternatives."""

    source: tuple[str, ...] = ()
    actor: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    since_us: int | None = None
    """Recorded at or after."""
    until_us: int | None = None
    """Recorded before or at."""

    @classmethod
    def parse(cls, selector: Mapping[str, Any]) -> Selection:
        """Return the selection that a caller wrote.

        Raises:
            FieldRefused: A key is unknown, a value is of the wrong kind, or nothing is selected by
                source, actor or block.
        """
        if not isinstance(selector, Mapping):
            raise FieldRefused(
                f"selector must be an object, got {selector!r:.100}", field="selector"
            )
        given = {key: value for key, value in selector.items() if value is not None}
        unknown = [key for key in given if key not in KEYS]
        if unknown or not any(name in given for name in NAMES):
            what = f"does not know {', '.join(map(repr, unknown))}" if unknown else "is empty"
            raise FieldRefused(
                f"selector {what}",
                recovery="Select by at least one of source, actor and block; since and until limit "
                "when it was recorded.",
                field="selector",
            )
        return cls(
            **{name: _words(name, given[name]) for name in NAMES if name in given},
            since_us=instant("since", given.get("since")),
            until_us=instant("until", given.get("until")),
        )

    def plain(self) -> dict[str, Any]:
        """Return the selection in canonical form; ``parse`` reads it."""
        found: dict[str, Any] = {
            name: list(getattr(self, name)) for name in NAMES if getattr(self, name)
        }
        for name, us in (("since", self.since_us), ("until", self.until_us)):
            if us is not None:
                found[name] = iso(us)
        return found

    def blocks(self, view: View) -> Ints:
        """Return the blocks whose text a selected write learned, ascending.

        A text that was learned again, after it was archived, counts as learned then.

        Raises:
            BlockNotFound: A selected block was not learned at the view's version.
        """
        for each in self.block:
            find(view, each)
        return self.known_blocks(view)

    def known_blocks(self, view: View) -> Ints:
        """Return what ``blocks`` does, without selected blocks that were not learned by then."""
        catalogue, timeline = view.state.catalogue, view.state.timeline
        numbers = view.known()
        if self.block:
            named = [number for number in map(view.number, self.block) if number is not None]
            numbers = np.unique(np.array(named, dtype=np.int64))
        learned = view.life.column("learned", numbers)
        passing = self._in_time(timeline.recorded_us.values[learned])
        if self.source:
            wanted = [catalogue.sources.known(name) for name in self.source]
            passing &= np.isin(view.life.column("source", numbers), wanted)
        if self.actor:
            wanted = [timeline.actors.known(name) for name in self.actor]
            passing &= np.isin(timeline.actor.values[learned], wanted)
        found: Ints = numbers[passing]
        return found

    def without(self, view: View) -> View:
        """Return a view as though the selected blocks were not active; the same if none is."""
        gone = self.known_blocks(view)
        active = view.present.numbers
        left = np.setdiff1d(active, gone)
        return view if len(left) == len(active) else view.among(left)

    def _in_time(self, recorded_us: Ints) -> NDArray[np.bool_]:
        passing = np.ones(len(recorded_us), dtype=np.bool_)
        if self.since_us is not None:
            passing &= recorded_us >= self.since_us
        if self.until_us is not None:
            passing &= recorded_us <= self.until_us
        return passing

    def picks(self, recorded: Recorded) -> bool:
        """Whether an event is a selected write.

        Only what learns or restates a block has a source and a block; other events are selected by
        the actor alone.
        """
        event, us = recorded.event, recorded.recorded_us
        if self.since_us is not None and us < self.since_us:
            return False
        if self.until_us is not None and us > self.until_us:
            return False
        if self.actor and recorded.actor not in self.actor:
            return False
        if not self.source and not self.block:
            return True
        if not isinstance(event, BlockLearned | BlockRestated):
            return False
        return (not self.source or event.source in self.source) and (
            not self.block or event.block_id in self.block
        )


def _words(name: str, value: object) -> tuple[str, ...]:
    """Return one text or several, sorted: their order means nothing."""
    words = (value,) if isinstance(value, str) else value
    given = tuple(words) if isinstance(words, Iterable) else (words,)
    found = {word for word in given if isinstance(word, str) and word}
    if not given or len(given) > WORDS_MAX or not all(isinstance(each, str) for each in given):
        raise FieldRefused(
            f"selector {name} must be text or 1 to {WORDS_MAX} texts, got {value!r:.100}",
            field="selector",
        )
    if len(found) < len(set(given)):
        raise FieldRefused(f"selector {name} has an empty text", field="selector")
    return tuple(sorted(found))
