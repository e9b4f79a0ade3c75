"""Timelines, differences and reverts as drawings for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import plain, plural, shown
from mnemic.adapters.cli.render.tables import (
    BAR_STEPS,
    missing,
    short_id,
    table,
)
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.rendering import labelled

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Block,
        CompositionLabel,
        DiffResult,
        Edge,
        EdgeChange,
        EvidenceChange,
        PolicyStep,
        RevertResult,
        SessionSpan,
        Timeline,
    )

BAR = 16
"""Characters of the longest bar: what 80 columns leave next to hours in the thousands."""
LISTED = 20
"""Blocks or pairs of a revert that are drawn; the JSON contains all of them."""
LENGTH = 60
"""Characters of a block, or of a value of a policy, that one line shows."""

# --- timeline -------------------------------------------------------------------------------


def timeline(result: Timeline) -> Iterator[RenderableType]:
    """Draw a bar per interval of active hours, and the sessions."""
    yield Text(result.summary)
    yield Text(f"{_minute(result.from_at)} to {_minute(result.to_at)} UTC", style="dim")
    most = max(each.events for each in result.bins)
    drawn = table(
        "hours",
        "version",
        "sessions",
        "decisions",
        "events",
        "",
        right=("hours", "version", "sessions", "decisions", "events"),
    )
    for each in result.bins:
        if not each.events:  # the hours show the gap; the JSON contains all bins
            continue
        drawn.add_row(
            interval(each.from_hour, each.to_hour),
            "" if each.from_version is None else str(each.from_version),
            _count(each.kinds.get("session-started", 0)),
            _count(each.kinds.get("recall-recorded", 0)),
            str(each.events),
            Text(bar(each.events, most), style="cyan"),
        )
    yield drawn
    if result.sessions:
        yield sessions(result.sessions)
    if result.next_after is not None:
        yield Text(f"Continue with --after {result.next_after}.", style="dim")


def sessions(spans: Iterable[SessionSpan]) -> Table:
    """Draw sessions, one per line."""
    drawn = table("session", "versions", "hours", "started (UTC)", "events", right=("events",))
    for each in spans:
        drawn.add_row(
            Text(short(each.session_id), style="cyan"),
            f"{each.start_version} - {each.end_version}",
            interval(each.from_hour, each.to_hour),
            _minute(each.started_at),
            f"{each.events}" if each.ended else f"{each.events}, not ended",
        )
    return drawn


def bar(count: int, most: int) -> str:
    """Return a bar for *count*, where *most* fills the width; a bar is never empty."""
    eighths = max(round(8 * BAR * count / most), 1) if count else 0
    return "█" * (eighths // 8) + BAR_STEPS[eighths % 8].strip()


def interval(start: float, end: float) -> str:
    """Return an interval of active hours, with as many digits as distinguish its ends."""
    coarse = [digits for digits in (2, 4) if start == end or end - start >= 10 ** (1 - digits)]
    digits = coarse[0] if coarse else 6
    return f"{start:.{digits}f} - {end:.{digits}f}"


def _minute(instant: str) -> str:
    return instant[:16].replace("T", " ")


def _count(count: int) -> str:
    return str(count) if count else ""


# --- difference -----------------------------------------------------------------------------


def difference(result: DiffResult) -> Iterator[RenderableType]:
    """Draw the differences, one heading per non-empty list."""
    yield Text(f"From {result.before.summary} to {result.after.summary}", style="bold")
    events = sum(result.events.values())
    counts = [
        plural(count, noun)
        for count, noun in (
            (events, "event"),
            (result.sessions, "session"),
            (result.decisions, "decision"),
            (result.outcomes, "outcome"),
        )
    ]
    yield Text(", ".join(counts) + " in between", style="dim")
    for name, lines in (
        ("learned", _blocks(result.learned)),
        ("reactivated", _blocks(result.reactivated)),
        ("promoted", _blocks(result.promoted)),
        ("superseded", _superseded(result.superseded)),
        ("archived", _archived(result.archived)),
        ("quarantined", _blocks(result.quarantined)),
        ("released", _blocks(result.released)),
        ("rezoned", (Text(plain(each.summary)) for each in result.rezoned)),
        ("edges_formed", _edges(result.edges_formed)),
        ("edges_removed", _edges(result.edges_removed)),
        ("edges_changed", _changes(result.edges_changed)),
        ("edges_faded", _changes(result.edges_faded)),
        ("evidence", _evidence(result.evidence)),
        ("compositions", (Text(shown(each)) for each in result.compositions)),
        ("labels_set", _labels(result.labels_set)),
        ("labels_retracted", _labels(result.labels_retracted)),
        ("policies", _policies(result.policies)),
    ):
        yield from _listed(name.replace("_", " ").capitalize(), result.totals[name], lines)
    if result.embedder is not None:
        before, after = (name or "none" for name in result.embedder)
        yield Text.assemble(("Embedder ", "bold"), plain(f"{before} → {after}"))
    if result.embedder is None and not any(result.totals.values()):
        yield Text("There are no differences.")


def _listed(title: str, total: int, lines: Iterable[Text]) -> Iterator[RenderableType]:
    """Draw a heading and the lines below it, unless there are none."""
    if not total:
        return
    yield Text.assemble((title, "bold"), f" {total}")
    shown = [Text.assemble("  ", line) for line in lines]
    yield from shown
    if total > len(shown):
        yield Text(f"  … and {total - len(shown)} more", style="dim")


def _blocks(blocks: Iterable[Block]) -> Iterator[Text]:
    for block in blocks:
        yield Text.assemble(short_id(block.id), " ", _beginning(block))


def _beginning(block: Block) -> str:
    """Return the beginning of a block's text."""
    said = missing(lost=block.lost) if block.content is None else shown(block.content)
    return said if len(said) <= LENGTH else f"{said[: LENGTH - 1]}…"


