"""The command import-from: other memory systems, with their history."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from attrs import evolve
from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Flag, Run, plain, plural
from mnemic.adapters.cli.invocation.failures import Exit

if TYPE_CHECKING:
    from mnemic.adapters.importers.memories import ImportReport
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.kernel.ports import Clock

SHOWN = 20
"""Refusals that are shown, and places of what was left of one kind."""
PLACES_SHOWN = 3


def import_from(
    kind: str,
    path: Path,
    /,
    *,
    mapping: Annotated[tuple[str, ...], Parameter(name="--map")] = (),
    zone: str | None = None,
    consolidate: bool = True,
    dry_run: Flag = False,
    run: Run,
) -> int:
    """Import another memory system, with its history.

    Kinds: mem0, server-memory, langgraph, letta (agent files), memfs (git), claude, chatgpt,
    elfmem, vestige, graphiti, obsidian, okf, csv, jsonl.

    In a new space, events are recorded at the times of the source, so that views of the past reach
    back before mnemic. All events name import-KIND as their actor. The whole source is read before
    anything is written. A second import adds only what is new in the source. What is left out is
    reported; if the memory refuses something, or nothing can be imported, the exit code is 1.

    Args:
        kind: The kind of source.
        path: The file or folder.
        mapping: ARGUMENT=COLUMN, for csv and jsonl: content=text, created_at=day; repeat for more.
        zone: Trust zone of what is imported; imported if not given.
        consolidate: Promote what was imported. Without it, blocks wait in the inbox.
        dry_run: Import into a temporary memory, report, and write nothing.
        run: The invocation.
    """
    from mnemic.adapters.importers.memories import OrderedChanges, import_changes, kind_named
    from mnemic.adapters.importers.memories.changes import Options
    from mnemic.adapters.importers.memories.recorded_times import ImportClock
    from mnemic.kernel.timestamps import instant

    source = kind_named(kind)
    run = evolve(run, actor=run.actor or f"import-{source.name}")
    options = Options(mapping=_mapping(mapping))
    with OrderedChanges() as ordered, run.progress("importing") as progress:
        ordered.fill(source.read(path, options))
        clock = ImportClock(instant("first", ordered.first))
        with _memory(run, clock, dry_run=dry_run) as memory:
            report = import_changes(
                memory, ordered, kind=source.name, clock=clock, zone=zone, progress=progress
            )
            if consolidate and not dry_run:
                clock.move(None)
                memory.consolidate()
                report.version = memory.status().version
    document = {**report.to_dict(), "mapped": source.mapped, "dry_run": bool(dry_run)}
    run.show_document(document, *_drawn(report, source.mapped, dry_run=dry_run))
    nothing = report.left and not report.done
    return Exit.REFUSED if report.refused_count or nothing else Exit.OK


def export_okf(folder: Path, /, *, run: Run) -> int:
    """Write the active blocks as a bundle of the Open Knowledge Format, for people and other tools.

    A block becomes a page of Markdown with its type, title, tags, author and dates, an edge a link.
    The pages contain all texts. History stays in mnemic: to move all of it, see `mnemic export`.

    Args:
        folder: The folder to write; it must not exist.
        run: The invocation.
    """
    from mnemic.adapters.importers.memories.okf_export import write_okf

    with run.looking() as memory:
        count = write_okf(memory, folder)
    pages = Text(f"{plural(count, 'page')} in {folder}.")
    run.show_document({"folder": str(folder), "pages": count}, pages)
    return Exit.OK


def _mapping(given: tuple[str, ...]) -> dict[str, str]:
    from mnemic.kernel.errors import FieldRefused

    pairs = [each.partition("=") for each in given]
    for each, (name, _, column) in zip(given, pairs, strict=True):
        if not name or not column:
            raise FieldRefused(
                f"--map {each} is no pair", recovery="Write --map content=COLUMN.", field="map"
            )
    return {name: column for name, _, column in pairs}


@contextmanager
def _memory(run: Run, clock: Clock, *, dry_run: bool) -> Generator[SyncMemory]:
    """Open the memory that is imported into; for a dry run a temporary one.

    An append waits for no disk: what a power cut takes is imported by the next run.
    """
    from mnemic.adapters.cli.invocation.opening import opened
    from mnemic.adapters.inprocess import SyncMemory

    if dry_run:  # on the disk too: a source may be larger than the memory of this machine
        with (
            TemporaryDirectory(prefix="mnemic-import-") as folder,
            SyncMemory.open(
                Path(folder) / "memory.db", clock=clock, synchronous="normal", checkpoints=False
            ) as memory,
        ):
            yield memory
        return
    with opened(
        run,
        making=True,
        read_only=False,
        asking=False,
        warn=None,
        clock=clock,
        synchronous="normal",
    ) as memory:
        yield memory


def _drawn(report: ImportReport, mapped: str, *, dry_run: bool) -> Iterator[Text]:
    for refused in report.refused[:SHOWN]:
        place, code, detail = (plain(refused[key]) for key in ("place", "code", "detail"))
        yield Text.assemble((place, "bold"), f" {code}: {detail}")
    more = report.refused_count - min(len(report.refused), SHOWN)
    if more > 0:
        yield Text(f"… and {more} more refused; --json has the first {len(report.refused)}.")
    for each in report.left:
        places = ", ".join(map(plain, each["places"][:PLACES_SHOWN]))
        what = f"{each['count']} x {each['what']}, since {each['why']}"
        more_places = ", …" if each["count"] > PLACES_SHOWN else ""
        yield Text(f"Left: {plain(what)} ({places}{more_places}).")
    counts = (
        (report.learned, "learned"),
        (report.revised, "revised"),
        (report.forgotten, "forgotten"),
        (report.connected, "connected"),
        (report.known, "known already"),
        (report.refused_count, "refused"),
    )
    found = ", ".join(f"{count} {what}" for count, what in counts if count) or "nothing"
    yield Text(f"{'A new memory would import' if dry_run else 'Imported'}: {found}. {mapped}")
    if report.first_at is not None:
        yield Text(f"Times of the source: {report.first_at} to {report.last_at}.")
    if report.untimed:
        yield Text(f"Recorded now: {plural(report.untimed, 'change')} without a time.")
    if report.in_future:
        yield Text(f"Recorded now: {plural(report.in_future, 'change')} dated in the future.")
