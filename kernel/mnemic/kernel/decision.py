"""What every decision returns: the events to write, and the answer to the caller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from attrs import frozen

from mnemic.kernel.events import Event, Recorded, SessionStarted
from mnemic.kernel.model.identity import CommandId, SessionId
from mnemic.kernel.timestamps import Instant

E = TypeVar("E")
R = TypeVar("R")


@frozen
class Decision(Generic[R]):
    """The outcome of a ``decide_…`` function."""

    events: tuple[Event, ...]
    """To be appended together, in this order; none if there is nothing to change."""
    result: R
    """What the caller is answered in addition to the events; None: nothing."""
    erase: tuple[str, ...] = ()
    """Owners whose payloads and keys are destroyed in the same transaction (``model.texts``)."""
    erase_all: bool = False
    """Whether every payload and key of the space is."""

    def recorded(
        self,
        *,
        first: int,
        at: Instant,
        command_id: CommandId,
        actor: str,
        session: SessionId | None,
    ) -> list[Recorded]:
        """Return the events in their envelopes, ready to be appended and applied.

        Args:
            first: Version of the first event: one more than that of the log's last.
            at: The time at which they were decided.
            command_id: The command, the same for all.
            actor: Who issued it.
            session: The open session of the actor; None outside of one. Events of a command that
                starts a session belong to that session.
        """
        begun = self.events[0] if self.events else None
        if isinstance(begun, SessionStarted):
            session = begun.session_id
        return [
            Recorded(
                version=version,
                active_us=at.active_us,
                recorded_us=at.recorded_us,
                command_id=command_id,
                actor=actor,
                session_id=session,
                event=event,
            )
            for version, event in enumerate(self.events, start=first)
        ]


def first_of(events: Iterable[Event], kind: type[E]) -> E | None:
    """Return the first event of a kind; None if there is none."""
    return next((event for event in events if isinstance(event, kind)), None)


def single(event: Event | None) -> Decision[None]:
    """Return the decision to write one event, or nothing."""
    return Decision(() if event is None else (event,), None)