def _superseded(blocks: Iterable[Block]) -> Iterator[Text]:
    for block, line in zip(blocks, _blocks(blocks), strict=True):
        yield line.append(f" by {short(block.superseded_by or '?')}", style="yellow")


def _archived(blocks: Iterable[Block]) -> Iterator[Text]:
    for block, line in zip(blocks, _blocks(blocks), strict=True):
        reason = "back in use since" if block.archive_reason is None else block.archive_reason
        yield line.append(f" {reason}", style="yellow")


def _pairs(pairs: Iterable[tuple[BlockId, BlockId]]) -> Iterator[Text]:
    for pair in pairs:
        yield Text(" - ").join(map(short_id, pair))


def _edges(edges: Iterable[Edge]) -> Iterator[Text]:
    return (Text(plain(edge.summary)) for edge in edges)


def _changes(changes: Iterable[EdgeChange]) -> Iterator[Text]:
    for each in changes:
        used = each.after.reinforcement_count - each.before.reinforcement_count
        times = f", used {plural(used, 'time')}" if used > 0 else ""
        yield Text(plain(f"{each.summary}{times}"))


def _evidence(changes: Iterable[EvidenceChange]) -> Iterator[Text]:
    return (Text(each.summary) for each in changes)


def _labels(labels: Iterable[CompositionLabel]) -> Iterator[Text]:
    for each in labels:
        yield Text(plain(f"{each.summary} of {labelled(each.composition_id)}"))


def _policies(steps: Iterable[PolicyStep]) -> Iterator[Text]:
    for step in steps:
        yield Text(plain(step.summary))
        for name, (before, after) in step.changes.items():
            yield Text(plain(f"  {name}: {before!s:.{LENGTH}} → {after!s:.{LENGTH}}"))


# --- revert ---------------------------------------------------------------------------------


def reverted(result: RevertResult, look: Callable[[BlockId], Block]) -> Iterator[RenderableType]:
    """Draw what a revert changed, or would change, and what it kept.

    Args:
        result: The result of the revert.
        look: Returns a block by its id.
    """
    yield Text(plain(result.summary))
    back = {*result.restored, *result.strength, *result.evidence, *result.uses}
    for title, blocks in (
        ("Forgotten", result.forgotten),
        ("Put back", sorted(back - {*result.forgotten})),
    ):
        yield from _listed(title, len(blocks), _blocks(map(look, blocks[:LISTED])))
    for title, pairs in (
        ("Edges removed", result.edges_removed),
        ("Edges put back", result.edges_restored),
    ):
        yield from _listed(title, len(pairs), _pairs(pairs[:LISTED]))
    if result.version is not None:
        yield Text(f"Written as version {result.version}; revert that to undo it.", style="dim")
    for conflict in result.conflicts:
        yield Text(f"  {plain(conflict.summary)}", style="yellow")
    if result.kept:
        kept = ", ".join(f"{count} {kind}" for kind, count in result.kept.items())
        yield Text(f"Stays, as history: {kept}", style="dim")
