"""What happened when, and what changed between two points, as results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from mnemic.kernel.identity import BlockId, CompositionId, PolicyId, SessionId, short
from mnemic.kernel.results.blocks import Block
from mnemic.kernel.results.compositions import CompositionLabel
from mnemic.kernel.results.edges import Edge
from mnemic.kernel.results.shape import Result, plural

# --- timeline -------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class TimelineBin(Result):
    """One stretch of active hours, as long as each of the others."""

    from_hour: float
    to_hour: float
    from_version: int | None = None
    """Its first event; None if it has none."""
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
    """Events by kind, by name."""
    bins: tuple[TimelineBin, ...]
    sessions: tuple[SessionSpan, ...]
    """One page, in the order of their starts."""
    sessions_total: int
    next_after: int | None = None
    """Give it as *after* for the next page of sessions; None on the last."""

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
    """Where one side of a comparison stands."""

    version: int
    hour: float
    at: str
    """Ages are evaluated here; ISO 8601, UTC."""

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
        return f"{short(self.block.id)}: {self.before} -> {self.after}"


@frozen(kw_only=True, str=False)
class EdgeChange(Result):
    """One edge at both points; its effective weight is that of each point's hour."""

    before: Edge
    after: Edge

    @property
    def summary(self) -> str:
        return (
            f"{short(self.after.source_id)} -{self.after.relation}-> "
            f"{short(self.after.target_id)}: {self.before.effective_weight:.3f} -> "
            f"{self.after.effective_weight:.3f}"
        )


@frozen(kw_only=True, str=False)
class EvidenceChange(Result):
    """What outcomes said of a block; negative where evidence moved on or was taken back."""

    block_id: BlockId
    gained_for: float
    gained_against: float

    @property
    def summary(self) -> str:
        gained = f"{self.gained_for:+.2f} for, {self.gained_against:+.2f} against"
        return f"{short(self.block_id)}: {gained}"


@frozen(kw_only=True, str=False)
class PolicyStep(Result):
    """A policy that came into force, and what it changed."""

    version: int
    policy_id: PolicyId
    name: str
    changes: Mapping[str, tuple[Any, Any]]
    """Fields with what they were and what they became."""

    @property
    def summary(self) -> str:
        changed = plural(len(self.changes), "field") if self.changes else "the same numbers"
        return f"{self.name} at version {self.version}: {changed}"


@frozen(kw_only=True, str=False)
class DiffResult(Result):
    """What is otherwise at one point than at an earlier one.

    Lists are cut at the limit that was asked for; ``totals`` says how long each is. A block may
    stand in several: one that was learned, promoted and archived in between is among the learned
    and the archived.
    """

    before: DiffPoint
    after: DiffPoint
    events: Mapping[str, int]
    """Events in between, by kind."""
    totals: Mapping[str, int]
    """How many entries each of the lists below would have."""
    learned: tuple[Block, ...] = ()
    """Not known before; in the order of learning, as all blocks here."""
    reactivated: tuple[Block, ...] = ()
    """Known before, and learned again since."""
    promoted: tuple[Block, ...] = ()
    """Active now, and not before."""
    superseded: tuple[Block, ...] = ()
    """Archived now, and not before, since another took their place."""
    archived: tuple[Block, ...] = ()
    """Archived now, and not before, for any other reason."""
    rezoned: tuple[Rezoned, ...] = ()
    edges_formed: tuple[Edge, ...] = ()
    """Stand now, and did not; by the ids of their ends, as all edges here but the faded."""
    edges_removed: tuple[Edge, ...] = ()
    """Stood before, and do not now."""
    edges_changed: tuple[EdgeChange, ...] = ()
    """Used, reinforced, or given another weight, relation, direction or note."""
    edges_faded: tuple[EdgeChange, ...] = ()
    """Lighter by the passing of hours alone; those that lost most come first."""
    evidence: tuple[EvidenceChange, ...] = ()
    compositions: tuple[CompositionId, ...] = ()
    """Composed since, in order."""
    labels_set: tuple[CompositionLabel, ...] = ()
    """Count now, and did not."""
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
        counts = [_told(count, name) for name, count in self.totals.items() if count]
        if self.embedder is not None:
            counts.append("another embedder")
        return (
            f"From {self.before.summary} to {self.after.summary}: "
            f"{', '.join(counts) or 'nothing is otherwise'}."
        )


_ONE = {"edges": "edge", "compositions": "composition", "labels": "label", "policies": "policy"}


def _told(count: int, name: str) -> str:
    """Return how long a list is, in words: ``1 edge formed``."""
    noun, *rest = name.split("_")
    return " ".join((str(count), _ONE.get(noun, noun) if count == 1 else noun, *rest))


# --- revert ---------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class RevertConflict(Result):
    """Something that was left as it is."""

    what: str
    """``life``, ``strength``, ``evidence``, ``uses``, ``edge``, ``pending``, ``barred``, ``label``
    or ``policy``."""
    of: tuple[str, ...]
    """The block, the pair, the label or the policy."""
    why: str
    """``touched``, ``archived``, ``no-room``, ``linked``, ``erased`` or ``no-vector``."""
    version: int | None = None
    """Which later event touched it."""
    detail: str

    @property
    def summary(self) -> str:
        return f"{self.what} of {' and '.join(map(short, self.of))}: {self.detail}"


@frozen(kw_only=True, str=False)
class RevertResult(Result):
    """What a revert put back, and what it left."""

    from_version: int
    to_version: int
    action: str
    """``reverted``, ``dry_run`` (nothing was written) or ``nothing`` (there was nothing to do)."""
    version: int | None = None
    """Of the event; None if none was written."""
    forgotten: tuple[BlockId, ...] = ()
    """Blocks that the stretch learned; archived now."""
    restored: tuple[BlockId, ...] = ()
    """Blocks whose status, tags, zone and the like are what they were."""
    strength: tuple[BlockId, ...] = ()
    """Blocks whose reinforcements and decay are."""
    evidence: tuple[BlockId, ...] = ()
    """Blocks whose outcomes and reviews are."""
    uses: tuple[BlockId, ...] = ()
    """Blocks whose count of retrievals is."""
    edges_removed: tuple[tuple[BlockId, BlockId], ...] = ()
    edges_restored: tuple[tuple[BlockId, BlockId], ...] = ()
    """Edges that are back, or that are what they were."""
    pending_removed: tuple[tuple[BlockId, BlockId], ...] = ()
    pending_restored: tuple[tuple[BlockId, BlockId], ...] = ()
    bars_lifted: tuple[tuple[BlockId, BlockId], ...] = ()
    """Pairs that may get automatic edges again."""
    bars_restored: tuple[tuple[BlockId, BlockId], ...] = ()
    labels_retracted: tuple[str, ...] = ()
    labels_restored: tuple[str, ...] = ()
    policy_id: PolicyId | None = None
    """The policy that is in force again."""
    conflicts: tuple[RevertConflict, ...] = ()
    kept: Mapping[str, int] = field(factory=dict)
    """Events of the stretch that are history and stay, by kind: sessions, decisions, compositions,
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
    """Yield how many went and how many came back, each with its words."""
    yield len(gone), f"{plural(len(gone), noun)} {undone}"
    yield len(back), f"{plural(len(back), noun)} put back"
