"""The command that learns whole files: sitting by sitting, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve, fields
from rich.text import Text

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Progress, Run, plain

if TYPE_CHECKING:
    from mnemic.adapters.ingestion import Item, Sitting
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.kernel.results import ConsolidateResult

BATCH = 500
"""Lessons of one transaction: long enough to be fast, short enough for other writers."""
REFUSALS_SHOWN = 20


@define
class Tally:
    """What became of the items of all files."""

    files: int = 0
    sessions: int = 0
    items: int = 0
    created: int = 0
    reactivated: int = 0
    duplicates: int = 0
    undated: int = 0
    """Dates that could not be read; these blocks are of unknown age."""
    refused: list[dict[str, str]] = Factory(list)

    @property
    def summary(self) -> str:
        """One line for a person."""
        parts = [f"{self.created} learned"]
        for count, what in (
            (self.reactivated, "back from the archive"),
            (self.duplicates, "known already"),
            (len(self.refused), "refused"),
            (self.undated, "of unknown age, their dates being unreadable"),
        ):
            if count:
                parts.append(f"{count} {what}")
        return f"{', '.join(parts)}."

    def refuse(self, place: str, code: str, detail: str, recovery: str) -> None:
        """Note an item that could not be learned."""
        self.refused.append({"place": place, "code": code, "detail": detail, "recovery": recovery})


def ingest(
    *paths: Path,
    conversation: str | None = None,
    consolidate: bool = True,
    session: bool = True,
    run: Run,
) -> int:
    """Learn files: JSON lines, or conversation JSON.

    A line is an object with content and, if you like, tags, category, author, thread,
    created_at, source, confidence, metadata, expires_at and zone. A turn of a conversation
    becomes one block of category message. A date that cannot be read counts as unknown; a line
    that cannot be learned is reported with its place, the others go on, and the exit code is 1.

    Active hours come from this machine's clock, not from the dates of what is learned: years of
    letters, ingested in a minute, are a minute of active time.

    Args:
        paths: The files; - is standard input.
        conversation: Learn this one conversation of a conversation JSON; all if not given.
        consolidate: Promote what was learned. Without, it waits in the inbox, and no session is
            opened, since a session that ends consolidates.
        session: Open a session per file, or per session of a conversation. Without, learning
            takes no active time.
        run: This invocation.
    """
    from mnemic.adapters import ingestion
    from mnemic.kernel.errors import FieldRefused

    if not paths:
        raise FieldRefused("no file to ingest", recovery="Name one or more files.")
    sittings = [
        sitting for path in paths for sitting in ingestion.read(path, conversation=conversation)
    ]
    tally = Tally(files=len(paths))
    with run.memory(making=True) as memory:
        consolidated = _learn_all(
            memory, sittings, tally, run, consolidate=consolidate, session=session and consolidate
        )
        status = memory.status()
    _show(run, tally, consolidated, {"version": status.version, "hour": status.hour})
    return Exit.REFUSED if tally.refused else Exit.OK


def _learn_all(
    memory: SyncMemory,
    sittings: Iterable[Sitting],
    tally: Tally,
    run: Run,
    *,
    consolidate: bool,
    session: bool,
) -> ConsolidateResult | None:
    """Learn sitting by sitting; a session is left open if this fails: it ends at its last event."""
    total: ConsolidateResult | None = None
    todo = list(sittings)
    size = sum(sitting.size for sitting in todo)
    with run.progress("learning") as progress:
        for sitting in todo:
            if session:
                memory.start_session()
                tally.sessions += 1
            _learn(memory, sitting, tally, lambda done, _: progress(done, size))
            if session:
                total = _sum(total, memory.consolidate())
                memory.end_session()
    if consolidate and not session:
        with run.progress("consolidating") as progress:
            total = memory.consolidate(progress=progress)
    return total


def _learn(memory: SyncMemory, sitting: Sitting, tally: Tally, progress: Progress) -> None:
    for batch in batched(_lessons(sitting, tally), BATCH):
        result = memory.learn_many([item.lesson or {} for item in batch])
        for learned in result.results:
            tally.created += learned.action == "created"
            tally.duplicates += learned.action == "duplicate"
            tally.reactivated += learned.action == "reactivated"
        for refusal in result.refused:
            place = batch[refusal.position].place
            tally.refuse(place, refusal.code, refusal.detail, refusal.recovery)
        progress(tally.items, 0)


def _lessons(sitting: Sitting, tally: Tally) -> Iterator[Item]:
    """Yield the items that can be tried, and count all."""
    for item in sitting.items:
        tally.items += 1
        tally.undated += item.undated
        if item.refusal is None:
            yield item
        else:
            error = item.refusal
            tally.refuse(item.place, error.code, error.message, error.recovery)
