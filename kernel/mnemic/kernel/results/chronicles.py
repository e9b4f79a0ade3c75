"""Results about history: the timeline, differences between two points, and reverts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from mnemic.kernel.model.identity import (
    BlockId,
    CompositionId,
    PolicyId,
    SessionId,
    short,
)
from mnemic.kernel.rendering import labelled, on_one_line
from mnemic.kernel.results.blocks import Block
from mnemic.kernel.results.compositions import CompositionLabel
from mnemic.kernel.results.edges import Edge
from mnemic.kernel.results.shape import Result, plural

# --- timeline -------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class TimelineBin(Result):
    """One interval of active hours; all bins have the same length."""

    from_hour: float
    to_hour: float
    from_version: int | None = None
    """Version of its first event; None if it has none."""
    to_version: int | None = None
    from_at: str | None = None
    """When the first event was recorded; ISO 8601, UTC."""
    to_at: str | None = None
    events: int = 0
    kinds: Mapping[str, int] = field(factory=dict)
    """Events by kind, by name."""

    @property
    def summary(self) -> str:
        return f"{self.from_hour:.2f} to {self.to_hour:.2f} h: {plural(self.events, 'event')}"


@frozen(kw_only=True, str=False)
class SessionSpan(Result):
    """One session, from its start to its last event."""

    session_id: SessionId
    start_version: int
    end_version: int
    """Of its end, or of its last event while it is open or if it was never ended."""
    ended: bool
    from_hour: float
    to_hour: float
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str
    events: int

    @property
    def summary(self) -> str:
        until = "ended" if self.ended else "not ended"
        return (
            f"session {short(self.session_id)} {self.from_hour:.2f} to {self.to_hour:.2f} h, "
            f"{plural(self.events, 'event')}, {until}"
        )


@frozen(kw_only=True, str=False)
class Timeline(Result):
    """When everything happened: by active hours, by version, by wall clock and by session."""

    version: int
    hour: float
    from_at: str
    """When the first event was recorded; ISO 8601, UTC."""
    to_at: str
    events: int
    kinds: Mapping[str, int]
    """Number of events by kind, sorted by name."""
    bins: tuple[TimelineBin, ...]
    sessions: tuple[SessionSpan, ...]
    """One page, in the order of their starts."""
    sessions_total: int
    next_after: int | None = None
    """Pass as *after* for the next page of sessions; None on the last."""

    @property
    def summary(self) -> str:
        return (
            f"{plural(self.events, 'event')} in {self.hour:.2f} active hours and "
            f"{plural(self.sessions_total, 'session')}, "
            f"{plural(self.kinds.get('recall-recorded', 0), 'decision')}."
        )


# --- difference -----------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class DiffPoint(Result):
    """The point of one side of a comparison."""

    version: int
    hour: float
    at: str
    """Time at which ages are evaluated; ISO 8601, UTC."""

    @property
    def summary(self) -> str:
        return f"version {self.version} at {self.hour:.2f} h"


@frozen(kw_only=True, str=False)
class Rezoned(Result):
    block: Block
    before: str
    after: str

    @property
    def summary(self) -> str:
        zones = f"{labelled(self.before)} -> {labelled(self.after)}"
        return f"{short(self.block.id)}: {zones}"


@frozen(kw_only=True, str=False)
class EdgeChange(Result):
    """One edge at both points, with the effective weight at each point's hour."""

    before: Edge
    after: Edge

    @property
    def summary(self) -> str:
        return (
            f"{short(self.after.source_id)} -{labelled(self.after.relation)}-> "
            f"{short(self.after.target_id)}: {self.before.effective_weight:.3f} -> "
            f"{self.after.effective_weight:.3f}"
        )


@frozen(kw_only=True, str=False)
class EvidenceChange(Result):
    """Change in the evidence of a block; negative if evidence was moved or reverted."""

    block_id: BlockId
    gained_for: float
    gained_against: float

    @property
    def summary(self) -> str:
        gained = f"{self.gained_for:+.2f} for, {self.gained_against:+.2f} against"
        return f"{short(self.block_id)}: {gained}"


