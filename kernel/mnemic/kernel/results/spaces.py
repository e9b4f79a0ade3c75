"""What a space says of itself: sessions, history, status, soundness."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.identity import PolicyId, SessionId, short
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class SessionResult(Result):
    session_id: SessionId
    action: str
    """``started`` or ``ended``."""
    hour: float
    """Active hours at that moment."""

    @property
    def summary(self) -> str:
        return f"Session {short(self.session_id)} {self.action} at {self.hour:.2f} active hours."


@frozen(kw_only=True, str=False)
class Moment(Result):
    """One event behind something, for ``history`` and the log."""

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
        return f"v{self.version} {self.hour:9.3f} h {self.recorded_at} {self.kind} {self.detail}"


@frozen(kw_only=True, str=False)
class Search(Result):
    """How near vectors are found just now."""

    retriever: str
    """What was asked for on opening: ``exact``, ``auto`` or ``ann``."""
    vectors: int = 0
    """Of the embedder in force, those of archived blocks among them."""
    graphs: int = 0
    """How many are asked; 0: every vector is looked at."""
    covered: int = 0
    """Vectors that a graph leads through; the others are looked at one by one."""
    stored: int = 0
    """Graphs that stand in files, asked or not."""
    place: str = "process"
    """Where the vectors are held: in this ``process``, or on the ``server`` of the store."""

    @property
    def summary(self) -> str:
        where = " on the server" if self.place == "server" else ""
        vectors = f"{plural(self.vectors, 'vector')}{where}"
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
    """Of the last event; ISO 8601, UTC."""
    inbox: int = 0
    active: int = 0
    archived: int = 0
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
    """None for views of the past, where every search is exact."""
    exact: bool = True
    """Whether asking again gives the same answer: true for every view but the live one."""
    alerts: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return (
            f"{self.space}: {self.active} active, {self.inbox} in the inbox, "
            f"{self.archived} archived, {plural(self.edges, 'edge')}; "
            f"version {self.version} at {self.hour:.2f} active hours."
        )


@frozen(kw_only=True, str=False)
class Verification(Result):
    """What a walk over the whole log found."""

    events: int
    head: str
    """Chain digest of the last sound event, hex."""
    sound: bool
    first_bad_version: int | None = None
    problem: str | None = None
    payloads: int = 0
    erased_payloads: int = 0

    @property
    def summary(self) -> str:
        if self.sound:
            return f"Sound: {plural(self.events, 'event')}, head {self.head[:16]}."
        return f"Damaged at version {self.first_bad_version}: {self.problem}"
