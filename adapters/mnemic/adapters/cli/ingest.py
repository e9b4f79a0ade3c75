"""The command that learns whole files: sitting by sitting, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import Factory, asdict, define, evolve
from rich.text import Text

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Progress, Run, plain, plural

if TYPE_CHECKING:
    from mnemic.adapters.ingestion import Item, Sitting
    from mnemic.adapters.inprocess import SyncMemory

BATCH = 500
"""Lessons of one transaction: long enough to be fast, short enough for other writers."""
REFUSALS_SHOWN = 20


@define
class Tally:
    """What became of the items of all files."""

    files: int = 0
    sessions: int = 0
    created: int = 0
    reactivated: int = 0
    duplicates: int = 0
    undated: int = 0
    """Dates that could not be read; these blocks are of unknown age."""
    promoted: int = 0
    superseded: int = 0
    near_duplicates: int = 0
    edges_created: int = 0
    version: int = -1
    hour: float = 0.0
    """Active hours after it."""
    refused: list[dict[str, str]] = Factory(list)
    """Place, code, detail and recovery of each item that could not be learned."""

    def count(self, item: Item, action: str) -> None:
        """Note an item that was learned, or known already."""
        self.created += action == "created"
        self.reactivated += action == "reactivated"
        self.duplicates += action == "duplicate"
        self.undated += item.undated and action != "duplicate"

    def refuse(self, place: str, code: str, detail: str, recovery: str) -> None:
        """Note an item that could not be learned."""
        self.refused.append({"place": place, "code": code, "detail": detail, "recovery": recovery})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    @property
    def learned(self) -> str:
        """One line on learning."""
        counts = (
            (self.created, "new"),
            (self.reactivated, "back from the archive"),
            (self.duplicates, "known already"),
            (len(self.refused), "refused"),
            (self.undated, "of unknown age (unreadable dates)"),
        )
        parts = [f"{count} {what}" for count, what in counts if count]
        sat = f" in {plural(self.sessions, 'session')}" if self.sessions else ""
        return f"Learned{sat}: {', '.join(parts) or 'nothing'}."

    @property
    def consolidated(self) -> str:
        """One line on promotion."""
        counts = (
            (self.promoted, f"{self.promoted} promoted"),
            (self.superseded, f"{self.superseded} superseded"),
            (self.near_duplicates, plural(self.near_duplicates, "near-duplicate pair")),
            (self.edges_created, f"{plural(self.edges_created, 'edge')} created"),
        )
        return f"Consolidated: {', '.join(words for count, words in counts if count)}."


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
    sessions = session and consolidate
    with run.memory(making=True) as memory, run.progress("learning") as progress:
        size = sum(sitting.size for sitting in sittings)
        learning = _Learning(memory, progress, size * 2 if consolidate else size)
        for sitting in sittings:
            learning.sit(sitting, session=sessions)
        if consolidate and not sessions:
            learning.consolidate()
        status = memory.status()
    tally = evolve(learning.tally, files=len(paths), version=status.version, hour=status.hour)
    run.show_document(tally.to_dict(), *_drawn(tally))
    return Exit.REFUSED if tally.refused else Exit.OK


class _Learning:
    """The work on one memory, its progress and its tally."""

    def __init__(self, memory: SyncMemory, progress: Progress, steps: int) -> None:
        self.tally = Tally()
        self._memory = memory
        self._progress = progress
        self._steps = steps
        self._done = 0

    def sit(self, sitting: Sitting, *, session: bool) -> None:
        """Learn a sitting, in a session if wanted.

        A session is left open if this fails: it ends at its last event, and ending it here would
        first consolidate everything.
        """
        if session:
            self._memory.start_session()
            self.tally.sessions += 1
        items = iter(sitting.items)
        while batch := list(islice(items, BATCH)):
            self._learn(batch)
        if session:
            self.consolidate()
            self._memory.end_session()

    def _learn(self, batch: list[Item]) -> None:
        tried = [item for item in batch if item.refusal is None]
        result = self._memory.learn_many([item.lesson or {} for item in tried])
        refused = {tried[refusal.position].place: refusal for refusal in result.refused}
        learned = iter(result.results)
        for item in batch:
            if item.refusal is not None:
                error = item.refusal
                self.tally.refuse(item.place, error.code, error.message, error.recovery)
            elif item.place in refused:
                refusal = refused[item.place]
                self.tally.refuse(item.place, refusal.code, refusal.detail, refusal.recovery)
            else:
                self.tally.count(item, next(learned).action)
        self._step(len(batch))

    def consolidate(self) -> None:
        """Promote what waits."""
        before = self._done
        result = self._memory.consolidate(
            progress=lambda done, _: self._step(before + done - self._done)
        )
        tally = self.tally
        tally.promoted += result.promoted
        tally.superseded += result.superseded
        tally.near_duplicates += result.near_duplicates
        tally.edges_created += result.edges_created

    def _step(self, count: int) -> None:
        self._done += count
        self._progress(self._done, max(self._done, self._steps))


def _drawn(tally: Tally) -> Iterator[Text]:
    """Draw what became of everything, refusals first, as far as they fit."""
    for refused in tally.refused[:REFUSALS_SHOWN]:
        place, code, detail = (plain(refused[key]) for key in ("place", "code", "detail"))
        yield Text.assemble((place, "bold"), f" {code}: {detail}")
    if len(tally.refused) > REFUSALS_SHOWN:
        yield Text(f"… and {len(tally.refused) - REFUSALS_SHOWN} more; --json has them all.")
    yield Text(tally.learned)
    if tally.promoted:
        yield Text(tally.consolidated)
