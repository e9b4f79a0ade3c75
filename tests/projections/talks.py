"""A fold to which one says things, event by event."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mnemic.kernel import events as happened
from mnemic.kernel.events import EmbedderIdentity, Event, NearDuplicate, Promotion, Recorded
from mnemic.kernel.identity import BlockId, CommandId
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.texts import ERASED, BlockText, Embedding, Salt
from mnemic.kernel.vectors import Vector, pack, quantise
from mnemic.projections.recipes import CURRENT, Match, Recipe
from mnemic.projections.state import State
from mnemic.projections.views import View, as_of

MINUTE_US = 60_000_000
BEGUN_US = 1_683_439_200_000_000
"""2023-05-07T06:00:00Z."""
NOWHERE = (0.0, 0.0)
"""A vector that is near to nothing."""


class Talk:
    """What is said goes into a log; a view of it is taken as of its end or an earlier version."""

    def __init__(self, policy: Policy = DEFAULT) -> None:
        self.log: list[Recorded] = []
        self.state = State()
        self.ids: list[BlockId] = []
        self._happens(happened.SpaceOpened(nonce="0" * 16, salt=Salt(value=b"salt")))
        self._happens(happened.PolicyAdopted(policy_id=policy.id, body=policy.body))
        embedder = EmbedderIdentity(name="plane", dimension=2)
        self._happens(happened.EmbedderAdopted(embedder=embedder))

    @property
    def version(self) -> int:
        return self.state.version

    def _happens(self, event: Event) -> None:
        self.log.append(
            Recorded(
                version=len(self.log),
                active_us=0,
                recorded_us=BEGUN_US,
                command_id=CommandId(f"c{len(self.log)}"),
                event=event,
            )
        )
        self.state.apply(self.log[-1])

    def say(
        self,
        content: str,
        *,
        author: str | None = None,
        thread: str | None = None,
        category: str = "message",
        minute: int | None = 0,
        vector: Sequence[float] = NOWHERE,
        block: int | None = None,
    ) -> int:
        """Learn and promote a text, and return the number of its block.

        Args:
            content: The text.
            author: Who says it.
            thread: Where.
            category: Of the block.
            minute: Since the beginning; None: nobody knows.
            vector: Two numbers.
            block: The one that says it again; None for a new one.
        """
        if block is None:
            block = len(self.ids)
            self.ids.append(BlockId(f"{block:016x}"))
        name = self.ids[block]
        self._happens(
            happened.BlockLearned(
                block_id=name,
                text=BlockText(content=content, author=author, thread=thread, of=(name,)),
                category=category,
                created_at_us=None if minute is None else BEGUN_US + minute * MINUTE_US,
                undated=minute is None,
            )
        )
        packed = pack(quantise(vector, dimension=2))
        promotion = Promotion(block_id=name, vector=Embedding(packed=packed, of=(name,)))
        self._happens(happened.BlocksPromoted(promotions=(promotion,)))
        return block

    def forget(self, block: int) -> None:
        """Archive a block."""
        self._happens(happened.BlockForgotten(block_id=self.ids[block]))

    def note(self, block: int, other: int) -> None:
        """Note that two blocks say almost the same."""
        ends = self.ids[block], self.ids[other]
        near = NearDuplicate(block_id=ends[0], other=ends[1], cosine=920_000_000)
        self._happens(happened.BlocksPromoted(promotions=(), near=(near,)))

    def erase(self, block: int) -> None:
        """Fold the log again without the words of a block."""
        name = self.ids[block]
        struck = [_without(recorded, name) for recorded in self.log]
        self.log, self.state = struck, State().rebuild(struck)
        self._happens(happened.BlockErased(block_id=name))

    # --- what is found ----------------------------------------------------------------------

    def view(self, version: int | None = None) -> View:
        """Return the view as of a version, or of the end."""
        return as_of(self.state, self.version if version is None else version)

    def match(
        self,
        query: str,
        *,
        vector: Sequence[float] | None = None,
        version: int | None = None,
        recipe: Recipe = CURRENT,
    ) -> Match:
        """Return how well every active block matches."""
        view = self.view(version)
        asked: Vector | None = None if vector is None else quantise(vector, dimension=2)
        return recipe.match(view, query, asked, view.with_status(1))

    def part(self, name: str, query: str, *, version: int | None = None) -> list[int]:
        """Return one part of every active block."""
        match = self.match(query, version=version)
        values: list[int] = match.parts[CURRENT.parts.index(name)].tolist()
        return values


def _without(recorded: Recorded, name: BlockId) -> Recorded:
    event = recorded.event
    if isinstance(event, happened.BlockLearned) and event.block_id == name:
        return attrs.evolve(recorded, event=attrs.evolve(event, text=ERASED))
    if isinstance(event, happened.BlocksPromoted):
        kept = tuple(
            attrs.evolve(each, vector=ERASED) if each.block_id == name else each
            for each in event.promotions
        )
        return attrs.evolve(recorded, event=attrs.evolve(event, promotions=kept))
    return recorded
