"""Decision of a recorded recall: one event with the request, the answer and its effects.

A replay answers the request of the event again and compares. So every field of ``Asked`` and
``Found`` is required: one that was left out would only be noticed as a replay that differs.

An answer may be explored: its last place is occasionally filled at random. Blocks that are never
shown are never judged, and cannot be distinguished from useless ones. With a small rate the place
goes to one block of a pool, chosen uniformly. The probability of each is known to the nano-unit,
and later estimates divide by it.

Source: DOMAIN sections 6 and 9; Horvitz and Thompson (1952) for what the propensities are good for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import asdict, evolve, frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.coretrieval import effects
from mnemic.kernel.events import Answer, EmbedderIdentity, Exploration, RecallRecorded
from mnemic.kernel.model.identity import PolicyId, SessionId
from mnemic.kernel.model.texts import Embedding, Question
from mnemic.kernel.model.vectors import Vector, pack
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.reading import Reading
from mnemic.kernel.timestamps import Instant

WORD: Final = 8
"""Bytes of one random number."""
DRAW: Final = 2 * WORD
"""Bytes used by one draw: one number for whether to explore, one for which block."""


@frozen(kw_only=True, eq=False)
class Asked:
    """What a recall asked for."""

    query: str | None
    vector: Vector | None
    """The query vector; None without a query, or without vectors."""
    where: Mapping[str, Any] | None
    """The filter, as JSON; None or empty: all blocks."""
    asked_by: str | None
    """Name or role of the asker; None: it is not known."""
    frame: str
    """Name of the frame that was applied."""
    top_k: int | None
    """As asked; None: the policy's."""
    token_budget: int | None
    """As asked; None: the frame's."""
    min_probability: int | None
    """Least probability of a returned block, nano-units, [0, NANO]; None: the frame's floor."""
    session: SessionId | None
    """The session in which it was asked, and in which it is recorded."""


@frozen(kw_only=True, eq=False)
class Found:
    """What a recall found, in which state, and how."""

    answer: Answer
    digest: str
    """Digest of the ordered answer with its scores, 16 hex characters."""
    answerable: int
    """Probability that the answer bears on the question, nano-units; -1: not computed."""
    verdict: str
    """``yes``, ``weak`` or ``no``; "" where ``answerable`` is -1."""
    version: int
    """Version of the state that was searched."""
    at: Instant
    """The time as of which it was scored."""
    policy_id: PolicyId
    embedder: EmbedderIdentity | None
    """The embedder in force."""
    recipe: str
    """Name of the recipe of relevance, with that of the token counter unless it is the default."""
    near: tuple[int, ...] | None
    """Numbers of the blocks found by an approximate search, ascending; None: it was exact."""
    explored: Exploration | None
    """The random choice, if one was made."""
    statistics: tuple[tuple[int, ...], ...]
    """Word statistics of the question, see ``RecallRecorded``."""


def decide_recall(reading: Reading, asked: Asked, found: Found, at: Instant) -> Decision[None]:
    """Record a recall, with its effects on the pairs of blocks that it returned.

    Args:
        reading: The state that it is recorded on, which may be later than the one searched.
        asked: What was asked.
        found: What was found.
        at: The time at which it is recorded.
    """
    returned = found.answer.blocks
    event = RecallRecorded(
        asked=Question(
            query=asked.query,
            where=json.dumps(dict(asked.where), sort_keys=True) if asked.where else None,
            asked_by=asked.asked_by,
        ),
        vector=None if asked.vector is None else Embedding(packed=pack(asked.vector)),
        answer=found.answer,
        digest=found.digest,
        policy_id=found.policy_id,
        recipe=found.recipe,
        read_version=found.version,
        read_us=found.at.active_us,
        asked_us=found.at.recorded_us,
        frame=asked.frame,
        top_k=asked.top_k,
        token_budget=asked.token_budget,
        retriever="exact" if found.near is None else "ann",
        propensity=propensity(found.explored),
        explored=found.explored,
        embedder_id="" if found.embedder is None else found.embedder.id,
        near=found.near or (),
        min_probability=-1 if asked.min_probability is None else asked.min_probability,
        answerable=found.answerable,
        verdict=found.verdict,
        statistics=found.statistics,
        **asdict(effects(reading, returned, asked.session, at), recurse=False),
    )
    return Decision((event,), None)


# --- exploration ----------------------------------------------------------------------------


def drawn(random_bytes: bytes, rate: int, pool: int) -> Exploration:
    """Return the exploration that *random_bytes* determine for the last place of an answer.

    Args:
        random_bytes: ``DRAW`` bytes, each as probable as any other.
        rate: Probability of a random choice. Nano-units, (0, NANO].
        pool: Number of candidates for the place, >= 1.

    Returns:
        A draw whose probabilities differ from the stated ones by less than 2^-58 for a pool of at
        most 64.
    """
    whether = int.from_bytes(random_bytes[:WORD], "big")
    who = int.from_bytes(random_bytes[WORD:DRAW], "big")
    explores = whether * NANO < rate << (8 * WORD)
    return Exploration(rate=rate, pool=pool, drawn=(who * pool) >> (8 * WORD) if explores else 0)


def propensity(explored: Exploration | None) -> int:
    """Return the probability of an answer, given all other inputs. Nano-units, (0, NANO].

    Source: specs/backtests.toml, rule "propensity".
    """
    if explored is None:
        return NANO
    apart = (explored.rate + explored.pool // 2) // explored.pool
    # Even an extremely improbable answer was possible, and estimates divide by this value.
    return NANO - explored.rate + apart if explored.drawn == 0 else max(1, apart)


def among(explored: Exploration, pool: int) -> Exploration:
    """Return the same draw for a pool of *pool*; no exploration if the pool is too small for it."""
    return evolve(explored, pool=pool, drawn=explored.drawn if explored.drawn < pool else 0)
