"""Running an extractor: windows of messages, one call and one commit for each.

Rules of this module:

1. An extractor is called without any lock. If it fails, the messages are kept, the failure is
   recorded in the event, and the messages count as not read.
2. A window holds consecutive messages of one thread and one scope. Each is committed before the
   next is begun, so a kill loses nothing that was committed, and adding the messages again
   continues with those that were not read.
3. After a failure that the next window would share (no answer at all), the others are left unread.
   A command that is repeated under its id is answered as the first time; another one tries again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

from attrs import define, field, frozen

from mnemic.adapters.inprocess.engine.analysis import TimedCall
from mnemic.adapters.inprocess.engine.commands import Command, Outcome, Progress
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel.decision import first_of
from mnemic.kernel.errors import CommandIdReused
from mnemic.kernel.events import FactsExtracted
from mnemic.kernel.extraction.accepting import Call, message_of, number_of
from mnemic.kernel.extraction.deciding import decide_extraction
from mnemic.kernel.model.blocks import ACTIVE, INBOX
from mnemic.kernel.model.identity import SCOPE_KEYS, BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.ports import CommandRow, Extract, Extractor, KnownBlock, Message
from mnemic.kernel.values import Value
from mnemic.projections.view import View, as_of
from mnemic.projections.view.extracted import read_by

WINDOW_MAX = 64
"""Messages of one call, however many the extractor takes."""
HOPELESS = frozenset({"unavailable", "endpoint-refused", "timed-out", "failed"})
"""Problems that the next call would have too."""
PROBLEMS = {
    "unavailable": "the endpoint did not answer",
    "endpoint-refused": "the endpoint refused the request",
    "timed-out": "the extractor took too long",
    "failed": "the extractor failed",
    "invalid-answer": "an answer did not have the requested form",
    "cut-short": "an answer was cut short",
    "too-many-facts": "an answer had too many facts",
}

Near = Callable[[Sequence[Message]], Sequence[BlockId]]
"""Returns the existing blocks that may be about what messages say, best first."""


@frozen(kw_only=True)
class Run(Value):
    """What an extraction did."""

    extractor: str
    model: str
    prompt: str
    events: tuple[tuple[int, FactsExtracted], ...]
    """Its events, each with its version."""
    unread: int
    details: tuple[str, ...]
    """What went wrong, in words, each once. The words of an endpoint are not recorded, since they
    may repeat a message: a repeated command says only what kind of problem it was."""


class Known(Sequence[KnownBlock]):
    """Existing blocks, looked up when an extractor first reads them."""

    def __init__(self, view: Callable[[], View], near: Callable[[], Sequence[BlockId]]) -> None:
        self._view, self._near = view, near
        self._found: list[tuple[BlockId, KnownBlock]] | None = None

    @property
    def ids(self) -> tuple[BlockId, ...]:
        """The ids of the blocks that were read; empty if none was."""
        return tuple(block for block, _ in self._found or ())

    def _blocks(self) -> list[tuple[BlockId, KnownBlock]]:
        if self._found is None:
            near, view = self._near(), self._view()
            self._found = []
            for block in near:
                number = view.number(block)
                text = None if number is None else view.text(number)
                if number is not None and isinstance(text, BlockText):
                    shown = message_of(view, number)
                    self._found.append(
                        (
                            block,
                            KnownBlock(
                                content=shown.content, author=shown.author, said_at=shown.said_at
                            ),
                        )
                    )
        return self._found

    def __len__(self) -> int:
        return len(self._blocks())

    @overload
    def __getitem__(self, place: int) -> KnownBlock: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[KnownBlock]: ...
    def __getitem__(self, place: Any) -> Any:
        found = [known for _, known in self._blocks()]
        return found[place]


@define(kw_only=True)
class Runner:
    """Runs one extractor over messages."""

    space: SessionHandle
    extractor: Extractor
    near: Near
    timeout_s: float
    command_id: str | None = None
    after: int = -1
    """What was read up to this version is read again."""
    _events: list[tuple[int, FactsExtracted]] = field(factory=list, init=False)
    _details: list[str] = field(factory=list, init=False)

    def run(self, messages: Sequence[BlockId], progress: Progress | None = None) -> Run:
        """Extract from the messages that this extractor has not read yet, in order.

        Args:
            messages: Blocks; those that are archived by now are left out.
            progress: Called with the number of messages done and the total.
        """
        view = self._begun()
        windows = list(self._windows(view, messages))
        total, done = sum(map(len, windows)), sum(len(each.messages) for _, each in self._events)
        for window in self._parts(self._left(windows)):
            if self._has_stopped():
                break
            self._extracted(window)
            done += len(window)
            if progress is not None:
                progress(done, total)
        read = {
            block for _, each in self._events if each.status != "failed" for block in each.messages
        }
        return Run(
            extractor=self.extractor.name,
            model=self.extractor.model,
            prompt=self.extractor.prompt,
            events=tuple(self._events),
            unread=total - len(read),
            details=tuple(dict.fromkeys(self._details)),
        )

    def _begun(self) -> View:
        """Return the view on which the command began, and collect what it wrote before.

        If it is repeated, no model is asked again, and the windows are those of the first time.
        """
        begun: int | None = None
        while (before := self.space.remembered(self._command())) is not None:
            begun = before.first - 1 if begun is None else begun
            self._kept(self._again(before))
        return self.space.view() if begun is None else as_of(self.space.state, begun)

    def _left(self, windows: Sequence[Sequence[BlockId]]) -> Iterator[list[BlockId]]:
        """Yield what an earlier attempt at this command has not read, and what can be read now."""
        if not self._events:
            yield from map(list, windows)
            return
        tried = {block for _, each in self._events for block in each.messages}
        unread = (block for window in windows for block in window if block not in tried)
        yield from self._windows(self.space.view(), list(unread))

    def _has_stopped(self) -> bool:
        """Whether the last window failed in a way that the next one would share."""
        if not self._events:
            return False
        _, last = self._events[-1]
        return last.status == "failed" and last.problem in HOPELESS

    def _command(self) -> Command:
        """Return the command of the next commit, with an id that follows from the caller's."""
        if self.command_id is None:
            return Command("extract", {})
        return Command("extract", {}, f"{self.command_id}/extract/{len(self._events)}")

    def _call(self, messages: Sequence[BlockId], known: tuple[BlockId, ...] = ()) -> Call:
        return Call(
            extractor=self.extractor.name,
            model=self.extractor.model,
            prompt=self.extractor.prompt,
            messages=tuple(messages),
            known=known,
        )

    def _windows(self, view: View, messages: Sequence[BlockId]) -> Iterator[list[BlockId]]:
        """Yield the windows of what is to be read, as of a view."""
        most = max(1, min(WINDOW_MAX, self.extractor.window))
        window: list[BlockId] = []
        key: object = None
        for block in dict.fromkeys(messages):
            number = view.number(block)
            text = None if number is None else view.text(number)
            if number is None or not isinstance(text, BlockText):
                continue
            if view.status(number) not in (INBOX, ACTIVE) or self._is_read(view, number):
                continue
            given = json.loads(text.metadata) if text.metadata else {}
            own = (text.thread, tuple(given.get(name) for name in SCOPE_KEYS))
            if window and (own != key or len(window) == most):
                yield window
                window = []
            window.append(block)
            key = own
        if window:
            yield window

    def _is_read(self, view: View, number: int) -> bool:
        identity = (self.extractor.name, self.extractor.model, self.extractor.prompt)
        return read_by(view, number, identity, after=self.after)

    def _parts(self, windows: Iterable[Sequence[BlockId]]) -> Iterator[Sequence[BlockId]]:
        """Yield the windows, those of an extractor without a model in parts.

        Such a one is asked twice, and a part ends with each message in which it finds a fact: so a
        fact of a later message is compared with that of an earlier one.
        """
        for window in windows:
            if self.extractor.model or len(window) == 1:
                yield window
                continue
            view = self.space.view()
            shown = [message_of(view, number_of(view, each)) for each in window]
            quoted = (each.quotes for each in self._answer(shown, ()).facts)
            ends = sorted({quote.message + 1 for quotes in quoted for quote in quotes})
            cuts = [0, *(end for end in ends if end < len(window)), len(window)]
            yield from (window[first:last] for first, last in pairwise(cuts))

    def _extracted(self, window: Sequence[BlockId]) -> None:
        """Ask the extractor about one window, and commit what it found."""
        view = self.space.view()
        shown = [message_of(view, number_of(view, each)) for each in window]
        known = Known(self.space.view, lambda: self.near(shown) if self.extractor.compares else ())
        found = self._asked(shown, known)
        call = self._call(window, known.ids)
        outcome = self.space.execute(
            self._command(),
            lambda view, at: decide_extraction(view, call, found, at),
            again=self._again,
        )
        self._kept(outcome, found.detail)

    def _kept(self, outcome: Outcome, detail: str = "") -> None:
        event: FactsExtracted = outcome.result
        self._events.append((outcome.last, event))
        if event.problem:
            self._details.append(detail or PROBLEMS.get(event.problem, event.problem))

    def _again(self, row: CommandRow) -> Outcome:
        """Return what a repeated command wrote: the model is not asked again."""
        recorded = self.space.events_of(row)
        event = first_of(recorded, FactsExtracted)
        if event is None:
            raise CommandIdReused(f"command {self.command_id!r:.100} wrote no extraction")
        return Outcome(event, row.first, row.last, recorded)

    def _asked(self, shown: Sequence[Message], known: Known) -> Extract:
        """Return the answer of the extractor; a failure of any kind is part of it."""
        if not self.extractor.model:
            return self._answer(shown, known)
        call = TimedCall(lambda: [self._answer(shown, list(known))], 1)
        if not call.wait(self.timeout_s):
            return Extract(problem="timed-out")
        return call.found[0] or Extract(problem="failed")

    def _answer(self, shown: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        try:
            found = self.extractor.extract(shown, known)
        except Exception as error:  # noqa: BLE001 - an extractor may fail in any way
            return Extract(problem="failed", detail=f"{type(error).__name__}: {error}"[:300])
        if not isinstance(found, Extract):
            return Extract(problem="failed", detail=f"no answer but {found!r:.100}")
        return found
