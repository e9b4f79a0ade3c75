"""Budget of an answer: the remaining places and tokens, overall and for zones with a share.

Rules of this module:

1. A zone of share s, and all zones of a smaller share together, take at most s of the places, and
   the same fraction of the tokens. So writing into several zones gains nothing.
2. A share limits a zone in favour of the others. If there are fewer others than places, the places
   they cannot fill are free; a share of 0 stays 0.
3. Blocks that the frame guarantees are admitted first and count like all others.

Source: DOMAIN section 8 (trust zones); specs/reference/recall.py, "expected_choice".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import define

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.retrieval.ranking import Ranking

Cost = Callable[[int], int]
"""From the number of a block to the tokens of its line."""


@define(kw_only=True)
class _Share:
    """Remaining budget of zones with this share or a smaller one."""

    share: int
    """Nano-units."""
    places: int
    tokens: int


class Budget:
    """Places and tokens of one answer.

    Args:
        ranking: The candidates.
        places: Maximum number of blocks.
        tokens: For all blocks together.
        cost: Tokens that each block takes.
    """

    def __init__(self, ranking: Ranking, *, places: int, tokens: int, cost: Cost) -> None:
        self._ranking = ranking
        self.places = places
        """Places that are left."""
        self._tokens = tokens
        self._cost = cost
        self._shares = [
            _share(ranking, share, places, tokens)
            for share in sorted({*ranking.shares[ranking.shares < NANO].tolist()})
        ]

    def obstacle(self, place: int) -> str | None:
        """Return the limit that excludes the block at *place* of the ranking; None: it fits.

        ``top_k``, ``token_budget`` or ``zone_full``.
        """
        return self._limit(place, self._cost_of(place))

    def admit(self, place: int) -> str | None:
        """Admit the block at *place*, unless it has an ``obstacle``, which is returned."""
        cost = self._cost_of(place)
        reason = self._limit(place, cost)
        if reason is None:
            self.places -= 1
            self._tokens -= cost
            for share in self._bounds(place) if self._shares else ():
                share.places = max(0, share.places - 1)
                share.tokens -= cost
        return reason

    def _cost_of(self, place: int) -> int:
        return self._cost(int(self._ranking.numbers[place]))

    def _limit(self, place: int, cost: int) -> str | None:
        if not self.places:
            return "top_k"
        if cost > self._tokens:
            return "token_budget"
        for share in self._bounds(place) if self._shares else ():
            if not share.places or cost > share.tokens:
                return "zone_full"
        return None

    def _bounds(self, place: int) -> list[_Share]:
        """Return the shares that a block counts towards."""
        own = int(self._ranking.shares[place])
        return [share for share in self._shares if own <= share.share]


def _share(ranking: Ranking, share: int, places: int, tokens: int) -> _Share:
    others = int(np.count_nonzero(ranking.shares > share))
    most = max(share * places // NANO, places - others) if share else 0
    whole = most >= places
    return _Share(
        share=share,
        places=most,
        tokens=tokens if whole else tokens * most // places,
    )
