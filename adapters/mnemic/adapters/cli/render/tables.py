"""Results as tables and lines for a terminal. Colour never carries information by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import plain, shown
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.model.texts import ERASED, LOST, placeholder
from mnemic.kernel.rendering import TRUSTED, labelled, quoting
from mnemic.kernel.results import plural

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Block,
        Checkpoint,
        ConnectByQueryResult,
        Contribution,
        Difference,
        Dropped,
        Edge,
        Explanation,
        LogEntry,
        NearMiss,
        Page,
        RecallResult,
        ReferencedBlock,
        ScoredBlock,
        Status,
        SuggestedConnection,
    )

BAR_LENGTH = 16
"""Cells of the bar for a contribution of the largest weight."""
DROPPED_SHOWN = 3
BYTES_PER_MB = 1_000_000
BAR_STEPS = " ▏▎▍▌▋▊▉█"


def short_id(block: BlockId) -> Text:
    """Return the first 8 characters of an id, which commands also accept."""
    return Text(short(block), style="cyan", no_wrap=True)


def missing(*, lost: bool) -> str:
    """Return what is shown in place of the text of a block that was erased, or is lost."""
    return placeholder(LOST if lost else ERASED)


def words(content: str | None, *, lost: bool = False) -> Text:
    """Return the text of a block, safe to print."""
    return Text(missing(lost=lost), style="dim") if content is None else Text(shown(content))


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """Return an empty table; the last column takes the remaining width.

    Args:
        columns: Headings.
        right: The headings of columns that hold numbers, aligned to the right.
    """
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        drawn.add_column(
            column,
            justify="right" if column in right else "left",
            ratio=1 if column == columns[-1] else None,
            no_wrap=column != columns[-1],
        )
    return drawn


# --- recall ---------------------------------------------------------------------------------


def recalled(result: RecallResult, *, explained: bool = False) -> Iterator[RenderableType]:
    """Draw an answer: rank, id, score and text; with reasons if *explained*."""
    if not result.blocks:
        yield Text("Nothing in memory bears on this.")
    else:
        if result.verdict == "no":
            yield Text("Nothing in memory bears on this. What comes closest:", style="yellow")
        yield _ranking(result.blocks, explained=explained)
    if result.counterpoints:
        yield Text("But these contradict the blocks above:", style="yellow")
        yield _points(result.counterpoints)
    if explained and result.dropped:
        yield _left_out(result.dropped)
    if result.suggested_connections:
        yield Text("Worth connecting:", style="cyan")
        yield _suggested(result.suggested_connections)
    yield _footer(result)


def _suggested(found: Iterable[SuggestedConnection]) -> RenderableType:
    drawn = Table(box=None, pad_edge=False, show_header=False)
    for each in found:
        drawn.add_row(
            short_id(each.source_id),
            short_id(each.target_id),
            Text(labelled(each.suggested_relation)),
            f"{each.confidence:.2f}",
            Text(shown(each.reason), style="dim"),
        )
    return Padding(drawn, (0, 0, 0, 2))


def _ranking(blocks: Iterable[ScoredBlock], *, explained: bool) -> Table:
    drawn = table("#", "id", "score", "memory", right=("#", "score"))
    for rank, block in enumerate(blocks, start=1):
        about = Text(said(block, block.tags), style="dim")
        lines: list[RenderableType] = [words(block.content), about]
        if explained:
            lines += reasons(block)
        drawn.add_row(str(rank), short_id(block.id), f"{block.composite_score:.3f}", Group(*lines))
    return drawn


def said(block: Block | ScoredBlock | ReferencedBlock, tags: Iterable[str] = ()) -> str:
    """Return who wrote a text, unless it is trusted, and its author, date and tags on one line."""
    day = None if block.created_at is None else block.created_at[:10]
    parts = (written(block), day, shown(", ".join(tags)))
    return " · ".join(part for part in parts if part) or "no date, no tags"


def written(block: Block | ScoredBlock | ReferencedBlock) -> str:
    """Return the author of a text; below trusted the zone and who wrote it, and what it claims."""
    author = "" if block.author is None else labelled(block.author)
    if block.zone == TRUSTED:
        return author
    claims = f", claims {author}" if author else ""
    return f"{labelled(block.zone)}, written by {labelled(block.actor)}{claims}"


def reasons(block: ScoredBlock) -> Iterator[RenderableType]:
    """Draw the contribution of each signal to a score, and the parts of the relevance."""
    yield contributions(block.contributions)
    yield Text(_made_of(block.relevance_parts), style="dim")
    if block.was_expanded and block.expanded_via is not None:
        yield Text(f"found through its edge to {short(block.expanded_via)}", style="dim")


def contributions(found: Sequence[Contribution]) -> Table:
    """Draw the contribution of each signal to a score, as bars on one scale."""
    most = max((reason.weight for reason in found), default=1.0)
    drawn = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    for reason in found:
        drawn.add_row(
            reason.signal,
            Text(bar(reason, most), style="green", no_wrap=True),
            f"{reason.contribution:.3f}",
            Text(f"= {reason.value:.3f} × {reason.weight:.2f}", style="dim", no_wrap=True),
        )
    return drawn


def _made_of(parts: Sequence[Contribution]) -> str:
    if not parts:
        return "no question, no relevance"
    shown = ", ".join(f"{part.signal} {part.value:.2f}" for part in parts if part.value)
    return f"relevance of: {shown or 'nothing that matches'}"


def explained(result: Explanation) -> Iterator[RenderableType]:
    """Draw a past decision block by block, each with its signals, its edge and its history."""
    drawn = table("#", "of", "id", "score", "why", right=("#", "of", "score"))
    for block in result.blocks:
        why: list[RenderableType] = [words(block.content), contributions(block.contributions)]
        why.append(Text(_made_of(block.relevance_parts), style="dim"))
        if block.guaranteed:
            why.append(Text("the frame always includes it", style="dim"))
        if block.edge is not None:
            why.append(Text(f"found through {block.edge.summary}", style="dim"))
        why += [Text(plain(moment.summary), style="dim") for moment in block.history]
        among = "?" if block.candidate_rank is None else str(block.candidate_rank)
        drawn.add_row(
            str(block.rank), among, short_id(block.block_id), f"{block.score:.3f}", Group(*why)
        )
    yield drawn
    if result.missed:
        yield Text("Just missed:")
        yield _near_misses(result.missed)


def _near_misses(missed: Iterable[NearMiss]) -> Table:
    drawn = table(
        "of", "id", "score", "short by", "reason", "memory", right=("of", "score", "short by")
    )
    for each in missed:
        margin = "-" if each.margin is None else f"{each.margin:.3f}"
        drawn.add_row(
            str(each.rank),
            short_id(each.block_id),
            f"{each.score:.3f}",
            margin,
            each.reason,
            Text(shown(each.content), no_wrap=True, overflow="ellipsis"),
        )
    return drawn


def bar(reason: Contribution, most: float) -> str:
    """Return a bar proportional to a contribution; *most* fills the width."""
    steps = len(BAR_STEPS) - 1
    eighths = round(reason.contribution / most * BAR_LENGTH * steps)
    full, rest = divmod(eighths, steps)
    return (BAR_STEPS[-1] * full + BAR_STEPS[rest].strip()).ljust(BAR_LENGTH)


def _points(blocks: Iterable[Block]) -> RenderableType:
    drawn = Table(box=None, pad_edge=False, show_header=False)
    for block in blocks:
        by = Text(written(block), style="dim")
        drawn.add_row(
            short_id(block.id), Group(words(block.content, lost=block.lost), *([by] if by else []))
        )
    return Padding(drawn, (0, 0, 0, 2))


def _left_out(dropped: Sequence[Dropped]) -> Text:
    shown = [
        f"{short(each.id)} {'' if each.score is None else f'{each.score:.3f} '}({each.reason})"
        for each in dropped
    ]
    more = f", and {len(shown) - DROPPED_SHOWN} more" if len(shown) > DROPPED_SHOWN else ""
    return Text(f"Left out: {', '.join(shown[:DROPPED_SHOWN])}{more}", style="dim")


def _footer(result: RecallResult) -> Text:
    return Text(
        f"{result.decision_id or 'not recorded'} · {result.frame} · version {result.version} at "
        f"{result.hour:.2f} active hours · {result.tokens} of {result.token_budget} tokens"
        f"{_verdict(result)}"
        f"{' · near vectors by approximate search' if result.retriever == 'ann' else ''}",
        style="dim",
    )


def _verdict(result: RecallResult) -> str:
    if result.answerable is None:
        return ""
    return f" · answerable: {result.verdict}, {result.answerable:.2f}"


def differences(found: Iterable[Difference]) -> Table:
    """Draw the differences between a replay and its record."""
    drawn = table("block", "change", "recorded", "score", "replayed", "score now")
    for each in found:
        drawn.add_row(
            short(each.block_id),
            each.change,
            *_place(each.recorded_rank, each.recorded_score),
            *_place(each.replayed_rank, each.replayed_score),
        )
    return drawn


def _place(rank: int | None, score: float | None) -> tuple[str, str]:
    return ("-" if rank is None else f"#{rank}", "-" if score is None else f"{score:.9f}")


# --- blocks and edges -----------------------------------------------------------------------


def page(result: Page) -> Iterator[RenderableType]:
    """Draw a page of blocks."""
    drawn = table(
        "id", "status", "category", "used", "recency", "memory", right=("used", "recency")
    )
    for block in result.items:
        drawn.add_row(
            short_id(block.id),
            status_of(block),
            Text(shown(block.category)),
            str(block.retrievals),
            f"{block.recency:.2f}",
            words(block.content, lost=block.lost),
        )
    yield drawn
    yield Text(result.summary, style="dim")
    if result.next_after is not None:
        yield Text(f"Continue with --after {result.next_after}.", style="dim")


def status_of(block: Block) -> str:
    """Return a block's status, with the reason if it is archived."""
    return block.status if block.archive_reason is None else block.archive_reason


