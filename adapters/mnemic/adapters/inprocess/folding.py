"""What is folded of a log: caught up with, restored from a checkpoint, or folded again.

Rules of this module:

1. The state is only ever advanced by events that stand in the log.
2. Erasure reaches into the past: whoever has folded words that are erased since folds again.
3. A checkpoint may spare a fold and never decides anything: when and whether one is written shows
   in files alone.
4. Tables move what has gathered into their arrays when they are read, so whoever looks at the state
   holds the guard, as whoever folds does.
5. Nobody who holds the guard waits for other processes, and so for the turn to write: whoever needs
   both waits for the turn first. Who has it holds up all who write, here and elsewhere, so it does
   not stand in line for the guard as well; nor does who would write at once if the turn is free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import starmap
from operator import attrgetter
from typing import TYPE_CHECKING

from attrs import define, field

from mnemic.adapters.codec import Codec
from mnemic.adapters.heap import collector_at_rest, give_back
from mnemic.adapters.inprocess.line import Line
from mnemic.kernel import events as happened
from mnemic.kernel.errors import (
    Closed,
    Corrupt,
    LogCorrupt,
    StoreTooNew,
    Unavailable,
    VersionConflict,
)
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import Entropy, Head, Log
from mnemic.projections.sense import NONSENSE, folded_singly
from mnemic.projections.state import FarOf, State

if TYPE_CHECKING:
    from mnemic.adapters.checkpoints.keeper import Keeper
    from mnemic.adapters.proximity.keeper import GraphKeeper

_ENDS = (LogCorrupt, StoreTooNew)
"""What a log can end in for whoever reads it; everything before is sound."""


@define(kw_only=True)
class _Shared:
    """What is replaced now and then, for all seats at once."""

    state: State = field(factory=State)
    damage: LogCorrupt | StoreTooNew | None = None
    spared: int = -1
    """The last version that a checkpoint spared the reading of."""
    erasures: int = 0
    """How often words that were folded have been erased since."""
    is_closed: bool = False
    is_still: bool = False
    """Whether nobody looks for what other processes append: one holds the guard, and asks."""
    recast: int = 0
    """How often the log had become another one when it was last folded."""
    beginners: dict[int, str] = field(factory=dict)
    """Who began the sessions that were gone on with, by the versions at which they started."""
    read_only: bool
    """Whether the space was opened so: a damaged log ends its fold then, and is no failure."""


class Folded:
    """A log, and the state folded from it."""

    def __init__(self, log: Log, *, entropy: Entropy, read_only: bool) -> None:
        self.log = log
        self.codec = Codec(entropy)
        self._guard = threading.RLock()
        self._is_mine: Callable[[], bool] = attrgetter("_is_owned")(self._guard)  # as conditions do
        self._line = Line()
        """Where those stand who write, before they ask whether the turn is free."""
        self._ahead = threading.Lock()
        """Held by whoever writes, from when it wants the guard until it is done with that."""
        self._turn_if_free: Callable[[], AbstractContextManager[bool]] = getattr(
            log, "writing_if_free", _no_turn
        )
        self.keeper: Keeper | None = None
        """Who keeps checkpoints of the state; None: nobody."""
        self.graphs: GraphKeeper | None = None
        """Who keeps graphs over the vectors; None: nobody, and every search is exact."""
        self.far_of: FarOf | None = None
        """Says who has the vectors; None: the state holds them."""
        self._shared = _Shared(read_only=read_only)

    @property
    def guard(self) -> threading.RLock:
        """What whoever looks at the state holds; taken after whoever wants to write."""
        if self._ahead.locked() and not self._is_mine():
            with self._ahead:  # and nothing more: it has come by then
                pass
        return self._guard

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait for the turn to write, and hold it and the guard. The guard is not held yet.

        Raises:
            Closed: The space was closed meanwhile.
            StoreBusy, StoreFailed: There is no turn to be had.
        """
        with self.log.writing(), self._ahead, self._guard:
            self.check_open()
            yield

    def turn_if_free(self) -> AbstractContextManager[bool]:
        """Hold the turn to write if nobody has it or waits for it; the guard is held.

        See ``mnemic.kernel.ports.Prompt``; a log that does not offer it has none that is free.

        Returns:
            What says whether the turn is held.
        """
        return self._turn_if_free()

    @property
    def state(self) -> State:
        """What is folded; the guard is held."""
        return self._shared.state

    @property
    def damage(self) -> LogCorrupt | StoreTooNew | None:
        """What ended the fold early, when opened read-only over a log that ends in it for us."""
        return self._shared.damage

    @property
    def erasures(self) -> int:
        """How often words that were folded have been erased since, and all was folded again."""
        return self._shared.erasures

    @property
    def is_closed(self) -> bool:
        """Whether the space has been closed, for every seat."""
        return self._shared.is_closed

    @property
    def is_still(self) -> bool:
        """Whether the state stays where it is though others append; the guard is held."""
        return self._shared.is_still

    @contextmanager
    def still(self) -> Generator[int]:
        """Keep the state at what is the log's end now, and say which version that is.

        Whoever asks several things gets all answers from one version, however fast other processes
        append. Seats of this one wait for the guard, and nothing is written.
        """
        with self.guard:
            self.catch_up()
            self._shared.is_still = True
            try:
                yield self.state.version
            finally:
                self._shared.is_still = False

    def catch_up(self) -> bool:
        """Fold what other writers appended since; say whether there was anything.

        Raises:
            Closed: Another seat's thread closed the space meanwhile.
        """
        with self.guard:
            self.check_open()
            if self.is_still:
                return False
            if self._is_recast():
                self._erased()
                return True
            if self.damage is not None:
                return False
            if self.log.head().version == self.state.version:
                return False
            fresh = list(self.recorded(self.state.version))
            if any(_erases(each) for each in fresh):
                self._erased()
                return True
            try:
                self._fold(fresh)
            except NONSENSE:
                self.fold_again()  # says which event it is
            self._advanced()
            return bool(fresh)

    def _is_recast(self) -> bool:
        """Say whether the log did not only go on since it was last asked: it lost words elsewhere.

        Erasing in a copy under the same keys takes words from all.
        """
        recast = self.recast
        if recast == self._shared.recast:
            return False
        self._shared.recast = recast
        return True

    @property
    def recast(self) -> int:
        """How often the log has become another one, and did not only go on, as far as it says."""
        recast: int = getattr(self.log, "recast", 0)
        return recast

    def is_as_folded(self) -> bool:
        """Say whether the log has only gone on, if that, since it was folded; the guard is held."""
        return self.recast == self._shared.recast

    def lost_since(self, head: Head, recast: int) -> bool:
        """Say whether words that stood there were erased since, as far as the log can be read.

        Args:
            head: Where it ended.
            recast: How often it had become another one by then; see ``recast``.
        """
        with self.guard, suppress(*_ENDS):  # nothing is told while somebody writes
            return self.recast != recast or any(map(_erases, self.recorded(head.version)))
        return False

    def check_as_folded(self) -> None:
        """Refuse to append to another log than was folded, though it be as long; the turn is held.

        What was told behind its end may have been written down since, under other ids and at
        another time. A state that went on from the former would hold a past that the log does not.

        Raises:
            VersionConflict: It became another one. All of it is folded again by now.
        """
        if self._is_recast():
            self._erased()
            raise VersionConflict(
                "words were erased elsewhere meanwhile", version=self.state.version
            )

    def restore(self) -> None:
        """Take up the newest checkpoint that fits, and fold what came since; else fold all.

        Raises:
            LogCorrupt: As ``fold_again``; before a checkpoint that fits, nothing is read.
        """
        with self.guard:
            kept = None if self.keeper is None else self.keeper.newest()
            if kept is None or not self._fold_on(kept):
                self.fold_again()

    def _fold_on(self, kept: State) -> bool:
        """Fold the events behind *kept*; say no if that cannot be done without folding all."""
        assert self.keeper is not None  # noqa: S101 - who else kept it
        self._shared.state, spared = kept, kept.version
        try:
            with collector_at_rest():
                self._fold_all(_unless_erased(self.recorded(kept.version)))
        except _WordsErased:
            self.keeper.passed_over()
            return False
        except (Corrupt, Unavailable):
            raise
        except Exception as error:  # noqa: BLE001 - the log is right, and folding it all must do
            self.keeper.passed_over(error)
            return False
        self._shared.spared = spared
        return True

    def fold_again(self) -> None:
        """Fold the whole log into a fresh state.

        Raises:
            LogCorrupt, StoreTooNew: At the first record that is damaged, says what cannot be, or is
                of a newer release, unless the space is read-only: then the state stands before it.
        """
        with self.guard, collector_at_rest():
            self._shared.state, self._shared.spared = State(self.far_of), -1
            try:
                self._fold_all(self.recorded(-1))
                self.state.settle()
            except NONSENSE as error:
                self._shared.state = State(self.far_of)
                self._fold_sense(error)
        give_back()

    def _fold_sense(self, error: Exception) -> None:
        """Fold what comes before the first event that says what cannot be, and name that one.

        A chain says that nothing was changed, and not that it makes sense: an imported log may name
        blocks that nobody learned.

        Args:
            error: What came of folding all at once.

        Raises:
            LogCorrupt: With the version of that event, unless the space is read-only.
        """
        for settling in (False, True):
            _, version = folded_singly(self._readable(), settling=settling, far_of=self.far_of)
            if version is not None:
                break
        else:
            raise error
        damage = LogCorrupt(
            f"the event at version {version} says what cannot be: {error!r:.200}", version=version
        )
        if not self._shared.read_only:
            raise damage from error
        self._shared.state, _ = folded_singly(
            self.recorded(-1, version - 1), settling=settling, far_of=self.far_of
        )
        self._shared.damage = damage

    def _readable(self) -> Iterator[Recorded]:
        """Yield the events before the first that cannot be read."""
        with suppress(*_ENDS):
            yield from self.recorded(-1)

    def _fold_all(self, source: Iterator[Recorded]) -> None:
        """Fold *source* to its end, or when reading only to its damage or to a newer release."""
        try:
            self._fold(source)
        except _ENDS as damage:
            if not self._shared.read_only:
                raise
            self._shared.damage = damage

    def _fold(self, source: Iterable[Recorded]) -> None:
        """Fold *source* to its end, or to its damage; else forget everything that was folded.

        Whatever ends a fold in the middle of a batch (an interrupt, no memory left) leaves a state
        that has counted events which its tables have not seen. Nobody could tell later, so the next
        catch-up begins with nothing.
        """
        try:
            self.state.rebuild(source)
        except _ENDS:
            raise  # of reading: everything before it is folded
        except BaseException:
            self._shared.state, self._shared.spared = State(self.far_of), -1
            raise

    def recorded(self, after: int, upto: int | None = None) -> Iterator[Recorded]:
        """Return the events with version in (after, upto]."""
        return starmap(self.codec.decode, self.log.read(after, upto))

    def digest_at(self, version: int) -> bytes:
        """Return the chain digest of the log as it ends with the event at *version*.

        Raises:
            LogCorrupt: The log has no such record, or cannot read it.
        """
        found = self.log.digest_at(version)
        if found is None:
            raise LogCorrupt(f"no record can be read at version {version}", version=version)
        return found

    def event_at(self, version: int) -> Recorded | None:
        """Return the event at *version*, if the log has it."""
        return next(self.recorded(version - 1, version), None) if version >= 0 else None

    def _erased(self) -> None:
        """Let go of everything that may hold erased words."""
        self._shared.erasures += 1
        if self.keeper is not None:
            self.keeper.erased()
        if self.graphs is not None:
            self.graphs.erased()
        self.fold_again()

    def _advanced(self) -> None:
        """Take note that the state has grown."""
        if self.keeper is not None:
            self.keeper.consider()

    def check_open(self) -> None:
        """Refuse when the space has been closed.

        Raises:
            Closed: By whoever opened it.
        """
        if self._shared.is_closed:
            raise Closed("the memory is closed")

    def check_foldable(self) -> None:
        """Refuse when folding the whole log again would lose what a checkpoint has saved.

        Reads what opening did not, once.

        Raises:
            LogCorrupt: With the first damaged version.
        """
        spared = self._shared.spared
        try:
            for _ in self.recorded(-1, spared) if spared >= 0 else ():
                pass
        except LogCorrupt as error:
            raise LogCorrupt(
                f"nothing was erased: {error.message}; this memory lives on a checkpoint, and an "
                "erasure would leave what stands before the damage",
                recovery="Restore a backup and erase there, or erase the whole space.",
                **error.facts,
            ) from error
        self._shared.spared = -1


class _WordsErased(Exception):
    """Words that a checkpoint may hold are erased since. Never leaves this module."""


def _no_turn() -> AbstractContextManager[bool]:
    return nullcontext(enter_result=False)


def _erases(recorded: Recorded) -> bool:
    return isinstance(recorded.event, happened.BlockErased | happened.SpaceErased)


def _unless_erased(source: Iterator[Recorded]) -> Iterator[Recorded]:
    """Yield events up to the first that erases words."""
    for recorded in source:
        if _erases(recorded):
            raise _WordsErased
        yield recorded
