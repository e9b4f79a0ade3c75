"""Frames: how a recall weighs, filters and limits blocks, and the frames of the default policy."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from attrs import field, frozen

from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.numeric.arithmetic import nano, share
from mnemic.kernel.policy.ranges import count, one_of, sums_to_one, unit, word, words
from mnemic.kernel.values import Value

CONSTITUTIONAL = "self/constitutional"

OWN = "self/"
"""Prefix of tags that describe the agent itself."""


@frozen(kw_only=True)
class Frame(Value):
    """Settings of a recall: the weights of signals, the eligible blocks and the token budget."""

    name: str = field(validator=word)
    relevance: float = field(default=0.0, validator=unit)
    recency: float = field(default=0.0, validator=unit)
    usefulness: float = field(default=0.0, validator=unit)
    confidence: float = field(default=0.0, validator=unit)
    frequency: float = field(default=0.0, validator=unit)
    centrality: float = field(default=0.0, validator=unit)
    reinforcement: float = field(default=0.0, validator=unit)
    recency_clock: str = field(default="created", validator=one_of("created", "active"))
    """``created``: age in days since created_at. ``active``: active hours since last reinforced."""
    token_budget: int = field(default=2000, validator=count())
    min_probability: float = field(default=0.0, validator=unit)
    """Blocks whose probability to bear on the question is below this are left out, except the most
    probable one, guaranteed ones, and those that an edge led to from a block that stays. A caller's
    own limit takes its place."""
    only_tags: tuple[str, ...] = field(default=(), converter=words)
    """A block is eligible if one of its tags is one of these, or starts with one that ends in /."""
    never_tags: tuple[str, ...] = field(default=(), converter=words)
    always_tags: tuple[str, ...] = field(default=(), converter=words)
    """Blocks with one of these tags are guaranteed a place, regardless of age and score."""
    scope: str = field(default="space", validator=one_of("space", "session"))
    """``space``, or ``session``: blocks of the open session, or of the latest if none is open."""

    def __attrs_post_init__(self) -> None:
        sums_to_one(f"frame {self.name}", {name: getattr(self, name) for name in SIGNALS})

    def weights(self, *, asked: bool = True) -> tuple[int, ...]:
        """Return the weight of each of ``SIGNALS`` in nano-units.

        Args:
            asked: Whether there is a query. Without one, relevance is dropped and the other
                weights are rescaled to sum to 1.

        Source: DOMAIN section 6.
        """
        return self._asked if asked else self._unasked

    @cached_property
    def _asked(self) -> tuple[int, ...]:
        return tuple(nano(getattr(self, name)) for name in SIGNALS)

    @cached_property
    def _unasked(self) -> tuple[int, ...]:
        weights = (0, *self._asked[1:])
        return tuple(share(weight, sum(weights)) for weight in weights)


_LIKE_ATTENTION = {
    "relevance": 0.40,
    "recency": 0.25,
    "usefulness": 0.20,
    "confidence": 0.10,
    "frequency": 0.05,
}

FRAMES = (
    # Age counts inside relevance only: with a separate weight it decides between all blocks whose
    # relevance is near 1 (docs/adr/0041). The floor loses no evidence of the development
    # conversations, and leaves one block of five where one fact answers (docs/adr/0042).
    Frame(
        name="answer",
        relevance=0.65,
        usefulness=0.20,
        confidence=0.10,
        frequency=0.05,
        recency_clock="active",
        min_probability=0.05,
    ),
    Frame(name="attention", **_LIKE_ATTENTION),  # type: ignore[arg-type]
    Frame(
        name="self",
        relevance=0.10,
        usefulness=0.30,
        recency=0.05,
        centrality=0.25,
        reinforcement=0.30,
        recency_clock="active",
        token_budget=600,
        only_tags=("self/",),
        always_tags=(CONSTITUTIONAL,),
    ),
    Frame(
        name="task",
        relevance=0.20,
        usefulness=0.20,
        recency=0.20,
        centrality=0.20,
        reinforcement=0.20,
        recency_clock="active",
        token_budget=800,
    ),
    Frame(name="short_term", scope="session", **_LIKE_ATTENTION),  # type: ignore[arg-type]
    Frame(name="world", never_tags=("self/",), **_LIKE_ATTENTION),  # type: ignore[arg-type]
)


def frames_of(value: Any) -> tuple[Frame, ...]:
    """Return frames, given as such or as their fields.

    Raises:
        PolicyRefused: It is not a list of frames.
    """
    try:
        return tuple(entry if isinstance(entry, Frame) else Frame(**entry) for entry in value)
    except TypeError as error:
        raise PolicyRefused(f"not a list of frames: {error}") from error