def facts(block: Block) -> Iterator[RenderableType]:
    """Draw one block with all its fields."""
    yield Text.assemble((block.id, "cyan"), f"  {status_of(block)}")
    yield Padding(words(block.content, lost=block.lost), (0, 0, 0, 2))
    if block.superseded_by is not None:
        yield Text(f"superseded by {block.superseded_by}", style="yellow")
    yield pairs(
        (
            ("tags", ", ".join(block.tags)),
            ("category", block.category),
            ("author", block.author),
            ("thread", block.thread),
            ("created", block.created_at),
            ("expires", block.expires_at),
            ("holds", _period(block)),
            ("metadata", None if block.metadata is None else str(dict(block.metadata))),
            ("summary", block.summary_text),
            ("source", f"{block.source} ({block.zone})"),
            ("written by", block.actor),
            ("confidence", f"{block.confidence:.2f}"),
            ("usefulness", f"{block.usefulness:.3f} on evidence {block.evidence:.2f}"),
            ("recency", f"{block.recency:.3f} at {block.decay_rate:g} per active hour"),
            ("use", f"{plural(block.retrievals, 'retrieval')}, {block.reinforcements} reinforced"),
            ("learned", f"version {block.learned_version}"),
        )
    )


def _period(block: Block) -> str | None:
    ends = (("from", block.valid_from), ("until", block.valid_until))
    said = " ".join(f"{name} {when}" for name, when in ends if when is not None)
    return said and f"{said} ({block.validity})"


