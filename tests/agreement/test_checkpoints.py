"""With any checkpoints, intact or damaged, the state and all views equal those of the log alone.

A history is played on one store. Now and then a checkpoint is written, a file is damaged, cut,
restored from before an erasure or given the bytes of another, and a fresh handle is opened, which
continues in place of the old one. Its state must equal the fold of the whole log, byte for byte,
and every view must give the answers of the log truncated there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import Embedder
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of
from mnemic.specs.strategies import commands
from mnemic.specs.strategies.messages import TextExtractor
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.checkpoints.states import restored, space_of, told, told_by_log
from tests.agreement.agents import POLICIES, Command, Player, any_commands
from tests.agreement.log_checker import LogChecker, read
from tests.agreement.prefixes import agree, answers_by_interface, cut, reader
from tests.agreement.snapshots import state_of_view

pytestmark = pytest.mark.extended

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "plane": PlaneEmbedder,
    "hash": lambda: HashEmbedder(8),
}
SHARES = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


class Tiring:
    """Embedder that fails after its first answer."""

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


def replace(file: Path, content: bytes) -> None:
    """Replace a file, as a restored backup does: the old one may be mapped."""
    file.unlink(missing_ok=True)
    file.write_bytes(content)


class KeptAndRestored(RuleBasedStateMachine):
    """One player whose memory is closed and opened again, from the files that exist."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.kept: list[dict[str, bytes]] = []
        """The files of all checkpoints written so far, by name."""
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
        self.checker = LogChecker(self.store.log("default"))
        learned = commands.LearnMany(lessons=tuple(first))
        self.play([commands.StartSession(), learned, commands.Consolidate()])

    def handle(self) -> SyncMemory:
        return SyncMemory.open(
            self.store,
            embedder=EMBEDDERS[self.model](),
            extractor=TextExtractor(),
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
            self.checker.catch_up()
            call = player.call(command, self.checker.plain.order, list(self.checker.seen))
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
        self.kept.append({file.name: file.read_bytes() for file in self.files()})

    @precondition(lambda self: self.files())
    @rule(which=SHARES, where=SHARES, flip=st.integers(min_value=1, max_value=255))
    def damage(self, which: float, where: float, flip: int) -> None:
        file = self.files()[int(which * len(self.files()))]
        stored = bytearray(file.read_bytes())
        if stored:
            stored[int(where * len(stored))] ^= flip
            replace(file, bytes(stored))

    @precondition(lambda self: self.files())
    @rule(which=SHARES, where=SHARES)
    def cut(self, which: float, where: float) -> None:
        file = self.files()[int(which * len(self.files()))]
        replace(file, file.read_bytes()[: int(where * file.stat().st_size)])

    @precondition(lambda self: self.kept)
    @rule(which=SHARES, name=SHARES)
    def put_back(self, which: float, name: float) -> None:
        """Restore the files of an earlier checkpoint, one perhaps under the name of another."""
        kept = self.kept[int(which * len(self.kept))]
        for file, stored in kept.items():
            replace(self.path / file, stored)
        files = self.files()
        other = sorted(kept)[int(which * len(kept))]
        replace(files[int(name * len(files))], kept[other])

    @precondition(lambda self: self.files())
    @rule()
    def drop(self) -> None:
        self.memory.drop_checkpoints()

    # --- what must hold ---------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        erased = max(self.checker.erased.values(), default=-1)
        session = space_of(self.memory).session
        self.memory.close()
        self.memory = self.handle()
        space_of(self.memory).session = session  # the same agent continues
        assert told(self.memory) == told_by_log(self.memory)
        version = restored(self.memory)
        assert version is None or version >= erased
        assert space_of(self.memory).log_state.checkpoint_writer.trouble is None  # type: ignore[union-attr]

    @rule(played=st.lists(any_commands(), max_size=6))
    def go_on_from_one(self, played: Sequence[Command]) -> None:
        """Write a checkpoint, append a tail, and open from both."""
        self.keep()
        self.play(played)
        self.reopen()

    @rule(share=SHARES)
    def look_back(self, share: float) -> None:
        self.reopen()
        space, log = space_of(self.memory), self.store.log("default")
        version = int(share * (log.head().version + 1))
        prefix = rebuild(State(), read(log)[: version + 1])
        assert state_of_view(as_of(space.state, version)) == state_of_view(as_of(prefix, version))
        embedder = EMBEDDERS[self.model]()
        wordless = prefix.timeline.embedder not in {None, embedder.identity}
        short = reader(cut(log, version), embedder=None if wordless else embedder)
        views = (memory.as_of(version=version) for memory in (self.memory, short))
        answers: list[dict[str, Any]] = [
            answers_by_interface(view, prefix.catalogue.ids, wordless=wordless) for view in views
        ]
        assert agree(answers[0], answers[1])

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.reopen()
            self.checker.catch_up()
            for decision in self.checker.seen:
                assert self.memory.replay(decision).outcome in self.checker.replays(decision)
            self.memory.close()
        self.folder.cleanup()


TestKeptAndRestored = KeptAndRestored.TestCase
TestKeptAndRestored.settings = settings(stateful_step_count=20)
