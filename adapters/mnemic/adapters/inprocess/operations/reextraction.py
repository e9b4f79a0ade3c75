"""Operations that read messages again on a fork, and adopt what another extractor finds there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from mnemic.adapters.inprocess.engine.commands import Command, Outcome, Progress
from mnemic.adapters.inprocess.engine.opening import open_space
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.operations.extraction import ExtractionOperations
from mnemic.adapters.inprocess.operations.host import Date
from mnemic.adapters.inprocess.operations.transfer import ExchangeOperations
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import FieldRefused, SpaceNotFound
from mnemic.kernel.model.blocks import ACTIVE, INBOX
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import CommandRow, Extractor, Store
from mnemic.kernel.timestamps import Instant, instant
from mnemic.kernel.validation import checked_name
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import AdoptExtractionResult, ReExtractResult

MESSAGES_MAX: Final = 10_000
"""Messages of one re-extraction: what one command can adopt at once."""


class ReExtractionOperations(ExtractionOperations, ExchangeOperations):
    """Operations on a re-extraction."""

    @operation("POST ./re-extract", "Spaces", "admin", status=201, other_space="space")
    def re_extract(
        self,
        extractor: str,
        space: str,
        *,
        since: Date = None,
        until: Date = None,
        progress: Progress | None = None,
    ) -> ReExtractResult:
        """Let an extractor read messages again on a fork, and return what that would change.

        Nothing is written here. The fork is a space of its own: messages are read there window by
        window; then facts that rest on these messages alone and were not found again are archived
        there, and what they had superseded comes back. Called again with the same arguments, it
        continues with what is unread, after a failed endpoint or a kill. ``adopt_extraction`` makes
        it the state of this space; to discard it, erase or ignore the fork.

        Recorded recalls are answered again, at most the latest 500, with the facts as they are and
        as they would be; the strengths and the age of everything else are those of now.

        Args:
            extractor: ``none``, ``rules``, or the name of the one that the host has configured.
            space: Name of the fork: a new space, or one that an earlier call has begun.
            since: Only messages that were recorded at or after this instant.
            until: Only messages that were recorded before or at it.
            progress: Called with the number of messages read and the total.

        Raises:
            FieldRefused: There is no such extractor, the space is no fork of this one or has the
                re-extraction of another extractor, or there are more than 10,000 messages.
            VectorRefused, EmbedderMismatch, Unavailable: The embedder failed; call again.
        """
        from mnemic.adapters.inprocess.consolidation import consolidation
        from mnemic.adapters.inprocess.extraction import differing
        from mnemic.adapters.inprocess.extraction.adopting import decide_retirement
        from mnemic.adapters.inprocess.extraction.results import status_of
        from mnemic.kernel.results import ReExtractResult

        original, name = self._open(), checked_name("space", space)
        since_us, until_us = instant("since", since), instant("until", until)
        chosen = self._extractor(extractor)
        store = self._fork_store()
        if name not in store.spaces():
            _messages(original.view(), since_us, until_us)  # refused before anything is made
            self.fork(name)
        with self._on(store, name) as fork:
            there = fork._open()  # noqa: SLF001 - of the same class
            base = _shared_version(original, there)
            _check_extractor(there, base, chosen)
            runner = fork._runner(chosen, None, None)  # noqa: SLF001
            runner.after = base
            messages = _messages(there.view(), since_us, until_us)
            run = runner.run(messages, progress)
            there.prepared(Command("re_extract", {}), lambda view, _: decide_retirement(view, base))
            fork._with_models(partial(consolidation.consolidate, there))  # noqa: SLF001
            state, head = there.state, there.snapshot().version
            events = [each.event for each in state.extractions.between(base, head)]
            found = differing.difference(state, base, head)
            recalls = differing.compared(original, self._models, found, since_us)
            answered = [each for each in events if each.status != "failed"]
            return ReExtractResult(
                space=name,
                base_version=base,
                extractor=chosen.name,
                model=chosen.model,
                prompt=chosen.prompt,
                status=status_of(answered, run.unread),
                read=len({block for each in answered for block in each.messages}),
                unread=run.unread,
                refused_count=found.refused_count,
                decisions=recalls.changed,
                decisions_compared=recalls.compared,
                decisions_left_out=recalls.left_out,
                problems=run.details,
                **found.changes(),
            )

    @operation(
        "POST ./adopt-extraction",
        "Spaces",
        "admin",
        destructive=True,
        same_twice=True,
        other_space="space",
    )
    def adopt_extraction(
        self, space: str, *, command_id: str | None = None
    ) -> AdoptExtractionResult:
        """Make what ``re_extract`` found on a fork the state of this space, by one command.

        What is recorded on the fork is decided once more on what is here now, and written in one
        transaction, or not at all: facts are learned, revised and connected as on the fork, what
        was not found again is archived. No extractor is called. Messages that were learned since
        the fork are left as they are, and so is what an extractor could not read there. The events
        can be reverted.

        Args:
            space: The fork.
            command_id: See the class.

        Raises:
            SpaceNotFound: There is no such space.
            FieldRefused: It is no fork of this one.
            Forbidden: The caller is not of the highest zone.
        """
        from mnemic.adapters.inprocess.extraction import adopting, differing
        from mnemic.kernel.results import AdoptExtractionResult

        original, name = self._open(), checked_name("space", space)
        command = Command("adopt_extraction", {"space": name}, command_id)

        def again(row: CommandRow) -> Outcome:
            return Outcome(None, row.first, row.last, original.events_of(row))

        before = original.remembered(command)
        if before is None:
            store = self._fork_store()
            if name not in store.spaces():
                raise SpaceNotFound(
                    f"there is no space {name!r}",
                    recovery="Name the space of a re_extract.",
                    space=name,
                )
            with self._on(store, name) as fork:
                there = fork._open()  # noqa: SLF001 - of the same class
                base = _shared_version(original, there)
                found = adopting.proposals(there.view(), base)

            def decide(view: View, at: Instant) -> Decision[None]:
                return adopting.decide_adoptions(original, view, at, found, after=base)

            outcome = original.prepared(command, decide, again=again)
        else:
            outcome = again(before)
        if not outcome.events:
            return AdoptExtractionResult(space=name, action="nothing")
        changed = differing.difference(original.state, outcome.first - 1, outcome.last)
        return AdoptExtractionResult(
            space=name,
            action="adopted",
            version=outcome.last,
            refused_count=changed.refused_count,
            **changed.changes(),
        )

    def _fork_store(self) -> Store:
        """Return the store of this space, in which its forks are.

        Raises:
            ViewReadOnly, FieldRefused: Nothing may be written here, or it does not know its store.
        """
        store = self._target(None)
        assert not isinstance(store, str) and hasattr(store, "spaces")  # noqa: S101, PT018
        return store  # type: ignore[return-value]

    @contextmanager
    def _on(self, store: Store, name: str) -> Generator[Self]:
        """Open a fork with the models and the caller of this memory, for a ``with`` block."""
        original = self._open()
        if name == original.name:
            raise FieldRefused(f"{name!r} is this space, and no fork of it", field="space")
        caller = original.caller
        _, opened = open_space(
            store,
            space=name,
            policy=None,
            clock=caller.clock,
            entropy=caller.entropy,
            actor=caller.actor,
            synchronous="full",
            read_only=False,
            checkpoints=False,
        )
        host = self._host_of(opened.handle_of(caller.actor, None, zone=caller.zone))
        try:
            yield host
        finally:
            host.close()


def _messages(view: View, since_us: int | None, until_us: int | None) -> list[BlockId]:
    """Return the messages that were recorded in a time, in the order of learning.

    Raises:
        FieldRefused: There are too many.
    """
    from mnemic.kernel.decisions.learning import MESSAGE

    recorded_us = view.state.timeline.recorded_us.values
    found: list[tuple[int, BlockId]] = []
    for number in view.known().tolist():
        if view.category(number) != MESSAGE or view.status(number) not in (INBOX, ACTIVE):
            continue
        learned = view.life.get("learned", number)
        us = int(recorded_us[learned])
        if (since_us is None or us >= since_us) and (until_us is None or us <= until_us):
            found.append((learned, view.id(number)))
    if len(found) > MESSAGES_MAX:
        raise FieldRefused(
            f"{len(found)} messages, and one re-extraction reads at most {MESSAGES_MAX}",
            recovery="Read them in several parts: give since and until, and adopt each.",
            field="since",
        )
    return [block for _, block in sorted(found)]


def _shared_version(original: SessionHandle, fork: SessionHandle) -> int:
    """Return the last version up to which two logs are the same.

    Raises:
        FieldRefused: They have not even the first event in common.
    """
    low, high = -1, min(original.snapshot().version, fork.snapshot().version)
    while low < high:
        middle = (low + high + 1) // 2
        if original.digest_at(middle) == fork.digest_at(middle):
            low = middle
        else:
            high = middle - 1
    if low < 0:
        raise FieldRefused(
            f"space {fork.name!r} is no fork of {original.name!r}",
            recovery="Name a new space, or the one of an earlier re_extract.",
            field="space",
        )
    return low


def _check_extractor(fork: SessionHandle, base: int, extractor: Extractor) -> None:
    """Refuse a fork that has the re-extraction of another extractor.

    Raises:
        FieldRefused: It has.
    """
    identity = (extractor.name, extractor.model, extractor.prompt)
    state = fork.snapshot().state
    for each in state.extractions.between(base, fork.snapshot().version):
        event = each.event
        if (event.extractor, event.model, event.prompt) != identity:
            raise FieldRefused(
                f"space {fork.name!r} has a re-extraction by {event.extractor!r}",
                recovery="Adopt that one, or name another space.",
                field="space",
            )