def pairs(rows: Iterable[tuple[str, str | None]]) -> RenderableType:
    """Draw names and values; names without a value are left out."""
    drawn = Table(box=None, pad_edge=False, show_header=False)
    drawn.add_column(style="bold", no_wrap=True)
    for name, value in rows:
        if value:
            drawn.add_row(name, Text(shown(value)))
    return drawn


def edges(found: Iterable[Edge], of: BlockId) -> Table:
    """Draw the edges of the block *of*."""
    drawn = table(
        "edge", "with", "weight", "now", "origin", "used", "note", right=("weight", "now", "used")
    )
    for edge in found:
        outward = edge.source_id == of
        drawn.add_row(
            Text(f"{_relation(edge)} →" if outward else f"← {_relation(edge)}"),
            short_id(edge.target_id if outward else edge.source_id),
            f"{edge.weight:.2f}",
            f"{edge.effective_weight:.2f}",
            edge.origin,
            str(edge.reinforcement_count),
            Text(shown(edge.note or "")),
        )
    return drawn


def _relation(edge: Edge) -> str:
    return labelled(edge.relation)


def found(result: ConnectByQueryResult) -> Iterator[RenderableType]:
    """Draw the matches of two queries, in full, and whether they were connected."""
    for end, block, content, confidence in (
        ("source", result.source_id, result.source_content, result.source_confidence),
        ("target", result.target_id, result.target_content, result.target_confidence),
    ):
        if block is not None:
            yield Text.assemble((end, "bold"), " ", short_id(block), f" {confidence:.2f}")
            yield Padding(words(content), (0, 0, 0, 2))
    if result.connect_result is not None:
        yield Text(plain(result.connect_result.summary))
    elif result.reason is not None:
        yield Text(plain(f"Not connected: {quoting(result.reason)}."), style="yellow")
    else:
        yield Text("Nothing was written.", style="dim")


