"""Suggestions: pairs of blocks that may be worth connecting, for an agent to decide on.

Three kinds; at least one end was just returned and there is no edge between the ends:

======== ===================================================== ==================================
relation seen                                                  confidence, in [0, 1]
======== ===================================================== ==================================
co_occur returned together in all but one of the sessions that  sessions so far / sessions needed
         make an edge by themselves                            (2 of 3: 0.667)
similar  a cosine above ``suggest_cosine``                     the cosine
co_occur staged, and mostly returned by different frames       sessions so far / sessions needed,
                                                               1 where it only waits for room
======== ===================================================== ==================================

If several kinds apply to one pair, the one with the highest confidence is used, the first of the
table among equals. A pair is not suggested if it was disconnected, is a pending connection waiting
for room, or has an end that is not active or has expired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.identity import pair as pair_of_ids
from mnemic.kernel.model.texts import BlockText, placeholder
from mnemic.kernel.numeric.arithmetic import NANO, nano, share
from mnemic.kernel.results import SuggestedConnection, unit
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.values import Value
from mnemic.projections.graph.graph import key
from mnemic.projections.view import View
from mnemic.projections.view.block_results import origin_of

Ints = NDArray[np.int64]
SNIPPET_LENGTH_MAX = 120
"""Maximum number of characters of a block in a suggestion."""


@frozen(kw_only=True)
class _Idea(Value):
    """Reason to suggest a connection of a pair."""

    ends: tuple[int, int]
    kind: int
    """Which of the three kinds, in the order of the table."""
    relation: str
    confidence: int
    """Nano-units."""
    reason: str


def suggest(view: View, returned: Sequence[int]) -> tuple[SuggestedConnection, ...]:
    """Return connections to suggest with an answer, highest confidence first, ties by ids.

    Args:
        view: The state, including the effects of the recall itself.
        returned: Numbers of the blocks of the answer, best first.

    Source: DOMAIN section 5; seed 002, scenario 9.
    """
    most = view.policy.suggestions_max
    ends = [number for number in dict.fromkeys(returned) if _is_eligible(view, number)]
    if not ends or not most:
        return ()
    ideas = [*_of_use(view, ends), *_of_meaning(view, ends, most)]
    best: dict[tuple[int, int], _Idea] = {}
    for idea in sorted(ideas, key=lambda idea: (-idea.confidence, idea.kind)):
        best.setdefault(idea.ends, idea)
    chosen = sorted(best.values(), key=lambda idea: (-idea.confidence, _ids(view, idea.ends)))
    rank = {number: place for place, number in enumerate(ends)}
    return tuple(_suggestion(view, idea, rank) for idea in chosen[:most])


def _eligible(view: View) -> Ints:
    """Return the blocks that a suggestion may name, ascending: active, and not expired."""
    numbers = view.with_status(ACTIVE)
    expires = view.life.column("expires_us", numbers)
    found: Ints = numbers[(expires == UNKNOWN) | (expires > view.point.instant_us)]
    return found


def _is_eligible(view: View, number: int) -> bool:
    expires = view.life.get("expires_us", number)
    fresh = expires == UNKNOWN or expires > view.point.instant_us
    return fresh and view.status(number) == ACTIVE


def _is_open(view: View, ends: tuple[int, int]) -> bool:
    """Whether two blocks have no edge, no pending connection and were not disconnected."""
    taken = view.is_linked(*ends) or view.is_pending(*ends) or view.is_barred(*ends)
    return not taken


# --- use: kinds one and three -------------------------------------------------------------------


def _of_use(view: View, ends: Sequence[int]) -> Iterator[_Idea]:
    """Yield suggestions from staged pairs of the returned blocks."""
    pairs = dict.fromkeys(pair for number in ends for pair in view.staged_with(number))
    for a, b in pairs:
        if _is_eligible(view, a) and _is_eligible(view, b) and _is_open(view, (a, b)):
            sessions = len(view.staged_sessions(a, b))
            idea = _one_short(view, (a, b), sessions) or _across_frames(view, (a, b), sessions)
            if idea is not None:
                yield idea


def _one_short(view: View, ends: tuple[int, int], sessions: int) -> _Idea | None:
    needed = view.policy.co_retrieval_sessions
    if sessions != needed - 1:
        return None
    return _Idea(
        ends=ends,
        kind=0,
        relation="co_occurs",
        confidence=share(sessions, needed),
        reason=f"returned together in {_sessions(sessions)} without an edge; "
        "one more makes an edge by itself",
    )


def _across_frames(view: View, ends: tuple[int, int], sessions: int) -> _Idea | None:
    first, second = (_most_frequent(view, number) for number in ends)
    if not first or not second or set(first) & set(second):
        return None
    needed = max(1, view.policy.co_retrieval_sessions)
    return _Idea(
        ends=ends,
        kind=2,
        relation="co_occurs",
        confidence=min(NANO, share(sessions, needed)),
        reason=f"mostly returned by {first[0]} and by {second[0]}, "
        f"yet together in {_sessions(sessions)}",
    )


def _most_frequent(view: View, number: int) -> list[str]:
    """Return the frames that returned a block most often; several if they are equal."""
    counts = view.returned_by(number)
    most = max(counts.values(), default=0)
    return [frame for frame, count in counts.items() if count == most]


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


# --- meaning: kind two --------------------------------------------------------------------------


def _of_meaning(view: View, ends: Sequence[int], most: int) -> Iterator[_Idea]:
    """Yield the *most* similar pairs, and those that tie with the last of them."""
    floor = nano(view.policy.suggest_cosine) + 1  # above it, not at it
    found: dict[tuple[int, int], int] = {}
    for pair, cosine in _alike(view, ends, floor):
        if len(found) >= most and cosine < min(found.values()):
            break
        if pair not in found and _is_open(view, pair):
            found[pair] = cosine
    for pair, cosine in found.items():
        yield _Idea(
            ends=pair,
            kind=1,
            relation="similar",
            confidence=min(NANO, cosine),
            reason=f"a cosine of {unit(cosine):.2f} without an edge",
        )


def _alike(view: View, ends: Sequence[int], floor: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield pairs of one of *ends* and any block by descending cosine, some of them twice."""
    index = view.index
    asking = [number for number in ends if view.life.get("vector", number) >= 0]
    queries = index.vectors([view.life.get("vector", number) for number in asking])
    rows = view.life.column("vector", _eligible(view))
    batches = list(index.pairs(queries, rows[rows >= 0], floor=floor)) if asking else []
    if not batches:
        return
    which = np.concatenate([batch.queries for batch in batches])
    others = index.block_of[np.concatenate([batch.rows for batch in batches])]
    cosines = np.concatenate([batch.cosines for batch in batches])
    for place in np.argsort(-cosines, kind="stable").tolist():
        number, other = asking[which[place]], int(others[place])
        if number != other:
            yield key(number, other), int(cosines[place])


# --- results ------------------------------------------------------------------------------------


def _ids(view: View, ends: tuple[int, int]) -> tuple[str, str]:
    return pair_of_ids(view.id(ends[0]), view.id(ends[1]))


def _suggestion(view: View, idea: _Idea, rank: dict[int, int]) -> SuggestedConnection:
    """Return the result for an idea; the end that was returned, or ranked better, comes first."""
    source, target = sorted(idea.ends, key=lambda number: rank.get(number, len(rank)))
    return SuggestedConnection(
        source_id=view.id(source),
        target_id=view.id(target),
        source_content=_snippet(view, source),
        target_content=_snippet(view, target),
        source_origin=origin_of(view, source),
        target_origin=origin_of(view, target),
        reason=idea.reason,
        suggested_relation=idea.relation,
        confidence=unit(idea.confidence),
    )


def _snippet(view: View, number: int) -> str:
    """Return the beginning of a block on one line."""
    text = view.text(number)
    words = " ".join(text.content.split()) if isinstance(text, BlockText) else placeholder(text)
    if len(words) <= SNIPPET_LENGTH_MAX:
        return words
    return words[: SNIPPET_LENGTH_MAX - 1].rstrip() + "…"
