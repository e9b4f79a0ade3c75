"""Lines of an answer: the rendering of each block, and the tokens that it is counted with.

The tokens of a line decide which blocks fit into an answer, so a recipe fixes them: decisions of
``recall-1`` and ``recall-2`` count the tokens of the lines that their releases wrote
(``_former``). Every answer is shown in the grammar of ``mnemic.kernel.rendering``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import Final, TypeAlias

import numpy as np
from attrs import frozen

from mnemic.kernel.decisions.restatement import CONTRADICTS
from mnemic.kernel.model import identity
from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.periods import Period
from mnemic.kernel.model.texts import BlockText, Lost, placeholder
from mnemic.kernel.passages import passages
from mnemic.kernel.rendering import Cited, cited, render_line
from mnemic.kernel.roles import role_of
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.timestamps import iso
from mnemic.projections.retrieval.recipes import Recipe
from mnemic.projections.view import View
from mnemic.projections.view.block_results import validity

Line: TypeAlias = Callable[[int], str]
"""From the number of a block to the line that cites it."""
BestPassage: TypeAlias = Callable[[int], tuple[int, int] | None]
"""From the number of a block to the place of its best passage, from 0, and how many it has; None:
none is better than another."""


RENDERED_MAX: Final = 8192
"""Number of texts that stay rendered."""


@frozen(eq=False)
class Shown:
    """A block as answers show it: everything but what depends on the question."""

    content: str
    category: str
    tags: tuple[str, ...]
    zone: str
    source: str
    actor: str
    author: str | None
    thread: str | None
    created_at: str | None
    period: Period
    passages: int
    """Number of passages of the text; 0 if there is no text."""
    lines: dict[tuple[int, str], str]
    """The lines that cite it, by the passage shown, from 1, or 0 for all of it, and by what its
    period says of the moment."""


def shown(view: View, number: int) -> Shown:
    """Return a block as answers show it; cached for the row of the block that is in force."""
    cached = view.state.past.rendered
    key = number, view.life.row(number)
    found: Shown | None = cached.get(key)
    if found is None:
        if len(cached) > RENDERED_MAX:
            cached.clear()
        found = cached[key] = _shown(view, number)
    return found


def _shown(view: View, number: int) -> Shown:
    catalogue = view.state.catalogue
    row = dict(zip(catalogue.life.names, view.life.values(number), strict=True))
    text, created = catalogue.texts[row["text"]], row["created_us"]
    words = text if isinstance(text, BlockText) else None
    return Shown(
        content=text.content if isinstance(text, BlockText) else placeholder(text),
        category=catalogue.categories.words[row["category"]],
        tags=catalogue.tag_sets[row["tags"]],
        zone=catalogue.zones.words[row["zone"]],
        source=catalogue.sources.words[row["source"]],
        actor=view.state.timeline.actor_at(row["learned"]),
        author=words.author if words else None,
        thread=words.thread if words else None,
        created_at=None if created == UNKNOWN else iso(created),
        period=catalogue.periods.known[row["period"]],
        passages=len(passages(words.content)) if words else 0,
        lines={},
    )


def lines(view: View, recipe: Recipe, best: BestPassage) -> tuple[Line, Line]:
    """Return functions from a block to the line that a reader sees and to that which it costs.

    Both are cached.

    Args:
        view: The view.
        recipe: The recipe of the answer.
        best: The best passage of each block, by which a long text is cited.
    """
    if not recipe.graded:
        return partial(_line, view, None, ()), cache(partial(_former, view))
    contested = contested_blocks(view)
    seen = cache(partial(_line, view, best, contested))
    return seen, seen


def _line(view: View, best: BestPassage | None, contested: Collection[int], number: int) -> str:
    """Return the line of a block; *contested* are those that may have to name newer ones."""
    known = shown(view, number)
    passage = _passage(view, number, known, best)
    if number in contested:
        against = _contradicting(view, number)
        return render_line(_cited(view, number, known, passage=passage, against=against))
    key = passage, known.period.at(view.point.instant_us)
    line = known.lines.get(key)
    if line is None:
        line = render_line(_cited(view, number, known, passage=passage, against=()))
        known.lines[key] = line
    return line


def _passage(view: View, number: int, known: Shown, best: BestPassage | None) -> int:
    """Return which passage of a text is cited, from 1; 0: all of it."""
    if best is None or known.passages <= view.policy.passages_whole:
        return 0
    place, _ = best(number) or (0, known.passages)
    return place + 1


def _cited(view: View, number: int, known: Shown, *, passage: int, against: Sequence[int]) -> Cited:
    text = view.text(number)
    words = text if isinstance(text, BlockText) else None
    content = words.content if words else None
    if words and passage:
        content = passages(words.content)[passage - 1]
    return cited(
        view.id(number),
        content,
        zone=known.zone,
        actor=known.actor,
        author=(words.author or role_of(None, words.metadata)) if words else None,
        created_at=known.created_at,
        contradicted_by=map(view.id, against),
        passage=passage or None,
        is_lost=isinstance(text, Lost),
        **validity(known.period, view.point.instant_us),
    )


def contested_blocks(view: View) -> frozenset[int]:
    """Return the blocks with an edge of contradiction."""
    ends = view.contradictions()  # the same array as before, unless one has changed
    found: frozenset[int] = view.columns.following(
        "contested", lambda: frozenset(ends.ravel().tolist()), ends
    )
    return found


def _contradicting(view: View, number: int) -> list[int]:
    """Return the newer blocks, of no lower zone, that contradict a block."""
    others = live_ends(view, number, view.related(number, CONTRADICTS))
    if not others:
        return []
    both = np.array([number, *others], dtype=np.int64)
    said, ceilings = view.said_order(both).tolist(), view.ceilings(both).tolist()
    return [
        other
        for other, when, ceiling in zip(others, said[1:], ceilings[1:], strict=True)
        if when > said[0] and ceiling >= ceilings[0]
    ]


def live_ends(view: View, number: int, edges: Sequence[EdgeFacts]) -> list[int]:
    """Return the unexpired blocks at the other ends of *edges* of a block."""
    return [other for edge in edges if is_live(view, other := edge.other(number))]


def is_live(view: View, number: int) -> bool:
    """Whether a block is active and has not expired."""
    facts = view.facts(number)
    expired = facts.expires_us is not None and facts.expires_us <= view.point.instant_us
    return facts.status == ACTIVE and not expired


def _former(view: View, number: int) -> str:
    """Return a line as it was up to ``recall-2``: short id, words, author and date."""
    text = view.text(number)
    content = text.content if isinstance(text, BlockText) else placeholder(text)
    author = text.author if isinstance(text, BlockText) else None
    created = view.life.get("created_us", number)
    when = None if created == UNKNOWN else iso(created)[:10]
    about = ", ".join(part for part in (author, when) if part)
    line = f"[{identity.short(view.id(number))}] {' '.join(content.split())}"
    return f"{line} ({about})" if about else line
