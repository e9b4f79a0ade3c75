"""The command that learns whole files: sitting by sitting, batch by batch."""

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

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Progress, Run, plain
from mnemic.adapters.cli.tally import Tally

if TYPE_CHECKING:
    from mnemic.adapters.ingestion import Item, Labels, Sitting
    from mnemic.adapters.inprocess import SyncMemory

BATCH = 500
"""Lessons of one transaction: long enough to be fast, short enough for other writers."""
REHEARSED_SHOWN = 40
"""Items of a dry run, and how much of each."""
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
    with content and, if you like, tags, category, author, thread, created_at, source, confidence,
    metadata, expires_at and zone.

    A date that cannot be read counts as unknown; what cannot be learned is reported with its
    place, the rest goes on, and the exit code is 1. What is known already is counted, not learned
    again.

    Active hours come from this machine's clock, not from the dates of what is learned: years of
    letters, ingested in a minute, are a minute of active time.

    Args:
        paths: Files, or folders of .md, .txt, .json and .jsonl; - is standard input.
        kind: What the files are, if their names and beginnings mislead: lines (memories, one per
            line), conversations, messages (JSON with roles or names), chatlog, markdown or text.
        conversation: Learn this one conversation of a file of several; all if not given.
        thread: Which conversation or document this is; the file's name if not given.
        author: Who wrote it, where the file does not say.
        category: What kind of thing it is, where the file does not say.
        tag: A label for all of it; repeat for more.
        created_at: When it was written, ISO 8601, or unknown, where the file does not say.
        date_order: How a chat log writes its dates, if they leave it open: dmy, mdy or ymd.
        consolidate: Promote what was learned. Without, it waits in the inbox, and no session is
            opened, since a session that ends consolidates.
        no_session: Open no session, so that learning takes no active time. Otherwise one is opened
            per file, or per conversation; or all is learned in that of --session.
        dry_run: Show what would be learned by an empty memory, and learn nothing.
        run: This invocation.
    """
    from mnemic.adapters import ingestion
    from mnemic.kernel.errors import FieldRefused

    if not paths:
        raise FieldRefused("no file to ingest", recovery="Name one or more files or folders.")
    labels = ingestion.Labels(
        thread=thread, author=author, category=category, created_at=created_at, tags=tag
    )
    how = ingestion.Reading(
        format=kind, labels=_checked(labels), date_order=date_order, conversation=conversation
    )
    files = [file for path in paths for file in ingestion.files(path)]
    sittings = [each for path, short in files for each in ingestion.read(path, how, called=short)]
    if not sittings:
        raise ingestion.InputRefused(
            f"nothing to ingest: {', '.join(map(str, paths))} is empty",
            recovery="Name files that hold something.",
        )
    if dry_run:
        return _rehearse(sittings, len(files), run)
    sessions = consolidate and not no_session and run.session is None
    with run.memory(making=True) as memory, run.progress("learning") as progress:
        size = sum(sitting.size for sitting in sittings)
        learning = _Learning(memory, progress, size * 2 if consolidate else size)
        for sitting in sittings:
            learning.sit(sitting, session=sessions)
        if consolidate and not sessions:
            learning.consolidate()
        status = memory.status()
    tally = evolve(learning.tally, files=len(files), version=status.version, hour=status.hour)
    run.show_document(tally.to_dict(), *tally.drawn())
    return Exit.REFUSED if tally.refused else Exit.OK


def _checked(labels: Labels) -> Labels:
    """Refuse a date of the command line that cannot be read; one of a file counts as unknown."""
    from mnemic.kernel.decisions.learning import UNDATED, instant

    if labels.created_at != UNDATED:
        instant("created_at", labels.created_at)
    return labels


# --- a dry run --------------------------------------------------------------------------------


def _rehearse(sittings: Sequence[Sitting], files: int, run: Run) -> int:
    """Learn into a memory that is thrown away, and show what it was given."""
    from mnemic.adapters.inprocess import SyncMemory

    heard = [evolve(sitting, items=list(sitting.items)) for sitting in sittings]
    with SyncMemory.open(":memory:") as memory:
        learning = _Learning(memory, lambda *_: None, 0)
        for sitting in heard:
            learning.sit(sitting, session=False)
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
    run.show_document(document, *_rehearsed(items, tally))
    return Exit.REFUSED if tally.refused else Exit.OK


def _rehearsed(items: Sequence[Item], tally: Tally) -> Iterator[RenderableType]:
    from mnemic.adapters.cli import drawings

    drawn = drawings.table("place", "when", "who", "words")
    for item in items[:REHEARSED_SHOWN]:
        said = {key: plain(str(value)) for key, value in (item.lesson or {}).items()}
        when, who = said.get("created_at", ""), said.get("author", "")
        words = shorten(said["content"], WORDS_SHOWN, placeholder=" …")
        drawn.add_row(
            Text(plain(item.place)[-PLACE_SHOWN:]), when[:DATE_LENGTH], Text(who), Text(words)
        )
    if items:
        yield drawn
    if len(items) > REHEARSED_SHOWN:
        yield Text(f"… and {len(items) - REHEARSED_SHOWN} more; --json has them all.")
    yield from tally.refusals()
    yield Text(f"An empty memory would learn: {tally.counts}.")


# --- learning ---------------------------------------------------------------------------------


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
