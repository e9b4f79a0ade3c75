"""Exploring: now and then chance has a say in the last place of an answer, so that others are seen.

What is never shown is never judged, and what is never judged cannot be told from what is useless.
With a small rate the last place goes to one of a pool, all alike; how probable each was is known
to the last nano-unit, and that is what later estimates divide by.

Source: DOMAIN section 9; Horvitz and Thompson (1952) for what the propensities are good for.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.events import Exploration

WORD: Final = 8
"""Bytes of one random number."""
DRAW: Final = 2 * WORD
"""Bytes that one draw takes: one number for whether, one for who."""


def drawn(random_bytes: bytes, rate: int, pool: int) -> Exploration:
    """Return what *random_bytes* decide about the last place of an answer.

    Args:
        random_bytes: ``DRAW`` bytes, each as probable as any other.
        rate: How probable it is that chance has a say. Nano-units, (0, NANO].
        pool: How many could stand there, >= 1.

    Returns:
        Off from the stated probabilities by less than 2^-58 for a pool of at most 64.
    """
    whether = int.from_bytes(random_bytes[:WORD], "big")
    who = int.from_bytes(random_bytes[WORD:DRAW], "big")
    explores = whether * NANO < rate << (8 * WORD)
    return Exploration(rate=rate, pool=pool, drawn=(who * pool) >> (8 * WORD) if explores else 0)


def propensity(explored: Exploration | None) -> int:
    """Return how probable an answer was, given everything but chance. Nano-units, (0, NANO].

    Source: specs/backtests.toml, rule "propensity".
    """
    if explored is None:
        return NANO
    apart = (explored.rate + explored.pool // 2) // explored.pool
    # One that is drawn in a billion years was still possible, and is divided by.
    return NANO - explored.rate + apart if explored.drawn == 0 else max(1, apart)


def among(explored: Exploration, pool: int) -> Exploration:
    """Return the same luck with *pool* at the place; too few of them: as if chance kept silent."""
    return evolve(explored, pool=pool, drawn=explored.drawn if explored.drawn < pool else 0)
