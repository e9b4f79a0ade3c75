"""Forgetting and erasing every block that a filter finds, in batches.

Rules of this module:

1. The blocks are those that the filter finds when the call begins. What is learned meanwhile is not
   among them, or a call would never end while another process keeps learning.
2. Each batch is one command, decided on the head of the log: a block that no longer meets the
   filter, or is gone already, is left out. So every version of the log is sound, and what was
   interrupted is continued by the next call, which finds what is left.
3. Under a command id, each batch has an id that follows from it. A repeated call reads from the log
   what it wrote before, and its answer names all.
4. A batch has at most a hundredth of the blocks of the space, but at least ``BATCH_MIN``. After
   each one the state is derived without the erased texts, by a pass over all of it; so there are
   about a hundred of these at most.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from mnemic.adapters.inprocess.engine.commands import Command, Outcome, Progress
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.archiving import decide_erase, decide_forget_many
from mnemic.kernel.decisions.authorization import check_reach
from mnemic.kernel.decisions.connecting import remark_text
from mnemic.kernel.events import BlockErased, BlockForgotten, Event
from mnemic.kernel.model.blocks import ARCHIVED
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Erased
from mnemic.kernel.ports import CommandRow
from mnemic.kernel.results import EraseManyReceipt, ForgetManyResult
from mnemic.projections.view import View

Ints = NDArray[np.int64]
BATCH_MIN = 1_000
BATCHES_MAX = 100


@define(kw_only=True)
class Removal:
    """One call: the batches that it has committed, now or when it was made before."""

    NAME: ClassVar[str]
    space: SessionHandle
    where: Where
    command_id: str | None = None
    batch_min: int = field(factory=lambda: BATCH_MIN)
    """The least number of blocks of a batch that is not the last."""
    _replacements: int = field(init=False)
    _commits: list[Outcome] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._replacements = self.space.log_state.replacements

    @abstractmethod
    def _present(self, view: View, numbers: Ints) -> Ints:
        """Return those of *numbers* that are not gone yet."""

    @abstractmethod
    def _decide(self, view: View, ids: Sequence[BlockId]) -> Decision[None]:
        """Decide the removal of one batch."""

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments that tell two calls apart."""
        return {"where": self.where.plain()}

    def found(self, view: View, numbers: Ints | None = None) -> Ints:
        """Return which blocks are to be removed, out of *numbers*; None: of all.

        Raises:
            Forbidden: One of them is above the zone of the caller.
        """
        numbers = view.known() if numbers is None else numbers
        numbers = self._present(view, numbers[view.passing(self.where, numbers)])
        if view.highest is not None:
            for number in numbers.tolist():
                check_reach(view, view.facts(number))
        return numbers

    def remove(self, progress: Progress | None) -> list[Event]:
        """Remove what the filter finds, and return the events of all batches."""
        self.space.check_writable()
        self.space.check_not_erased()
        self._recall_earlier()
        view = self._view()
        numbers = self.found(view, self._known_then(view))
        size = max(self.batch_min, view.learned_count // BATCHES_MAX)
        done = sum(len(each.events) for each in self._commits)
        total = done + len(numbers)
        for first in range(0, len(numbers), size):
            batch = numbers[first : first + size]
            self._commit(batch)
            done += len(batch)
            if progress is not None:
                progress(done, total)
        return [event for each in self._commits for event in each.events]

    @property
    def version(self) -> int:
        """The version of the last event, or that of the log if nothing was written."""
        return self._commits[-1].last if self._commits else self._view().version

    def _view(self) -> View:
        view = self.space.view()
        self.space.log_state.check_unreplaced(self._replacements)
        return view

    def _known_then(self, view: View) -> Ints:
        """Return the blocks that had been learned when the call began, or was first made."""
        numbers = view.known()
        if not self._commits:
            return numbers
        return numbers[view.life.column("learned", numbers) < self._commits[0].first]

    def _commit(self, numbers: Ints) -> None:
        def decide(view: View, _: object) -> Decision[None]:
            return self._decide(view, self._ids(view, numbers))

        outcome = self.space.execute(self._command(), decide, again=self._written)
        if outcome.events:
            self._commits.append(outcome)

    def _ids(self, view: View, numbers: Ints) -> list[BlockId]:
        return list(map(view.id, self.found(view, numbers).tolist()))

    def _command(self) -> Command:
        """Return the command of the next batch."""
        number, own = len(self._commits), self.command_id
        derived = own if own is None or number == 0 else f"{own}/{number}"
        return Command(self.NAME, self._arguments(), derived, self._replacements)

    def _recall_earlier(self) -> None:
        """Collect the batches that this command wrote before, if it is repeated."""
        while (row := self.space.remembered(self._command())) is not None:
            self._commits.append(self._written(row))

    def _written(self, row: CommandRow) -> Outcome:
        """Return what a batch wrote: its texts are gone, so it cannot be decided again."""
        return Outcome(None, row.first, row.last, self.space.events_of(row))


@define(kw_only=True)
class Forgetting(Removal):
    """A ``forget_many``."""

    NAME: ClassVar[str] = "forget_many"
    reason: str | None = None

    def _arguments(self) -> dict[str, Any]:
        return {"where": self.where.plain(), "reason": self.reason}

    def _present(self, view: View, numbers: Ints) -> Ints:
        present: Ints = numbers[view.statuses(numbers) != ARCHIVED]
        return present

    def _decide(self, view: View, ids: Sequence[BlockId]) -> Decision[None]:
        return decide_forget_many(view, ids, self.reason)

    def preview(self) -> ForgetManyResult:
        """Return what would be archived."""
        view = self._view()
        remark_text("reason", self.reason, view.policy)
        ids = tuple(map(view.id, self.found(view).tolist()))
        return ForgetManyResult(block_ids=ids, version=view.version, dry_run=True)

    def run(self, progress: Progress | None) -> ForgetManyResult:
        """Archive the blocks."""
        remark_text("reason", self.reason, self._view().policy)
        gone = [each.block_id for each in self.remove(progress) if isinstance(each, BlockForgotten)]
        return ForgetManyResult(block_ids=tuple(gone), version=self.version)


@define(kw_only=True)
class Erasing(Removal):
    """An ``erase_many``."""

    NAME: ClassVar[str] = "erase_many"

    def _present(self, view: View, numbers: Ints) -> Ints:
        is_there = (self._is_left(view, each) for each in numbers.tolist())
        return numbers[np.fromiter(is_there, dtype=np.bool_, count=len(numbers))]

    def _decide(self, view: View, ids: Sequence[BlockId]) -> Decision[None]:
        return decide_erase(view, ids)

    def preview(self) -> EraseManyReceipt:
        """Return what would be erased."""
        view = self._view()
        found = self.found(view).tolist()
        alone, _ = view.resting_on(found)
        ids = map(view.id, [*found, *alone])
        return self._receipt(view, list(ids), version=view.version, dry_run=True)

    def _commit(self, numbers: Ints) -> None:
        view = self._view()
        with self.space.prepared_erasure(lambda: self._decide(view, self._ids(view, numbers))):
            super()._commit(numbers)

    def run(self, progress: Progress | None) -> EraseManyReceipt:
        """Erase the blocks."""
        gone = [each.block_id for each in self.remove(progress) if isinstance(each, BlockErased)]
        return self._receipt(self._view(), gone, version=self.version)

    def _receipt(
        self, view: View, gone: Sequence[BlockId], *, version: int, dry_run: bool = False
    ) -> EraseManyReceipt:
        """Return the receipt of an erasure of blocks and of facts that rested on them."""
        numbers = view.state.catalogue.numbers
        facts = view.facts_found_in([numbers[each] for each in gone])
        is_fact: Callable[[BlockId], bool] = lambda block: numbers[block] in facts  # noqa: E731
        kept = facts.difference(numbers[each] for each in gone)
        return EraseManyReceipt(
            block_ids=tuple(each for each in gone if not is_fact(each)),
            facts=tuple(filter(is_fact, gone)),
            kept=tuple(view.id(each) for each in sorted(kept) if self._is_left(view, each)),
            version=version,
            chain=self.space.digest_at(version).hex(),
            left=self.space.left,
            dry_run=dry_run,
        )

    @staticmethod
    def _is_left(view: View, number: int) -> bool:
        return not isinstance(view.text(number), Erased)
