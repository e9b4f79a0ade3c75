"""connect_by_query: from two queries to two blocks, and to the edge between them.

Words and vectors are compared off the log's writing lock, on the state that the append finds
unchanged. What was matched, and how surely, is in the event, so that a repeated command is answered
from the log, without any model.
"""

from __future__ import annotations

from attrs import asdict, evolve, frozen

from mnemic.adapters.inprocess.answers import connect_result, displaced_results
from mnemic.adapters.inprocess.asking import QUERY_LENGTH_MAX
from mnemic.adapters.inprocess.commands import Command, Written
from mnemic.adapters.inprocess.consolidation import embed, embedder_of
from mnemic.adapters.inprocess.opening import Models, check_embedder
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.arithmetic import nano
from mnemic.kernel.decisions.connecting import Assertion, decide_connect, terms
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import EdgeConnected, EdgeDeferred, EmbedderIdentity, Matched
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import ConnectByQueryResult, ConnectResult, unit
from mnemic.kernel.texts import Erased
from mnemic.kernel.vectors import Vector
from mnemic.projections import matching, views
from mnemic.projections.matching import Match, best_match
from mnemic.projections.views import View
from mnemic.projections.where import Gate

FRAME = "attention"
"""Where a query looks if nothing else is said: among all active blocks."""


@frozen(kw_only=True)
class Request:
    """A connection as a caller asked for it, in words."""

    source_query: str
    target_query: str
    relation: str | None = None
    weight: float | None = None
    note: str | None = None
    if_exists: str = "reinforce"
    frame: str | None = None
    min_confidence: float = 0.70
    dry_run: bool = False

    def checked(self) -> Request:
        """Return the request, its queries stripped, if it makes sense.

        Raises:
            FieldRefused: Naming the field.
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
        """Return what is asserted of the two blocks."""
        return Assertion(
            source=source,
            target=target,
            relation=self.relation,
            weight=self.weight,
            note=self.note,
            if_exists=self.if_exists,
        )

    def gate(self, policy: Policy, session: SessionId | None) -> Gate:
        """Return which blocks may be meant.

        Raises:
            FrameUnknown: The policy has no such frame.
        """
        frame = FRAME if self.frame is None else self.frame
        return Gate(frame=policy.frame(frame), session=session)

    def command(self, command_id: str | None) -> Command:
        """Return the command that this request is."""
        return Command("connect_by_query", asdict(self), command_id)


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


def answered(space: Space, request: Request, command_id: str | None) -> ConnectByQueryResult | None:
    """Return what *request* was answered under this id, if it was.

    Raises:
        CommandIdReused: The id was used for another request.
        WeightOutOfRange, NoteTooLong, UnknownIfExists, FieldRefused, FrameUnknown, SpaceErased:
            The request cannot be met, whatever its queries match.
    """
    with space.guard:
        space.catch_up()
        row = space.remembered(request.command(command_id))
        if row is None:
            space.check_kept()
            terms(request.assertion(), space.state.timeline.policy)
            request.gate(space.state.timeline.policy, space.session)
            return None
        recorded = space.event_at(row.first)
        assert recorded is not None  # noqa: S101 - a command is remembered with its event
        assert isinstance(recorded.event, EdgeConnected | EdgeDeferred)  # noqa: S101 - it is ours
        matched = recorded.event.matched
        assert matched is not None  # noqa: S101
        at = Moment(recorded.active_us, recorded.recorded_us)
        then = views.as_of(
            space.state, row.first - 1, active_us=at.active_us, instant_us=at.recorded_us
        )
        ends = (
            _End(id=matched.source, confidence=matched.source_confidence),
            _End(id=matched.target, confidence=matched.target_confidence),
        )
        return _Pairing(then, request, ends).connected(at)[1]


def connect(
    space: Space, models: Models, request: Request, command_id: str | None
) -> ConnectByQueryResult:
    """Match both queries and connect what they mean, if it is sure enough."""
    with space.guard:
        space.catch_up()
        adopted = space.live().embedder
    question = _Question.of(adopted, models, request)
    if request.dry_run:
        with space.guard:
            return question.pairing(space.live(), space.session).preview()

    def decide(view: View, at: Moment) -> Written:
        pairing = question.pairing(view, space.session)
        if pairing.doubts():
            return Written((), extra=pairing.preview())
        event, result = pairing.connected(at)
        return Written(() if event is None else (event,), extra=result)

    result: ConnectByQueryResult = space.prepared(request.command(command_id), decide).extra
    return result


@frozen(eq=False)
class _Question:
    """A request with the vectors of its queries."""

    request: Request
    embedder: EmbedderIdentity | None = None
    """Whose vectors they are; None when the space had none of its own."""
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
        """Return what the queries match in *view*."""
        if self.embedder is not None:
            # The space may have been moved to another embedder meanwhile.
            check_embedder(view.embedder, self.embedder)
        gate = self.request.gate(view.policy, session)
        queries = self.request.source_query, self.request.target_query
        found = (
            best_match(view, query, vector, gate)
            for query, vector in zip(queries, self.vectors, strict=True)
        )
        source, target = (_End.of(view, match) for match in found)
        return _Pairing(view, self.request, (source, target))


@frozen(kw_only=True)
class _End:
    """One matched block, if there was any."""

    id: BlockId | None = None
    confidence: int = 0
    """Nano-units."""

    @classmethod
    def of(cls, view: View, match: Match | None) -> _End:
        if match is None:
            return cls()
        return cls(id=view.id(match.number), confidence=match.confidence)

    def content(self, view: View) -> str | None:
        """Return all that the block says, unless there is none or it is erased."""
        number = None if self.id is None else view.number(self.id)
        text = None if number is None else view.text(number)
        return None if text is None or isinstance(text, Erased) else text.content


@frozen
class _Pairing:
    """Two matched blocks of one view, and what may be done about them."""

    view: View
    request: Request
    ends: tuple[_End, _End]

    def doubts(self) -> list[str]:
        """Return what speaks against connecting them."""
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
        """Return what would be connected, or why it is not."""
        doubts = self.doubts()
        action = "insufficient_confidence" if doubts else "dry_run_preview"
        return self._result(action, reason="; ".join(doubts) or None)

    def connected(
        self, at: Moment
    ) -> tuple[EdgeConnected | EdgeDeferred | None, ConnectByQueryResult]:
        """Decide the edge between the two, and return its event with the answer.

        Raises:
            EdgeExists: And if_exists is ``error``.
        """
        source, target = self.ends
        assert source.id is not None  # noqa: S101 - there are no doubts
        assert target.id is not None  # noqa: S101
        assertion = self.request.assertion(source.id, target.id)
        decided = decide_connect(self.view, assertion, at)
        displaced = displaced_results(self.view, decided.displaced)
        answer = self._result("connected", made=connect_result(assertion, decided, displaced))
        if decided.event is None:
            return None, answer
        matched = Matched(
            recipe=matching.RECIPE,
            source=source.id,
            target=target.id,
            source_confidence=source.confidence,
            target_confidence=target.confidence,
        )
        return evolve(decided.event, matched=matched), answer

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
            source_confidence=unit(source.confidence),
            target_confidence=unit(target.confidence),
            min_confidence=float(self.request.min_confidence),
            connect_result=made,
            action=action,
            reason=reason,
        )