@frozen(kw_only=True, str=False)
class PolicyStep(Result):
    """A newly adopted policy, and what it changed."""

    version: int
    policy_id: PolicyId
    name: str
    changes: Mapping[str, tuple[Any, Any]]
    """Changed fields with their old and new values."""

    @property
    def summary(self) -> str:
        changed = plural(len(self.changes), "field") if self.changes else "the same numbers"
        return f"{labelled(self.name)} at version {self.version}: {changed}"


@frozen(kw_only=True, str=False)
class DiffResult(Result):
    """The differences between two points of the log.

    Lists are cut at the requested limit; ``totals`` has the full length of each. A block may be in
    several lists: one that was learned, promoted and archived in between is among the learned and
    the archived.
    """

    before: DiffPoint
    after: DiffPoint
    events: Mapping[str, int]
    """Number of events in between, by kind."""
    totals: Mapping[str, int]
    """Full length of each of the lists below."""
    learned: tuple[Block, ...] = ()
    """Not known before; in the order of learning, as all blocks here."""
    reactivated: tuple[Block, ...] = ()
    """Known before, and learned again since."""
    promoted: tuple[Block, ...] = ()
    """Active now, and not before."""
    superseded: tuple[Block, ...] = ()
    """Archived now, and not before, since they were superseded."""
    archived: tuple[Block, ...] = ()
    """Archived now, and not before, for any other reason."""
    rezoned: tuple[Rezoned, ...] = ()
    quarantined: tuple[Block, ...] = ()
    """In quarantine now, and not before."""
    released: tuple[Block, ...] = ()
    """In quarantine before, and not now."""
    edges_formed: tuple[Edge, ...] = ()
    """Exist now, and did not before; by the ids of their ends, as all edges here but the faded."""
    edges_removed: tuple[Edge, ...] = ()
    """Existed before, and do not now."""
    edges_changed: tuple[EdgeChange, ...] = ()
    """Used, reinforced, or given another weight, relation, direction or note."""
    edges_faded: tuple[EdgeChange, ...] = ()
    """Lost weight by decay alone; largest loss first."""
    evidence: tuple[EvidenceChange, ...] = ()
    compositions: tuple[CompositionId, ...] = ()
    """Composed since, in order."""
    labels_set: tuple[CompositionLabel, ...] = ()
    """Count now, and did not before."""
    labels_retracted: tuple[CompositionLabel, ...] = ()
    """Counted before, and do not now."""
    policies: tuple[PolicyStep, ...] = ()
    embedder: tuple[str | None, str | None] | None = None
    """Before and after; None if it is the same."""

    @property
    def sessions(self) -> int:
        """How many sessions were started in between."""
        return self.events.get("session-started", 0)

    @property
    def decisions(self) -> int:
        """How many recalls were recorded in between."""
        return self.events.get("recall-recorded", 0)

    @property
    def outcomes(self) -> int:
        """How many outcomes were reported in between."""
        return self.events.get("outcome-recorded", 0)

    @property
    def summary(self) -> str:
        counts = [_counted(count, name) for name, count in self.totals.items() if count]
        if self.embedder is not None:
            counts.append("another embedder")
        return (
            f"From {self.before.summary} to {self.after.summary}: "
            f"{', '.join(counts) or 'nothing changed'}."
        )


_ONE = {"edges": "edge", "compositions": "composition", "labels": "label", "policies": "policy"}


def _counted(count: int, name: str) -> str:
    """Return how long a list is, in words: ``1 edge formed``."""
    noun, *rest = name.split("_")
    return " ".join((str(count), _ONE.get(noun, noun) if count == 1 else noun, *rest))


# --- revert ---------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class RevertConflict(Result):
    """Something that a revert left unchanged."""

    what: str
    """``life``, ``strength``, ``evidence``, ``reviews``, ``uses``, ``edge``, ``pending``,
    ``barred``, ``label`` or ``policy``."""
    of: tuple[str, ...]
    """The block, the pair, the label or the policy."""
    why: str
    """``touched``, ``archived``, ``no-room``, ``linked``, ``erased`` or ``no-vector``."""
    version: int | None = None
    """Version of the later event that touched it."""
    detail: str

    @property
    def summary(self) -> str:
        return f"{self.what} of {' and '.join(map(short, self.of))}: {on_one_line(self.detail)}"


