"""The operation ``connect_by_query``: matches two queries with two blocks and connects these.

Text and vectors are compared without the log's write lock; the append verifies that the state is
unchanged. The matches and their confidences are in the event, so that a repeated command is
answered from the log, without any model.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import asdict, evolve, frozen

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.engine.embedding import embed, embedder_of
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.results import connect_result
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.connecting import Assertion, decide_connect, terms
from mnemic.kernel.decisions.space import check_embedder
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import EdgeConnected, EdgeDeferred, EmbedderIdentity, Matched
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.model.texts import Erased
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConnectByQueryResult, ConnectResult, Origin, unit
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value
from mnemic.projections.retrieval import matching
from mnemic.projections.retrieval.filters import Eligibility
from mnemic.projections.retrieval.matching import Match, best_match
from mnemic.projections.retrieval.request import QUERY_LENGTH_MAX, within_scope
from mnemic.projections.view import View, as_of
from mnemic.projections.view.block_results import origin_of

FRAME = "attention"
"""Default frame of a query: all active blocks."""


@frozen(kw_only=True)
class Request(Value):
    """A request to connect two blocks described by queries."""

    source_query: str
    target_query: str
    relation: str | None = None
    weight: float | None = None
    note: str | None = None
    if_exists: str = "reinforce"
    frame: str | None = None
    min_confidence: float = 0.70
    dry_run: bool = False
    scope: Mapping[str, str] | None = None
    """Match only blocks of this scope."""

    def checked(self) -> Request:
        """Return the request, its queries stripped, if it is valid.

        Raises:
            FieldRefused: A field is invalid; the error names it.
        """
        sure = self.min_confidence
        if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0.0 <= sure <= 1.0:
            raise FieldRefused(
                f"min_confidence must be from 0 to 1, got {sure!r}", field="min_confidence"
            )
        return evolve(
            self,
            source_query=_query("source_query", self.source_query),
            target_query=_query("target_query", self.target_query),
        )

    def assertion(self, source: str = "", target: str = "") -> Assertion:
        """Return the assertion for the two blocks."""
        return Assertion(
            source=source,
            target=target,
            relation=self.relation,
            weight=self.weight,
            note=self.note,
            if_exists=self.if_exists,
        )

    def eligibility(self, policy: Policy, session: SessionId | None) -> Eligibility:
        """Return which blocks may match.

        Raises:
            FrameUnknown: The policy has no such frame.
        """
        frame = FRAME if self.frame is None else self.frame
        where = Where.parse(within_scope(None, self.scope))
        return Eligibility(frame=policy.frame(frame), session=session, where=where)

    def command(self, command_id: str | None) -> Command:
        """Return the command for this request."""
        given = asdict(self)
        if self.scope is None:
            del given["scope"]  # keeps command ids from before scopes valid
        return Command("connect_by_query", given, command_id)


def _query(name: str, given: object) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > QUERY_LENGTH_MAX:
        raise FieldRefused(
            f"{name} must be text of 1 to {QUERY_LENGTH_MAX} characters, got {given!r:.100}",
            field=name,
        )
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise FieldRefused(f"{name} is not valid text: {error}", field=name) from error
    return given.strip()


def answered(
    space: SessionHandle, request: Request, command_id: str | None
) -> ConnectByQueryResult | None:
    """Return the earlier answer to *request* under this id, if there is one.

    Raises:
        CommandIdReused: The id was used for another request.
        WeightOutOfRange, NoteTooLong, UnknownIfExists, FieldRefused, FrameUnknown, SpaceErased:
            The request is invalid, regardless of what its queries match.
    """
    row, snapshot = space.remembered(request.command(command_id)), space.snapshot()
    if row is None:
        space.check_not_erased(snapshot)
        terms(request.assertion(), snapshot.policy)
        request.eligibility(snapshot.policy, space.session)
        return None
    recorded = space.event_at(row.first)
    assert recorded is not None  # noqa: S101 - a command is remembered with its event
    assert isinstance(recorded.event, EdgeConnected | EdgeDeferred)  # noqa: S101 - it is ours
    matched = recorded.event.matched
    assert matched is not None  # noqa: S101
    at = Instant(recorded.active_us, recorded.recorded_us)
    then = as_of(snapshot.state, row.first - 1, active_us=at.active_us, instant_us=at.recorded_us)
    ends = (
        _End(id=matched.source, confidence=matched.source_confidence),
        _End(id=matched.target, confidence=matched.target_confidence),
    )
    return _Pairing(then, request, ends).connected(at).result


def connect(
    space: SessionHandle, models: Models, request: Request, command_id: str | None
) -> ConnectByQueryResult:
    """Match both queries and connect the matches, if both are sure enough."""
    question = _Question.of(space.snapshot().embedder, models, request)
    if request.dry_run:
        return question.pairing(space.view(), space.session).preview()

    def decide(view: View, at: Instant) -> Decision[ConnectByQueryResult]:
        pairing = question.pairing(view, space.caller.session_among(view.open_sessions()))
        if pairing.doubts():
            return Decision((), pairing.preview())
        return pairing.connected(at)

    result: ConnectByQueryResult = space.prepared(request.command(command_id), decide).result
    return result


@frozen(eq=False)
class _Question:
    """A request with the vectors of its queries."""

    request: Request
    embedder: EmbedderIdentity | None = None
    """The embedder of the vectors; None when the space had adopted none."""
    vectors: tuple[Vector | None, Vector | None] = (None, None)

    @classmethod
    def of(cls, adopted: EmbedderIdentity | None, models: Models, request: Request) -> _Question:
        if adopted is None:
            return cls(request)
        embedder = embedder_of(models, adopted)
        check_embedder(adopted, embedder.identity)
        source, target = embed(embedder, [request.source_query, request.target_query])
        return cls(request, embedder.identity, (source, target))

    def pairing(self, view: View, session: SessionId | None) -> _Pairing:
        """Return the matches of the queries in *view*."""
        if self.embedder is not None:
            # The space may have been moved to another embedder meanwhile.
            check_embedder(view.embedder, self.embedder)
        eligibility = self.request.eligibility(view.policy, session)
        queries = self.request.source_query, self.request.target_query
        found = (
            best_match(view, query, vector, eligibility)
            for query, vector in zip(queries, self.vectors, strict=True)
        )
        source, target = (_End.of(view, match) for match in found)
        return _Pairing(view, self.request, (source, target))


@frozen(kw_only=True)
class _End(Value):
    """One matched block, if there was any."""

    id: BlockId | None = None
    confidence: int = 0
    """Nano-units."""

    @classmethod
    def of(cls, view: View, match: Match | None) -> _End:
        if match is None:
            return cls()
        return cls(id=view.id(match.number), confidence=match.confidence)

    def origin(self, view: View) -> Origin | None:
        """Return where its text comes from; None if there is no block."""
        number = None if self.id is None else view.number(self.id)
        return None if number is None else origin_of(view, number)

    def content(self, view: View) -> str | None:
        """Return the content of the block; None if there is no block or its text is erased."""
        number = None if self.id is None else view.number(self.id)
        text = None if number is None else view.text(number)
        return None if text is None or isinstance(text, Erased) else text.content


@frozen
class _Pairing(Value):
    """Two matched blocks of one view."""

    view: View
    request: Request
    ends: tuple[_End, _End]

    def doubts(self) -> list[str]:
        """Return the reasons against connecting them."""
        source, target = self.ends
        if source.id is None or target.id is None:
            return ["there is no active block to match"]
        doubts = [
            f"{name}_confidence {unit(end.confidence):.2f} is below {self.request.min_confidence}"
            for name, end in zip(("source", "target"), self.ends, strict=True)
            if end.confidence < nano(float(self.request.min_confidence))
        ]
        if source.id == target.id:
            doubts.append("both queries match the same block: word them apart, or connect by ids")
        return doubts

    def preview(self) -> ConnectByQueryResult:
        """Return the blocks that would be connected, or the reasons against it."""
        doubts = self.doubts()
        action = "insufficient_confidence" if doubts else "dry_run_preview"
        return self._result(action, reason="; ".join(doubts) or None)

    def connected(self, at: Instant) -> Decision[ConnectByQueryResult]:
        """Decide the edge between the two.

        Raises:
            EdgeExists: There is an edge, and if_exists is ``error``.
        """
        source, target = self.ends
        assert source.id is not None  # noqa: S101 - there are no doubts
        assert target.id is not None  # noqa: S101
        assertion = self.request.assertion(source.id, target.id)
        decided = decide_connect(self.view, assertion, at)
        made = connect_result(self.view, assertion, decided.result)
        answer = self._result("connected", made=made)
        matched = Matched(
            recipe=matching.RECIPE,
            source=source.id,
            target=target.id,
            source_confidence=source.confidence,
            target_confidence=target.confidence,
        )
        events = (
            evolve(each, matched=matched)
            for each in decided.events
            if isinstance(each, EdgeConnected | EdgeDeferred)
        )
        return Decision(tuple(events), answer)

    def _result(
        self, action: str, *, made: ConnectResult | None = None, reason: str | None = None
    ) -> ConnectByQueryResult:
        source, target = self.ends
        return ConnectByQueryResult(
            source_query=self.request.source_query,
            target_query=self.request.target_query,
            source_id=source.id,
            target_id=target.id,
            source_content=source.content(self.view),
            target_content=target.content(self.view),
            source_origin=source.origin(self.view),
            target_origin=target.origin(self.view),
            source_confidence=unit(source.confidence),
            target_confidence=unit(target.confidence),
            min_confidence=float(self.request.min_confidence),
            connect_result=made,
            action=action,
            reason=reason,
        )
