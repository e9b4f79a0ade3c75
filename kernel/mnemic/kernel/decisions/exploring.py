"""Exploration: occasionally fill the last place of an answer at random.

Blocks that are never shown are never judged, and cannot be distinguished from useless ones. With a
small rate the last place goes to one block of a pool, chosen uniformly. The probability of each is
known to the nano-unit, and later estimates divide by it.

Source: DOMAIN section 9; Horvitz and Thompson (1952) for what the propensities are good for.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from mnemic.kernel.events import Exploration
from mnemic.kernel.numeric.arithmetic import NANO

WORD: Final = 8
"""Bytes of one random number."""
DRAW: Final = 2 * WORD
"""Bytes used by one draw: one number for whether to explore, one for which block."""


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
