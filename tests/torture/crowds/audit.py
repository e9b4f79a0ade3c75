"""Checks a log that a crowd has written, given what its members recorded.

Everything is read from the store after the crowd has ended, by a new handle.
"""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby, pairwise

from attrs import define, field

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.opening import Address, opened
from mnemic.kernel.events import (
    BlockErased,
    BlockLearned,
    BlocksPromoted,
    BlocksRelinked,
    Recorded,
)
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.ports import Log, Store
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of
from mnemic.specs.reference.fold import PlainState
from tests.agreement.log_checker import LogChecker, read
from tests.agreement.prefixes import cut, reader
from tests.agreement.snapshots import state_of_reference, state_of_view
from tests.torture.crowds.journal import (
    RACE,
    Done,
    Heard,
    Seen,
    actor_of,
    digest,
)
from tests.torture.crowds.readers import told

DIMENSION = 16
JUDGED = 150
"""Events of each log that the reference checks."""
COMPARED = 6
"""Versions at which columns and reference are compared completely."""
ASKED_AGAIN = 150
"""Answers to readers that are computed again, a tenth of them on a truncated log."""
SHOWN = 5
"""Failures of one kind that are reported."""


@define(kw_only=True)
class Audit:
    """One log, and everything recorded by its writers and readers."""

    address: Address
    done: list[Done]
    seen: list[Seen]
    heard: list[Heard]
    now: datetime
    seed: int
    facts: dict[str, int] = field(init=False, factory=dict)

    def failures(self) -> list[str]:
        """Return the failures, one line each."""
        found: list[str] = []
        with opened(self.address) as store:
            log = store.log("default")
            events = read(log)
            for check in (
                self._versions(events),
                self._acknowledged(events),
                self._repeated(events),
                self._looks(events),
                self._answers(store, events),
                self._prefixes(log, events),
                self._walks(store),
            ):
                for _, failure in zip(range(SHOWN), check, strict=False):
                    found.append(failure)
        self.facts["events"] = len(events)
        return found

    # --- the log --------------------------------------------------------------------------------

    def _versions(self, events: Sequence[Recorded]) -> Iterator[str]:
        """Versions are consecutive, hours never decrease, and commands are not interleaved."""
        ended: set[str] = set()
        for name, group in groupby(events, key=lambda each: each.command_id):
            if name in ended:
                yield f"command {name} stands in the log twice"
            ended.add(name)
            if len({(each.actor, each.session_id) for each in group}) > 1:
                yield f"command {name} is of two actors or sessions"
        for before, after in pairwise(events):
            if after.version != before.version + 1 or after.active_us < before.active_us:
                yield f"version {after.version} does not follow {before.version}"

    def _acknowledged(self, events: Sequence[Recorded]) -> Iterator[str]:
        """Acknowledged commands are in the log unchanged, and nothing else that was requested."""
        places = defaultdict[str, list[Recorded]](list)
        for event in events:
            places[event.command_id].append(event)
        promised = {each.id for each in self.done if each.first is not None}
        for each in self.done:
            if each.first is None:
                continue
            written = places.get(each.id, [])
            if not written or (written[0].version, written[-1].version) != (each.first, each.last):
                yield f"{each.id} ({each.operation}) was acknowledged at {each.first}-{each.last}"
            elif not _is_by(each, written[0].actor):
                yield f"{each.id} of {each.who} is recorded as {written[0].actor}'s"
        for name, written in places.items():
            base = name.partition("/")[0]
            if base.startswith((RACE, "w")) and base not in promised:
                yield f"{name} was written and never acknowledged"
            said = _words(written) if base in promised else ()
            for words in said:
                if not words.startswith((name, "common")):
                    yield f"{name} has learned {words!r}"
        self.facts["commands"] = len({each.id for each in self.done})
        self.facts["answers to writers"] = len(self.done)

    def _repeated(self, events: Sequence[Recorded]) -> Iterator[str]:
        """A repeated command gets the answer of the first time."""
        last = _last_erasure(events)
        told = defaultdict[str, list[Done]](list)
        for each in self.done:
            if each.first is not None:
                told[each.id].append(each)
        for name, answers in told.items():
            if len({(each.first, each.last) for each in answers}) > 1:
                yield f"{name} was told to stand at several places"
            # Words that were erased in between are missing from the second answer.
            told_late = min(each.first or 0 for each in answers) > last
            if told_late and len({each.answer for each in answers}) > 1:
                yield f"{name} ({answers[0].operation}) was answered in several ways"
        self.facts["given again"] = sum(len(answers) - 1 for answers in told.values())
        self.facts["raced"] = sum(
            len({each.who for each in answers}) > 1 for answers in told.values()
        )

    # --- readers --------------------------------------------------------------------------------

    def _looks(self, events: Sequence[Recorded]) -> Iterator[str]:
        """No reader ever got a version in the middle of a command."""
        inside = {
            before.version
            for before, after in pairwise(events)
            if before.command_id == after.command_id
        }
        for each in self.heard:
            yield from each.troubles
            for version in inside.intersection(each.versions):
                yield f"{each.who} read version {version}, in the middle of a command"
        self.facts["answers to readers"] = sum(each.answers for each in self.heard)
        self.facts["batches seen whole"] = sum(each.wholes for each in self.heard)
        self.facts["versions of several events"] = len(inside)

    def _answers(self, store: Store, events: Sequence[Recorded]) -> Iterator[str]:
        """Answers to readers equal those of the log that ends at that version."""
        last = _last_erasure(events)
        sound = [each for each in self.seen if each.head >= last]
        chosen = random.Random(self.seed).sample(sound, min(ASKED_AGAIN, len(sound)))
        log, embedder = store.log("default"), HashEmbedder(DIMENSION)
        with SyncMemory.open(store, embedder=embedder, read_only=True, checkpoints=False) as whole:
            for place, each in enumerate(chosen):
                memory = whole
                if place % 10 == 0:
                    memory = reader(cut(log, each.version), embedder=embedder)
                view = memory.as_of(version=each.version, now=self.now)
                if digest(told(view, each.choice)) != each.answer:
                    when = "later" if each.past else "live"
                    yield f"{each.who} was told something else of {each.version} ({when}), {each}"
        self.facts["answers worked out again"] = len(chosen)

    # --- every prefix ---------------------------------------------------------------------------

    def _prefixes(self, log: Log, events: Sequence[Recorded]) -> Iterator[str]:
        """Replay event by event: the invariants hold at every prefix."""
        chance = random.Random(self.seed)
        judged = {*chance.sample(range(len(events)), min(JUDGED, len(events)))}
        # What new blocks are near to cannot be told any more where words are gone.
        judged -= {
            each.version
            for each in events[: _last_erasure(events) + 1]
            if isinstance(each.event, BlocksPromoted | BlocksRelinked)
        }
        compared = {len(events) - 1, *chance.sample(range(len(events)), COMPARED)}
        state, witness = rebuild(State(), events), Bystander(log, judged)
        for recorded in events:
            try:
                witness.take(recorded)
            except AssertionError as error:
                yield f"version {recorded.version} ({type(recorded.event).__name__}): {error!r}"
                return
            if recorded.version in compared:
                view = as_of(state, recorded.version)
                if state_of_view(view) != state_of_reference(witness.plain):
                    yield f"columns and reference differ at {recorded.version}"
        self.facts["prefixes checked"] = len(events)
        self.facts["decisions made again"] = len(judged)

    def _walks(self, store: Store) -> Iterator[str]:
        """The chain is sound, and every recall of the crowd can be replayed."""
        embedder = HashEmbedder(DIMENSION)
        with SyncMemory.open(store, embedder=embedder, read_only=True, checkpoints=False) as memory:
            verified, replayed = memory.verify(), memory.replay_all()
        if not verified.sound:
            yield f"not sound: {verified}"
        if replayed.decisions != replayed.reproduced + replayed.sealed:
            yield f"not all can be replayed: {replayed}"
        self.facts["recalls replayed"] = replayed.decisions


class Afterwards(PlainState):
    """The state of a log whose erased text is missing from the beginning."""

    def _refold(self, *, owner: str | None) -> None:
        """Do nothing: there was never any text."""


class Bystander(LogChecker):
    """A checker that starts late, and checks only a part."""

    def __init__(self, log: Log, judged: set[int]) -> None:
        super().__init__(log, crowded=True)
        self.plain = Afterwards()
        self._judged = judged

    def take(self, recorded: Recorded) -> None:
        """Process one event."""
        self._take(recorded)

    def _judge(self, recorded: Recorded) -> None:
        if recorded.version in self._judged:
            super()._judge(recorded)


def _last_erasure(events: Sequence[Recorded]) -> int:
    erasures = [each.version for each in events if isinstance(each.event, BlockErased)]
    return max(erasures, default=-1)


def _words(written: Sequence[Recorded]) -> Iterator[str]:
    """Yield the texts that were learned, as far as they are not erased."""
    for recorded in written:
        event = recorded.event
        if isinstance(event, BlockLearned) and isinstance(event.text, BlockText):
            yield event.text.content


def _is_by(done: Done, actor: str) -> bool:
    return actor == actor_of(int(done.who[1:]))
