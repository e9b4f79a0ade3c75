"""A host with a log of its own: the kernel and the projections over a plain list, nothing else.

It learns, recalls, scores the answer, revises a fact, asks as of an earlier version, and answers
the recorded recall again. ``docs/embedding.md`` explains it step by step.

    python examples/own_host.py
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeVar

from mnemic.kernel.decisions import (
    Candidate,
    Decision,
    Feedback,
    Lesson,
    decide_learn,
    decide_open,
    decide_outcome,
    decide_promotion,
    decide_recall,
    decide_revise,
    decide_start_session,
)
from mnemic.kernel.events import EmbedderIdentity, Recorded
from mnemic.kernel.model.identity import CommandId, SessionId, decision_id
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.timestamps import Instant
from mnemic.projections.retrieval import Packed, Request, answer, replayed
from mnemic.projections.state import State, rebuild
from mnemic.projections.view import View, as_of, live

R = TypeVar("R")
MINUTE_US = 60_000_000
WORDS = EmbedderIdentity(name="words", dimension=64)


def embed(text: str) -> Vector:
    """Return a vector that counts the words of *text* in buckets."""
    counts = [0.0] * WORDS.dimension
    for word in text.casefold().split():
        counts[blake2b(word.encode(), digest_size=1).digest()[0] % WORDS.dimension] += 1.0
    return quantise(counts, dimension=WORDS.dimension)


class OwnHost:
    """A memory whose log is a list. It has one writer, so no append can lose a race."""

    def __init__(self) -> None:
        self.log: list[Recorded] = []
        self.state = State()
        self.session: SessionId | None = None
        self.now_us = 1_767_225_600_000_000

    @property
    def at(self) -> Instant:
        """The time of the next command."""
        return self.state.timeline.instant(self.session, self.now_us)

    @property
    def view(self) -> View:
        """The state that the next command reads."""
        return live(self.state, active_us=self.at.active_us, instant_us=self.at.recorded_us)

    def append(self, decision: Decision[R]) -> R:
        """Append the events of a decision on the present state, and apply them."""
        first = len(self.log)
        recorded = decision.recorded(
            first=first,
            at=self.at,
            command_id=CommandId(f"c{first}"),
            actor="host",
            session=self.session,
        )
        self.log += recorded
        rebuild(self.state, recorded)
        return decision.result

    def promote(self) -> None:
        """Embed the texts in the inbox and make them active; a chunk may end early."""
        while waiting := self.view.inbox():
            texts = ((number, self.view.text(number)) for number in waiting)
            ready = [
                Candidate(number=number, vector=embed(text.content))
                for number, text in texts
                if isinstance(text, BlockText)
            ]
            self.append(decide_promotion(self.view, ready, self.at, embedder=WORDS))

    def recall(self, query: str, top_k: int) -> Packed:
        """Answer a question, and record the decision at the end of the log."""
        request = Request(query=query, top_k=top_k, session=self.session).checked()
        packed = answer(self.view, request, embed(query))
        self.append(decide_recall(self.view, packed.asked, packed.found, self.at))
        return packed


def main() -> None:
    """Print what was recalled, what is recalled now, and what was known then."""
    host = OwnHost()
    host.append(decide_open(host.view, DEFAULT, nonce=bytes(16), salt=bytes(32)))
    host.session = host.append(decide_start_session(host.view, SessionId("morning")))
    for text in ("The gateway times out after 30 s", "Ines owns the gateway", "Lunch is at noon"):
        host.append(decide_learn(host.view, Lesson(content=text)))
        host.now_us += MINUTE_US
    host.promote()

    asked = "when does the gateway time out"
    first = host.recall(asked, top_k=1)
    (block,), recorded = first.result.block_ids, host.log[-1]
    print(f"{decision_id(recorded.version)}: {first.result.blocks[0].content}")
    good = Feedback(block_ids=[block], signal=0.9, decision_id=decision_id(recorded.version))
    host.append(decide_outcome(host.view, good, host.at))
    host.now_us += MINUTE_US
    host.append(decide_revise(host.view, block, "The gateway times out after 60 s", "measured"))
    host.promote()

    print(f"now: {host.recall(asked, top_k=1).result.blocks[0].content}")
    then = as_of(host.state, recorded.version)
    (old,) = answer(then, Request(query=asked, top_k=1), embed(asked)).result.blocks
    print(f"{then.point.hour:.3f} active hours in: {old.content}")
    again = replayed(rebuild(State(), host.log), recorded)
    same = again.found.digest == first.found.digest
    print(f"replayed: {'the same answer' if same else 'another answer'}")


if __name__ == "__main__":
    main()
