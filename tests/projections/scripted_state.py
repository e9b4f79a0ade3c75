"""A state built from scripted events."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from mnemic.kernel import events as happened
from mnemic.kernel.events import (
    EmbedderIdentity,
    Event,
    NearDuplicate,
    Promotion,
    Recorded,
    Supersession,
)
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import (
    ERASED,
    BlockText,
    Embedding,
    Salt,
)
from mnemic.kernel.model.vectors import Vector, pack, quantise
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections.retrieval.recipes import CURRENT, Match, Recipe
from mnemic.projections.state.apply import apply
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of

MINUTE_US = 60_000_000
BEGUN_US = 1_683_439_200_000_000
"""2023-05-07T06:00:00Z."""
NOWHERE = (0.0, 0.0)
"""A vector with cosine 0 to everything."""


class Talk:
    """A log of scripted texts, viewed at its end or at an earlier version."""

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
        apply(self.state, self.log[-1])

    def say(
        self,
        content: str,
        *,
        author: str | None = None,
        role: str | None = None,
        thread: str | None = None,
        category: str = "message",
        minute: int | None = 0,
        vector: Sequence[float] = NOWHERE,
        block: int | None = None,
        is_promoted: bool = True,
    ) -> int:
        """Learn and promote a text, and return the number of its block.

        Args:
            content: The text.
            author: The author.
            role: Which side of a conversation it comes from.
            thread: The thread.
            category: Of the block.
            minute: Minutes since the beginning; None: unknown.
            vector: Two components.
            block: The existing block to learn again; None for a new one.
            is_promoted: Whether it is promoted, too.
        """
        if block is None:
            block = len(self.ids)
            self.ids.append(BlockId(f"{block:016x}"))
        name = self.ids[block]
        self._happens(
            happened.BlockLearned(
                block_id=name,
                text=BlockText(
                    content=content,
                    author=author,
                    thread=thread,
                    metadata=None if role is None else f'{{"role":"{role}"}}',
                    of=(name,),
                ),
                category=category,
                created_at_us=None if minute is None else BEGUN_US + minute * MINUTE_US,
                undated=minute is None,
            )
        )
        if not is_promoted:
            return block
        packed = pack(quantise(vector, dimension=2))
        promotion = Promotion(block_id=name, vector=Embedding(packed=packed, of=(name,)))
        self._happens(happened.BlocksPromoted(promotions=(promotion,)))
        return block

    def forget(self, block: int) -> None:
        """Archive a block."""
        self._happens(happened.BlockForgotten(block_id=self.ids[block]))

    def record_erasure(self, block: int, context: Sequence[int] | None = ()) -> None:
        """Record that a block was erased; its text stays in this state.

        Args:
            block: The block.
            context: The blocks that its text was the context of; None: unknown.
        """
        near = None if context is None else tuple(self.ids[each] for each in context)
        self._happens(happened.BlockErased(block_id=self.ids[block], context=near))

    def note(self, block: int, other: int) -> None:
        """Record two blocks as near-duplicates."""
        ends = self.ids[block], self.ids[other]
        near = NearDuplicate(block_id=ends[0], other=ends[1], cosine=920_000_000)
        self._happens(happened.BlocksPromoted(promotions=(), near=(near,)))

    def contradict(self, block: int, other: int) -> None:
        """Connect two blocks by an edge of contradiction."""
        ends = self.ids[block], self.ids[other]
        self._happens(
            happened.EdgeConnected(
                source=ends[0],
                target=ends[1],
                relation="contradicts",
                weight=600_000_000,
                action="created",
            )
        )

    def supersede(self, old: int, new: int) -> None:
        """Archive a block that another one succeeds."""
        pair = Supersession(old=self.ids[old], new=self.ids[new])
        self._happens(happened.BlockSuperseded(supersession=pair))

    def erase(self, block: int) -> None:
        """Replay the log with the text of a block erased."""
        name = self.ids[block]
        struck = [_without(recorded, name) for recorded in self.log]
        self.log, self.state = struck, rebuild(State(), struck)
        self._happens(happened.BlockErased(block_id=name))

    # --- queries ----------------------------------------------------------------------------

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
        asked_by: str | None = None,
    ) -> Match:
        """Return how well every active block matches."""
        view = self.view(version)
        asked: Vector | None = None if vector is None else quantise(vector, dimension=2)
        return recipe.match(view, query, asked, view.with_status(1), asked_by=asked_by)

    def part(
        self,
        name: str,
        query: str,
        *,
        version: int | None = None,
        recipe: Recipe = CURRENT,
        asked_by: str | None = None,
    ) -> list[int]:
        """Return one part of every active block."""
        match = self.match(query, version=version, recipe=recipe, asked_by=asked_by)
        rows = match.rows(np.arange(len(match.numbers)))
        values: list[int] = rows[recipe.parts.index(name)].tolist()
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