# --- the space and its log ------------------------------------------------------------------


def status(result: Status) -> Iterator[RenderableType]:
    """Draw the counts of a space, its clock, and what is in force."""
    counts = f"{result.active} active, {result.inbox} in the inbox, {result.archived} archived"
    if result.quarantined:
        counts += f", {result.quarantined} quarantined"
    waiting = f", {result.pending_connections} pending" if result.pending_connections else ""
    yield pairs(
        (
            ("space", result.space),
            ("blocks", counts),
            ("edges", f"{result.edges}{waiting}"),
            ("near-duplicates", str(result.near_duplicates) if result.near_duplicates else None),
            ("decisions", str(result.decisions)),
            ("version", f"{result.version}, last written {result.recorded_at or 'never'}"),
            ("clock", f"{result.hour:.3f} active hours"),
            (
                "sessions",
                ", ".join(result.open_sessions) and f"open: {', '.join(result.open_sessions)}",
            ),
            ("policy", f"{result.policy} ({result.policy_id})"),
            ("frames", ", ".join(result.frames)),
            ("embedder", result.embedder or "none yet"),
            ("search", None if result.search is None else result.search.summary),
        )
    )
    for alert in result.alerts:
        yield Text(plain(alert), style="yellow")


def checkpoints(found: Sequence[Checkpoint]) -> RenderableType:
    """Draw the checkpoints of a space, valid and invalid."""
    if not found:
        return Text("No checkpoints.", style="dim")
    drawn = table("version", "hour", "size", "state", "release", "", right=("version", "size"))
    for each in found:
        drawn.add_row(
            str(each.version),
            "" if each.hour is None else f"{each.hour:.3f}",
            f"{each.bytes / BYTES_PER_MB:.2f} MB",
            Text(each.state, style="green" if each.state == "valid" else "yellow"),
            each.release or "",
            Text(shown(each.problem or each.name), style="dim"),
        )
    return drawn


def log(moments: Iterable[LogEntry]) -> Table:
    """Draw events, in order."""
    drawn = table("version", "hour", "recorded", "event", "", right=("version", "hour"))
    for each in moments:
        drawn.add_row(
            str(each.version),
            f"{each.hour:.3f}",
            each.recorded_at[:19].replace("T", " "),
            each.kind,
            Text(shown(each.detail), no_wrap=True, overflow="ellipsis"),
        )
    return drawn
