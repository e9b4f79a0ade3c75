"""Compositions as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import shown
from mnemic.adapters.cli.render.tables import (
    pairs,
    short_id,
    table,
    words,
)
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.results import (
    Calibration,
    ClassicCandidate,
    ComposedNeighbour,
    Composition,
    CompositionLabel,
    CompositionMember,
    Frontier,
    FrontierCandidate,
    plural,
)

NOTHING = "-"
EMPTY = {
    "too-few-blocks": "there are too few blocks",
    "nothing-in-common": "no two blocks have enough in common",
    "all-composed": "all related blocks were composed already",
    "filtered": "no candidate has such a tag",
    "below-floor": "no candidate is worth it",
    "no-such-set": "there is no such set",
}
"""Explanations of ``empty_because``."""


def listed(found: Iterable[Composition]) -> Table:
    """Draw compositions, one to a line."""
    drawn = table("id", "composed", "tool", "members", "labels", "for", right=("members",))
    for each in found:
        drawn.add_row(
            Text(shown(each.id), style="cyan"),
            _day(each.created_at),
            Text(shown(each.tool)),
            str(len({member.block_id for member in each.members})),
            _counted(each.labels),
            Text(shown(each.query or each.output_preview or "")),
        )
    return drawn


def one(found: Composition) -> Iterator[RenderableType]:
    """Draw one composition: its purpose, members and labels."""
    yield Text.assemble((shown(found.id), "cyan"), f"  {_day(found.created_at)}")
    yield pairs(
        (
            ("for", found.query),
            ("came to", found.output_preview),
            ("status", found.status),
            ("confidence", None if found.confidence is None else f"{found.confidence:.2f}"),
            ("tool", found.tool if found.tool == found.mode else f"{found.tool} ({found.mode})"),
            ("consumes", found.consume),
            ("metadata", None if found.metadata is None else str(found.metadata)),
            ("written", f"version {found.version} at {found.hour:.3f} active hours"),
        )
    )
    yield _members(found.members)
    if found.labels:
        yield _labels(found.labels)
    else:
        yield Text("No outcome has been labelled yet.", style="dim")


def neighbours(found: Iterable[ComposedNeighbour]) -> Table:
    """Draw the blocks that a block was composed with."""
    drawn = table("composed with", "times", "last", right=("times",))
    for each in found:
        drawn.add_row(short_id(each.block_id), str(each.composed_count), _day(each.latest_at))
    return drawn


# --- what was never composed ----------------------------------------------------------------


def frontier(found: Frontier, *, explained: bool = False) -> Iterator[RenderableType]:
    """Draw a queue of candidates, and the outcomes of some since."""
    if found.candidates:
        drawn = table("#", "score", "members", "worth asking", right=("#", "score"))
        for rank, each in enumerate(found.candidates, start=1):
            drawn.add_row(
                str(rank), f"{each.score:.3f}", _ends(each), _question(each, explained=explained)
            )
        yield drawn
    else:
        yield Text(f"No candidates: {EMPTY.get(found.empty_because or '', 'no candidate')}.")
    if found.calibration:
        yield Text("Composed since then, with success:", style="cyan")
        yield _calibration(found.calibration)
    seen = f"{plural(found.considered, 'pair')} of {plural(found.blocks, 'block')} · "
    yield Text(
        f"{seen if found.blocks else ''}{found.mode} · version {found.version} at "
        f"{found.hour:.2f} active hours · a queue of questions, not findings",
        style="dim",
    )


def _ends(candidate: FrontierCandidate | ClassicCandidate) -> Text:
    return Text("\n").join(map(short_id, _ids(candidate)))


def _ids(candidate: FrontierCandidate | ClassicCandidate) -> tuple[BlockId, ...]:
    if isinstance(candidate, ClassicCandidate):
        return candidate.first_id, candidate.second_id
    return candidate.block_ids


def _question(
    candidate: FrontierCandidate | ClassicCandidate, *, explained: bool
) -> RenderableType:
    """Draw the members' texts, the reason for the candidate, and the question."""
    previews = (
        (candidate.first_preview, candidate.second_preview)
        if isinstance(candidate, ClassicCandidate)
        else candidate.previews
    )
    lines: list[RenderableType] = [words(preview) for preview in previews]
    lines.append(Text(shown(candidate.composition_question), style="cyan"))
    if explained:
        why = f"{candidate.reason} · {candidate.outcome_signal}"
        lines.append(Text(shown(why), style="dim"))
        lines.append(Text(", ".join(_parts(candidate)), style="dim"))
    return Group(*lines)


def _parts(candidate: FrontierCandidate | ClassicCandidate) -> Iterator[str]:
    """Yield the parts of a score."""
    if isinstance(candidate, ClassicCandidate):
        yield f"bridge {candidate.bridge_score:.3f}"
        yield f"novelty {candidate.novelty_score:.3f}"
        yield f"trust {candidate.trust_score:.3f}"
        yield f"outcomes {candidate.outcome_score_adjustment:+.2f}"
        return
    yield f"{candidate.kind} {candidate.total:.3f}"
    for name, value in candidate.components.items():
        if value:
            yield f"{name} {value:.3f}"
    if candidate.limited_by is not None:
        yield f"at most {candidate.cap:g} by {short(candidate.limited_by)}"


def _calibration(found: Iterable[Calibration]) -> Table:
    drawn = table("rank then", "members", "composition", "labels", right=("rank then",))
    for each in found:
        drawn.add_row(
            "missed" if each.rank is None else str(each.rank),
            Text(" ").join(map(short_id, each.block_ids)),
            Text(shown(each.composition_id), style="cyan"),
            ", ".join(each.labels),
        )
    return drawn


# --- parts ----------------------------------------------------------------------------------


def _members(found: Iterable[CompositionMember]) -> Table:
    drawn = table("#", "role", "id", "trust", "score", "memory", right=("#", "trust", "score"))
    for member in found:
        drawn.add_row(
            str(member.rank),
            member.role,
            short_id(member.block_id),
            NOTHING if member.trust is None else f"{member.trust:.2f}",
            NOTHING if member.score is None else f"{member.score:.3f}",
            words(member.preview),
        )
    return drawn


def _labels(found: Iterable[CompositionLabel]) -> Table:
    drawn = table("label", "id", "by", "set", "confidence", "notes", right=("confidence",))
    for label in found:
        delta = label.confidence_delta
        drawn.add_row(
            label.label,
            Text(label.label_id, style="cyan"),
            Text(shown(label.source)),
            _day(label.labelled_at),
            NOTHING if delta is None else f"{delta:+.2f}",
            Text(shown(label.notes or "")),
        )
    return drawn


def _counted(labels: Iterable[CompositionLabel]) -> str:
    """Return labels in the order in which they were set, repeated ones with their number."""
    counts = Counter(label.label for label in labels)
    shown = (name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
    return ", ".join(shown) or NOTHING


def _day(at: str) -> str:
    return at[:16].replace("T", " ")
