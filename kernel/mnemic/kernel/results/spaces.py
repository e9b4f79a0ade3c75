"""Results about a space: sessions, history, status, verification and checkpoints."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import PolicyId, SessionId, short
from mnemic.kernel.rendering import escaped
from mnemic.kernel.results.blocks import ContradictedPair, Replacement
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class SessionResult(Result):
    session_id: SessionId
    action: str
    """``started`` or ``ended``."""
    hour: float
    """Active hours at that time."""
    superseded: tuple[Replacement, ...] = ()
    """Supersessions since the session began; given when it has ended."""
    contradictions: tuple[ContradictedPair, ...] = ()
    """Pairs linked as contradicting each other since the session began."""

    @property
    def summary(self) -> str:
        return f"Session {short(self.session_id)} {self.action} at {self.hour:.2f} active hours."


@frozen(kw_only=True, str=False)
class LogEntry(Result):
    """One event, as listed by ``history`` and the log."""

    version: int
    hour: float
    recorded_at: str
    """ISO 8601, UTC."""
    kind: str
    """Stable name of the event, without its version."""
    actor: str = "agent"
    session_id: SessionId | None = None
    detail: str = ""

    @property
    def summary(self) -> str:
        when = f"v{self.version} {self.hour:9.3f} h {self.recorded_at}"
        return f"{when} {self.kind} {escaped(self.detail)}"


@frozen(kw_only=True, str=False)
class Search(Result):
    """Current state of vector search."""

    retriever: str
    """Method requested on opening: ``exact``, ``auto`` or ``ann``."""
    vectors: int = 0
    """Number of vectors of the current embedder, including those of archived blocks."""
    graphs: int = 0
    """Number of graphs in use; 0: every vector is compared."""
    covered: int = 0
    """Number of vectors in a graph; the others are compared one by one."""
    stored: int = 0
    """Number of graphs stored in files, in use or not."""

    @property
    def summary(self) -> str:
        vectors = plural(self.vectors, "vector")
        if not self.graphs:
            waiting = f"; {plural(self.stored, 'graph')} in files" if self.stored else ""
            return f"exact, over {vectors}{waiting}"
        rest = self.vectors - self.covered
        return (
            f"approximate: {plural(self.graphs, 'graph')} over {self.covered} of {vectors}, "
            f"{rest} exactly"
        )


@frozen(kw_only=True, str=False)
class Status(Result):
    space: str
    version: int
    hour: float
    recorded_at: str | None = None
    """Time of the last event; ISO 8601, UTC."""
    inbox: int = 0
    active: int = 0
    archived: int = 0
    quarantined: int = 0
    edges: int = 0
    pending_connections: int = 0
    near_duplicates: int = 0
    decisions: int = 0
    open_sessions: tuple[SessionId, ...] = ()
    policy: str = ""
    policy_id: PolicyId | None = None
    frames: tuple[str, ...] = ()
    embedder: str | None = None
    search: Search | None = None
    """None for views of the past, in which every search is exact."""
    exact: bool = True
    """Whether the same query always gives the same answer: true for every view but the live one."""
    alerts: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        apart = f"{self.quarantined} quarantined, " if self.quarantined else ""
        return (
            f"{self.space}: {self.active} active, {self.inbox} in the inbox, "
            f"{self.archived} archived, {apart}{plural(self.edges, 'edge')}; "
            f"version {self.version} at {self.hour:.2f} active hours."
        )


@frozen(kw_only=True, str=False)
class Verification(Result):
    """Result of verifying the whole log."""

    events: int
    head: str
    """Chain digest of the last sound event, hex."""
    sound: bool
    first_bad_version: int | None = None
    problem: str | None = None
    too_new: bool = False
    """Whether the log is not damaged there, but written by a newer release."""
    payloads: int = 0
    erased_payloads: int = 0
    lost_payloads: int = 0
    """Texts and vectors that are lost, as the log says since it was salvaged."""
    requests_lost: int = 0
    """Command ids of the log for which the store has no request. The commands stand; sent again,
    they are refused instead of answered."""

    @property
    def summary(self) -> str:
        if self.sound:
            lost = f", {plural(self.lost_payloads, 'payload')} lost" if self.lost_payloads else ""
            sound = f"Sound: {plural(self.events, 'event')}, head {self.head[:16]}{lost}."
            if not self.requests_lost:
                return sound
            return f"{sound} {plural(self.requests_lost, 'command')} cannot be answered again."
        if self.too_new:
            return f"Of a newer release from version {self.first_bad_version}: {self.problem}"
        return f"Damaged at version {self.first_bad_version}: {self.problem}"


@frozen(kw_only=True, str=False)
class Checkpoint(Result):
    """One checkpoint file, and whether a space can be opened from it."""

    name: str
    """Name of the file in the checkpoint folder."""
    state: str
    """``valid``; ``torn``: differs from what was written; ``stale``: the log has diverged, or texts
    were erased since; ``foreign``: of another log; ``other-fold``: of another release."""
    version: int
    """The last version included in it."""
    hour: float | None = None
    """Its active hour; None for a torn file."""
    bytes: int = 0
    """Its size, with the arrays that it names; checkpoints share some of these."""
    release: str | None = None
    """The release that wrote it; None for a torn file."""
    problem: str | None = None
    """Why it is not valid."""

    @property
    def summary(self) -> str:
        at = "" if self.hour is None else f" at {self.hour:.2f} active hours"
        because = f": {self.problem}" if self.problem else ""
        size = f"{self.bytes / 1e6:.2f} MB"
        return f"{self.name}: {self.state}, version {self.version}{at}, {size}{because}."


@frozen(kw_only=True, str=False)
class DropCheckpointsResult(Result):
    """Result of dropping checkpoints."""

    dropped: int

    @property
    def summary(self) -> str:
        return f"Dropped {plural(self.dropped, 'checkpoint')}; opening replays the whole log again."