@frozen(kw_only=True, str=False)
class RevertResult(Result):
    """Result of a revert: what it restored, and what it left unchanged."""

    from_version: int
    to_version: int
    action: str
    """``reverted``, ``dry_run`` (nothing was written) or ``nothing`` (there was nothing to do)."""
    version: int | None = None
    """Version of the event; None if none was written."""
    forgotten: tuple[BlockId, ...] = ()
    """Blocks that were learned in the range; archived now."""
    restored: tuple[BlockId, ...] = ()
    """Blocks whose status, tags, zone and the like are restored."""
    strength: tuple[BlockId, ...] = ()
    """Blocks whose reinforcements and decay are restored."""
    evidence: tuple[BlockId, ...] = ()
    """Blocks whose outcomes and reviews are restored."""
    uses: tuple[BlockId, ...] = ()
    """Blocks whose retrieval counts are restored."""
    edges_removed: tuple[tuple[BlockId, BlockId], ...] = ()
    edges_restored: tuple[tuple[BlockId, BlockId], ...] = ()
    """Edges that exist again, or whose values are restored."""
    pending_removed: tuple[tuple[BlockId, BlockId], ...] = ()
    pending_restored: tuple[tuple[BlockId, BlockId], ...] = ()
    bars_lifted: tuple[tuple[BlockId, BlockId], ...] = ()
    """Pairs that may get automatic edges again."""
    bars_restored: tuple[tuple[BlockId, BlockId], ...] = ()
    labels_retracted: tuple[str, ...] = ()
    labels_restored: tuple[str, ...] = ()
    policy_id: PolicyId | None = None
    """The policy that is restored."""
    withdrawn: tuple[BlockId, ...] = ()
    """Blocks from which evidence and retrievals were subtracted that others had added to since."""
    conflicts: tuple[RevertConflict, ...] = ()
    kept: Mapping[str, int] = field(factory=dict)
    """Events of the range that are history and stay, by kind: sessions, decisions, compositions,
    adoptions of an embedder, erasures."""

    @property
    def summary(self) -> str:
        stretch = f"versions {self.from_version} to {self.to_version}"
        left = f" {plural(len(self.conflicts), 'conflict')}." if self.conflicts else ""
        if self.action == "nothing":
            return f"Nothing to revert in {stretch}.{left}"
        blocks = {*self.restored, *self.strength, *self.evidence, *self.uses} - {*self.forgotten}
        waiting = len(self.pending_removed) + len(self.pending_restored)
        bars = len(self.bars_lifted) + len(self.bars_restored)
        parts = [
            words
            for count, words in (
                (len(self.forgotten), f"{plural(len(self.forgotten), 'block')} forgotten"),
                (len(blocks), f"{plural(len(blocks), 'block')} put back"),
                (len(self.withdrawn), f"{plural(len(self.withdrawn), 'block')} corrected"),
                *_both("edge", "removed", self.edges_removed, self.edges_restored),
                (waiting, f"{plural(waiting, 'pending connection')} put back"),
                (bars, f"{plural(bars, 'bar')} put back"),
                *_both("label", "retracted", self.labels_retracted, self.labels_restored),
                (self.policy_id is not None, "the policy put back"),
            )
            if count
        ]
        did = "Would revert" if self.action == "dry_run" else "Reverted"
        return f"{did} {stretch}: {', '.join(parts)}.{left}"


def _both(
    noun: str, undone: str, gone: Sequence[object], back: Sequence[object]
) -> Iterator[tuple[int, str]]:
    """Yield the numbers of removed and restored items, each with its text."""
    yield len(gone), f"{plural(len(gone), noun)} {undone}"
    yield len(back), f"{plural(len(back), noun)} put back"
