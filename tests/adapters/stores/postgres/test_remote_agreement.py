"""Any history: spaces with vectors on the server and with local vectors answer alike."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.identity import DecisionId
from mnemic.kernel.ports import Embedder, Store
from mnemic.projections.view import as_of
from mnemic.specs.strategies import commands
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.checkpoints.states import space_of
from tests.adapters.stores.postgres import server as servers
from tests.agreement.agents import POLICIES, Command, Player, Reader, any_commands
from tests.agreement.prefixes import answers_by_interface

pytestmark = pytest.mark.extended

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "plane": PlaneEmbedder,
    "hash": lambda: HashEmbedder(8),
}
Step = Command | str
"""What is played; or the name of an embedder that is moved to."""
STEPS = st.lists(
    st.one_of(*[any_commands()] * 9, st.sampled_from(sorted(EMBEDDERS))), min_size=3, max_size=14
)
QUESTIONS = ("angle 318: one two", "alpha béta")


class Life:
    """One of two spaces that receive the same operations."""

    def __init__(self, store: Store, policy: str, **opening: Any) -> None:
        self.store = store
        self.clock = ManualClock()
        self._opening: dict[str, Any] = {
            **opening,
            "policy": POLICIES[policy],
            "entropy": SeededEntropy("life"),
        }
        self._asked = 0
        self._decisions: list[DecisionId] = []
        self.memory = self._opened("plane")

    def _opened(self, embedder: str) -> SyncMemory:
        self._embedder = embedder
        return SyncMemory.open(
            self.store,
            embedder=EMBEDDERS[embedder](),
            analyst=Reader(),
            clock=self.clock,
            **self._opening,
        )

    def played(self, step: Step) -> Any:
        """Return the result of a step, or its refusal."""
        self._asked += 1
        if isinstance(step, str):
            moved = _answered(lambda: self.memory.reembed(EMBEDDERS[step]()))
            self.memory.close()
            self.memory = self._opened(step if "code" not in moved else self._embedder)
            return moved
        call = Player(self.memory, self.clock).call(step, self.blocks, self._decisions)
        if call is None:
            return None
        answer = _answered(lambda: call(f"c{self._asked}"))
        self._decisions += [each for each in [_decision(answer)] if each is not None]
        return answer

    @property
    def blocks(self) -> list[str]:
        return list(space_of(self.memory).state.catalogue.ids)

    def told(self, version: int) -> dict[str, Any]:
        view = self.memory.as_of(version=version)
        state = space_of(self.memory).state
        wordless = as_of(state, version).embedder != state.timeline.embedder
        told = answers_by_interface(view, self._known(version), wordless=wordless)
        return {name: _plain(each) for name, each in told.items()}

    def _known(self, version: int) -> list[str]:
        """Return the ids of all blocks learned by then."""
        view = as_of(space_of(self.memory).state, version)
        return [view.id(number) for number in view.known().tolist()]

    def judged(self) -> list[Any]:
        """Return the answers about the past, recomputed."""
        memory = self.memory
        return [
            _plain(memory.verify()),
            _answered(memory.replay_all),
            *(_answered(partial(memory.explain, each)) for each in self._decisions),
            *(_answered(partial(memory.recall, each, record=False)) for each in QUESTIONS),
            _answered(lambda: memory.consolidate(relink=True)),
        ]

    def log(self) -> list[Any]:
        return list(self.store.log("default").read())


def _answered(ask: Callable[[], Any]) -> Any:
    try:
        return _plain(ask())
    except MnemicError as error:
        return error.to_dict()


def _plain(answer: Any) -> Any:
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


def _decision(answer: Any) -> DecisionId | None:
    return answer.get("decision_id") if isinstance(answer, dict) else None


@settings(max_examples=settings().max_examples // 4)
@given(
    lessons=st.lists(commands.lessons(), min_size=3, max_size=6),
    steps=STEPS,
    policy=st.sampled_from(sorted(POLICIES)),
    pgvector=st.booleans(),
)
def test_remote_and_local_vectors_give_identical_answers(
    server: str, lessons: list[commands.Learn], steps: list[Step], policy: str, *, pgvector: bool
) -> None:
    first: list[Step] = [commands.StartSession(), commands.LearnMany(lessons=tuple(lessons))]
    with (
        servers.schema(server) as address,
        closing(
            PostgresStore(
                address,
                synchronous="normal",
                recogniser=Embeddings(Codec(SeededEntropy("seen"))),
                pgvector=pgvector,
            )
        ) as store,
    ):
        held, far = Life(MemoryStore(), policy), Life(store, policy, vectors="server")
        for step in [*first, commands.Consolidate(), *steps]:
            assert far.played(step) == held.played(step)
        head = held.store.log("default").head()
        for version in sorted({head.version // 3, 2 * head.version // 3, head.version}):
            assert far.told(version) == held.told(version)
        assert far.judged() == held.judged()
        assert far.log() == held.log()
        assert all(index.is_elsewhere for index in space_of(far.memory).state.indexes.values())
        far.memory.close()
        held.memory.close()
