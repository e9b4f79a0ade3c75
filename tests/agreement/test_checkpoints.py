"""Any history, any checkpoints, whole or damaged, any point: what is told is what the log says.

A history is played on one store. Now and then a checkpoint is kept, a file is damaged, cut, put
back from before an erasure or given the bytes of another, and a fresh handle is opened, which goes
on playing in the place of the old one. Whatever it was opened from, it must stand where a fold of
the whole log stands, byte for byte, and every view must tell what a log cut there tells.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from numpy.typing import NDArray

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import Refused, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import Embedder
from mnemic.projections.state import State
from mnemic.projections.views import as_of
from mnemic.specs.strategies import commands
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.checkpoints.states import restored, space_of, told, told_by_log
from tests.agreement.agents import POLICIES, Command, Player, any_commands
from tests.agreement.prefixes import cut, reader, told_by_door
from tests.agreement.snapshots import told_by_view
from tests.agreement.witnesses import Witness, read

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "plane": PlaneEmbedder,
    "hash": lambda: HashEmbedder(8),
}
SHARES = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


class Tiring:
    """An embedder that gives up after its first answer."""

    def __init__(self, behind: Embedder) -> None:
        self._behind = behind
        self._asked = 0

    @property
    def identity(self) -> EmbedderIdentity:
        return self._behind.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        self._asked += 1
        if self._asked > 1:
            raise TimeoutError("not now")
        return self._behind.embed(texts)


class KeptAndRestored(RuleBasedStateMachine):
    """One player whose memory is closed and opened again, from whatever there is."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.kept: list[bytes] = []
        """Every checkpoint that there ever was."""
        self.clock = ManualClock()
        self.asked = 0
        self.model = "plane"

    @initialize(
        policy=st.sampled_from(sorted(POLICIES)),
        first=st.lists(commands.lessons(), min_size=3, max_size=6),
    )
    def open(self, policy: str, first: list[commands.Learn]) -> None:
        self.store, self.policy = MemoryStore(), POLICIES[policy]
        self.memory = self.handle()
        self.witness = Witness(self.store.log("default"))
        learned = commands.LearnMany(lessons=tuple(first))
        self.play([commands.StartSession(), learned, commands.Consolidate()])

    def handle(self) -> SyncMemory:
        return SyncMemory.open(
            self.store,
            embedder=EMBEDDERS[self.model](),
            clock=self.clock,
            policy=self.policy,
            checkpoints=self.path,
        )

    @property
    def path(self) -> Path:
        return Path(self.folder.name) / "kept"

    def files(self) -> list[Path]:
        return sorted(self.path.glob("*"))

    # --- what happens -----------------------------------------------------------------------

    @rule(played=st.lists(any_commands(), min_size=1, max_size=6))
    def play(self, played: Sequence[Command]) -> None:
        player = Player(self.memory, self.clock)
        for command in played:
            self.witness.catch_up()
            call = player.call(command, self.witness.plain.order, list(self.witness.seen))
            if call is None:
                continue
            self.asked += 1
            try:
                call(f"c{self.asked}")
            except Refused:
                continue

    @rule(model=st.sampled_from(sorted(EMBEDDERS)), tires=st.booleans())
    def reembed(self, model: str, tires: bool) -> None:  # noqa: FBT001 - drawn
        """Move to another embedder, or half-way there."""
        embedder = EMBEDDERS[model]()
        try:
            self.memory.reembed(Tiring(embedder) if tires else embedder)
        except VectorRefused:
            return
        self.model = model
        self.reopen()

    @rule()
    def keep(self) -> None:
        made = self.memory.checkpoint()
        assert made.state == "valid"
        self.kept.append((self.path / made.name).read_bytes())

    @precondition(lambda self: self.files())
    @rule(which=SHARES, where=SHARES, flip=st.integers(min_value=1, max_value=255))
    def damage(self, which: float, where: float, flip: int) -> None:
        file = self.files()[int(which * len(self.files()))]
        stored = bytearray(file.read_bytes())
        if stored:
            stored[int(where * len(stored))] ^= flip
            file.write_bytes(stored)

    @precondition(lambda self: self.files())
    @rule(which=SHARES, where=SHARES)
    def cut(self, which: float, where: float) -> None:
        file = self.files()[int(which * len(self.files()))]
        file.write_bytes(file.read_bytes()[: int(where * file.stat().st_size)])

    @precondition(lambda self: self.kept)
    @rule(which=SHARES, name=SHARES)
    def put_back(self, which: float, name: float) -> None:
        """Write a checkpoint of before, perhaps under the name of another."""
        stored = self.kept[int(which * len(self.kept))]
        files = self.files()
        if files:
            files[int(name * len(files))].write_bytes(stored)

    @precondition(lambda self: self.files())
    @rule()
    def drop(self) -> None:
        self.memory.drop_checkpoints()

    # --- what must hold ---------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        erased = max(self.witness.erased.values(), default=-1)
        session = space_of(self.memory).session
        self.memory.close()
        self.memory = self.handle()
        space_of(self.memory).session = session  # the same agent goes on
        assert told(self.memory) == told_by_log(self.memory)
        version = restored(self.memory)
        assert version is None or version >= erased
        assert space_of(self.memory).keeper.trouble is None  # type: ignore[union-attr]

    @rule(played=st.lists(any_commands(), max_size=6))
    def go_on_from_one(self, played: Sequence[Command]) -> None:
        """Keep a checkpoint, grow a tail, and open from the one with the other behind it."""
        self.keep()
        self.play(played)
        self.reopen()

    @rule(share=SHARES)
    def look_back(self, share: float) -> None:
        self.reopen()
        space, log = space_of(self.memory), self.store.log("default")
        version = int(share * (log.head().version + 1))
        prefix = State().rebuild(read(log)[: version + 1])
        assert told_by_view(as_of(space.state, version)) == told_by_view(as_of(prefix, version))
        embedder = EMBEDDERS[self.model]()
        wordless = prefix.timeline.embedder not in {None, embedder.identity}
        short = reader(cut(log, version), embedder=None if wordless else embedder)
        views = (memory.as_of(version=version) for memory in (self.memory, short))
        answers: list[dict[str, Any]] = [
            told_by_door(view, prefix.catalogue.ids, wordless=wordless) for view in views
        ]
        assert answers[0] == answers[1]

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.reopen()
            self.witness.catch_up()
            for decision in self.witness.seen:
                assert self.memory.replay(decision).outcome in self.witness.replays(decision)
            self.memory.close()
        self.folder.cleanup()


TestKeptAndRestored = KeptAndRestored.TestCase
TestKeptAndRestored.settings = settings(stateful_step_count=20)
