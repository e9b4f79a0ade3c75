"""The command ingest: learns whole files, session by session and batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

from attrs import evolve
from cyclopts import Parameter
from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli.invocation.context import (
    Flag,
    Progress,
    Run,
    plain,
    shown,
)
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.render.ingest import Tally
from mnemic.kernel.errors import BatchRefused

if TYPE_CHECKING:
    from mnemic.adapters.importers import Item, Labels, Sitting
    from mnemic.adapters.inprocess import SyncMemory

BATCH = 500
"""Lessons of one transaction: long enough to be fast, short enough for other writers."""
DRY_RUN_SHOWN = 40
"""Items of a dry run that are shown, and characters of each."""
PLACE_SHOWN = 24
WORDS_SHOWN = 70
DATE_LENGTH = 10

# The same as in the ingestion, which would load slow libraries for every --help.
Format = Literal["lines", "conversations", "messages", "chatlog", "markdown", "text"]
DateOrder = Literal["ymd", "dmy", "mdy"]


def ingest(
    *paths: Path,
    kind: Annotated[Format | None, Parameter(name="--format")] = None,
    conversation: str | None = None,
    thread: str | None = None,
    author: str | None = None,
    category: str | None = None,
    tag: tuple[str, ...] = (),
    created_at: str | None = None,
    date_order: DateOrder | None = None,
    consolidate: bool = True,
    no_session: Flag = False,
    dry_run: Flag = False,
    run: Run,
) -> int:
    """Learn files: Markdown, text, chats, conversations, or JSON lines of memories.

    Markdown and text become blocks of up to 1,000 characters, in order; code and tables stay
    whole. A message of a chat becomes a block of category message. A line of memories is an object
    with content and, optionally, tags, category, author, thread, created_at, source, confidence,
    metadata, expires_at and zone.

    A date that cannot be read counts as unknown; items that cannot be learned are reported with
    their places, the others are learned, and the exit code is 1. Items already known are counted,
    not learned again.

    Active hours come from this machine's clock, not from the dates of what is learned: years of
    letters, ingested in a minute, are a minute of active time.

    Args:
        paths: Files, or folders of .md, .txt, .json and .jsonl; - is standard input.
        kind: What the files are, if their names and beginnings mislead: lines (memories, one per
            line), conversations, messages (JSON with roles or names), chatlog, markdown or text.
        conversation: Learn this one conversation of a file of several; all if not given.
        thread: The conversation or document; the file's name if not given.
        author: The author, where the file does not name one.
        category: The category, where the file does not name one.
        tag: A tag for all items; repeat for more.
        created_at: When it was written, ISO 8601, or unknown, where the file does not say.
        date_order: The order of dates in a chat log, if they are ambiguous: dmy, mdy or ymd.
        consolidate: Promote what was learned. Without it, items wait in the inbox, and no session
            is opened, since a session that ends consolidates.
        no_session: Open no session, so that learning takes no active time. Otherwise one is opened
            per file, or per conversation; or all is learned in that of --session.
        dry_run: Show what would be learned by an empty memory, and learn nothing.
        run: The invocation.
    """
    from mnemic.adapters import importers
    from mnemic.kernel.errors import FieldRefused

    if not paths:
        raise FieldRefused("no file to ingest", recovery="Name one or more files or folders.")
    labels = importers.Labels(
        thread=thread, author=author, category=category, created_at=created_at, tags=tag
    )
    how = importers.Reading(
        format=kind, labels=_checked(labels), date_order=date_order, conversation=conversation
    )
    files = [file for path in paths for file in importers.files(path)]
    sittings = [each for path, short in files for each in importers.read(path, how, called=short)]
    if not sittings:
        raise importers.InputRefused(
            f"nothing to ingest: {', '.join(map(str, paths))} is empty",
            recovery="Name files that are not empty.",
        )
    if dry_run:
        return _dry_run(sittings, len(files), run)
    sessions = consolidate and not no_session and run.session is None
    with run.memory(making=True) as memory, run.progress("learning") as progress:
        size = sum(sitting.size for sitting in sittings)
        learning = _Learning(memory, progress, size * 2 if consolidate else size)
        for sitting in sittings:
            learning.learn(sitting, session=sessions)
        if consolidate and not sessions:
            learning.consolidate()
        status = memory.status()
    tally = evolve(learning.tally, files=len(files), version=status.version, hour=status.hour)
    run.show_document(tally.to_dict(), *tally.drawn())
    return Exit.REFUSED if tally.refused else Exit.OK


def _checked(labels: Labels) -> Labels:
    """Refuse an unreadable date on the command line; one in a file counts as unknown."""
    from mnemic.kernel.decisions.learning import UNDATED
    from mnemic.kernel.timestamps import instant

    if labels.created_at != UNDATED:
        instant("created_at", labels.created_at)
    return labels


# --- a dry run --------------------------------------------------------------------------------


def _dry_run(sittings: Sequence[Sitting], files: int, run: Run) -> int:
    """Learn into a temporary memory, and show the items."""
    from mnemic.adapters.inprocess import SyncMemory

    heard = [evolve(sitting, items=list(sitting.items)) for sitting in sittings]
    with SyncMemory.open(":memory:") as memory:
        learning = _Learning(memory, lambda *_: None, 0)
        for sitting in heard:
            learning.learn(sitting, session=False)
    tally = evolve(learning.tally, files=files)
    items = [item for sitting in heard for item in sitting.items if item.lesson is not None]
    document = {
        "files": files,
        "sittings": len(heard),
        "created": tally.created,
        "duplicates": tally.duplicates,
        "undated": tally.undated,
        "items": [{"place": item.place, **(item.lesson or {})} for item in items],
        "refused": tally.refused,
    }
    run.show_document(document, *_dry_run_items(items, tally))
    return Exit.REFUSED if tally.refused else Exit.OK


def _dry_run_items(items: Sequence[Item], tally: Tally) -> Iterator[RenderableType]:
    from mnemic.adapters.cli.render import tables

    drawn = tables.table("place", "when", "who", "words")
    for item in items[:DRY_RUN_SHOWN]:
        said = {key: shown(str(value)) for key, value in (item.lesson or {}).items()}
        when, who = said.get("created_at", ""), said.get("author", "")
        words = shorten(said["content"], WORDS_SHOWN, placeholder=" …")
        drawn.add_row(
            Text(plain(item.place)[-PLACE_SHOWN:]), when[:DATE_LENGTH], Text(who), Text(words)
        )
    if items:
        yield drawn
    if len(items) > DRY_RUN_SHOWN:
        yield Text(f"… and {len(items) - DRY_RUN_SHOWN} more; --json has them all.")
    yield from tally.refusals()
    yield Text(f"An empty memory would learn: {tally.counts}.")


# --- learning ---------------------------------------------------------------------------------


class _Learning:
    """The ingestion into one memory, with its progress and its counts."""

    def __init__(self, memory: SyncMemory, progress: Progress, steps: int) -> None:
        self.tally = Tally()
        self._memory = memory
        self._progress = progress
        self._steps = steps
        self._done = 0

    def learn(self, sitting: Sitting, *, session: bool) -> None:
        """Learn the items of one sitting, optionally in a session of its own.

        If this fails the session is left open: it ends at its last event, and ending it here would
        first consolidate everything.
        """
        if session:
            self._memory.start_session()
            self.tally.sessions += 1
        items = iter(sitting.items)
        while batch := list(islice(items, BATCH)):
            self._learn_batch(batch)
        if session:
            self.consolidate()
            self._memory.end_session()

    def _learn_batch(self, batch: list[Item]) -> None:
        tried = [item for item in batch if item.refusal is None]
        from mnemic.adapters.inprocess.results import refusals_in
        from mnemic.kernel.results import LearnManyResult, Refusal

        try:
            result = self._memory.learn_many([item.lesson or {} for item in tried])
        except BatchRefused as whole:
            result = LearnManyResult(results=(), refused=refusals_in(whole, Refusal))
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
        tally.superseded += len(result.superseded)
        tally.near_duplicates += result.near_duplicates
        tally.edges_created += result.edges_created

    def _step(self, count: int) -> None:
        self._done += count
        self._progress(self._done, max(self._done, self._steps))
