"""Lines of an answer: the rendering of each block, and the tokens that it is counted with.

The tokens of a line decide which blocks fit into an answer, so a recipe fixes them: decisions of
``recall-1`` and ``recall-2`` count the tokens of the lines that their releases wrote
(``_former``). Every answer is shown in the grammar of ``mnemic.kernel.rendering``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from mnemic.kernel.decisions.restatement import CONTRADICTS
from mnemic.kernel.model import identity
from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.texts import BlockText, Lost, placeholder
from mnemic.kernel.passages import passages
from mnemic.kernel.rendering import Cited, cited, render_line
from mnemic.kernel.roles import role_of
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.timestamps import iso
from mnemic.projections.retrieval.recipes import Recipe
from mnemic.projections.view import View

Line: TypeAlias = Callable[[int], str]
"""From the number of a block to the line that cites it."""
BestPassage: TypeAlias = Callable[[int], tuple[int, int] | None]
"""From the number of a block to the place of its best passage, from 0, and how many it has; None:
none is better than another."""


def lines(view: View, recipe: Recipe, best: BestPassage) -> tuple[Line, Line]:
    """Return functions from a block to the line that a reader sees and to that which it costs.

    Both are cached.

    Args:
        view: The view.
        recipe: The recipe of the answer.
        best: The best passage of each block, by which a long text is cited.
    """
    if not recipe.graded:
        seen = cache(lambda number: render_line(cited_block(view, number)))
        return seen, cache(partial(_former, view))
    marked = bool(len(view.contradictions()))
    seen = cache(lambda number: render_line(cited_block(view, number, best, marked=marked)))
    return seen, seen


def cited_block(
    view: View, number: int, best: BestPassage | None = None, *, marked: bool = False
) -> Cited:
    """Return a block as a reader sees it.

    Args:
        view: The view.
        number: The block.
        best: The best passage of each block, by which a long text is cited; None: it is cited as a
            whole.
        marked: Whether newer blocks that contradict it are named.
    """
    text = view.text(number)
    words = text if isinstance(text, BlockText) else None
    content, passage = words.content if words else None, None
    if words and best is not None:
        place, count = best(number) or (0, len(passages(words.content)))
        if count > view.policy.passages_whole:
            content, passage = passages(words.content)[place], place + 1
    created = view.life.get("created_us", number)
    return cited(
        view.id(number),
        content,
        zone=view.zone(number),
        actor=view.actor(number),
        author=(words.author or role_of(None, words.metadata)) if words else None,
        created_at=None if created == UNKNOWN else iso(created),
        contradicted_by=map(view.id, _contradicting(view, number)) if marked else (),
        passage=passage,
        is_lost=isinstance(text, Lost),
    )


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
