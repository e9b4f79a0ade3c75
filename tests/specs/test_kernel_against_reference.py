"""Random histories: the kernel decides on columns, and its decisions are checked by the reference.

The shell here is the smallest that can execute commands: it keeps a log in a list, applies every
event to the columns and to the reference, and lets the kernel decide on the columns. Before an
event is applied, the reference computes the expected event; afterwards both states are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings

from mnemic.kernel import events as happened
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.decisions import (
    archiving,
    connecting,
    curating,
    feedback,
    learning,
    promotion,
    recalling,
    reverting,
    space,
)
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import Answer, AnswerRow, Event, Recorded
from mnemic.kernel.extraction.accepting import Call, message_of
from mnemic.kernel.extraction.deciding import decide_extraction
from mnemic.kernel.model.blocks import STATUSES, Fresh
from mnemic.kernel.model.identity import BlockId, CommandId, SessionId
from mnemic.kernel.model.texts import BlockText, Question, Salt
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import Extract, KnownBlock
from mnemic.kernel.timestamps import Instant
from mnemic.projections.state.apply import apply
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of, live
from mnemic.specs.reference import decisions as expected
from mnemic.specs.reference.fold import PlainState, erased, fold
from mnemic.specs.reference.reverting import expected_revert
from mnemic.specs.reference.upkeep import expected_curate
from mnemic.specs.strategies import commands, episodes
from mnemic.specs.strategies.clocks import START_US
from mnemic.specs.strategies.messages import Add, TextExtractor
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.snapshots import state_of_reference, state_of_view

EMBEDDER = PlaneEmbedder()
EXTRACTOR = TextExtractor()
CHUNK = 5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIGHT = attrs.evolve(
    DEFAULT,
    name="tight",
    degree_cap=3,
    edge_candidates=3,
    tags_max=3,
    co_retrieval_sessions=2,
    staging_pairs_max=4,
    curate_reinforced=2,
)
"""A policy with low limits, so that they are reached soon."""
POLICIES = {policy.name: policy for policy in (DEFAULT, TIGHT)}
RETAINING = attrs.evolve(
    DEFAULT,
    name="retaining",
    retention=(
        {"name": "old", "where": {"not": {"tags": "a"}}, "ttl_days": 0.1},
        {"name": "idle", "where": {"category": "observation"}, "ttl_active_hours": 2.0},
        {"name": "few", "where": {"zone": ["trusted", "external"]}, "most": 2, "per": "category"},
        {"name": "each", "most": 1, "per": "author"},
    ),
)


class Shell:
    """Executes commands of one agent."""

    def __init__(self, policy: Policy) -> None:
        self.log: list[Recorded] = []
        self.columns, self.plain = State(), PlainState()
        self.now_us = START_US
        self.session: SessionId | None = None
        self.happen(happened.SpaceOpened(nonce="0" * 32, salt=Salt(value=b"salt")))
        self.happen(happened.PolicyAdopted(policy_id=policy.id, body=policy.body))
        self.happen(happened.EmbedderAdopted(embedder=EMBEDDER.identity))

    @property
    def moment(self) -> Instant:
        return self.columns.timeline.instant(self.session, self.now_us)

    @property
    def view(self) -> View:
        return live(self.columns, active_us=self.moment.active_us, instant_us=self.now_us)

    def happen(self, event: Event | None) -> None:
        if event is None:
            return
        recorded = Recorded(
            version=len(self.log),
            active_us=self.moment.active_us,
            recorded_us=self.now_us,
            command_id=CommandId(f"c{len(self.log)}"),
            event=event,
            session_id=self.session,
        )
        self.log.append(recorded)
        self.plain.apply(recorded)
        assert self.plain.clock.active_us == recorded.active_us
        if isinstance(event, happened.BlockErased):
            # The columns cannot change the past, so the remaining log is replayed.
            self.log = erased(self.log, owner=event.block_id)
            self.columns = rebuild(State(), self.log)
        else:
            apply(self.columns, recorded)

    def write(self, decided: Decision[Any]) -> None:
        for event in decided.events:
            self.happen(event)

    def block(self, place: int) -> str:
        return commands.resolved(place, self.plain.order)

    def play(self, command: commands.Command) -> None:
        """Execute one command; a refused one has no effect."""
        with suppress(Refused):
            self._play(command)

    def _play(self, command: commands.Command) -> None:  # noqa: C901, PLR0912, PLR0915 - a case each
        match command:
            case commands.Learn():
                self._learn(command)
            case commands.LearnMany(lessons=lessons):
                for lesson in lessons:
                    self._learn(lesson)
            case Add():
                self._add(command)
            case commands.Revise(block=block, content=content):
                decided = archiving.decide_revise(self.view, self.block(block), content, None)
                learned, superseded = decided.events
                self.happen(learned)
                self._check_supersession(decided.result)
                self.happen(superseded)
            case commands.Consolidate(limit=limit, relink=relink):
                self._consolidate(limit)
                if relink:
                    self._relink()
            case commands.Recall(top_k=top_k, record=record):
                if record:
                    self._recall(top_k or 5)
            case commands.Outcome():
                self._score(command)
            case commands.Connect():
                assertion = connecting.Assertion(
                    source=self.block(command.source),
                    target=self.block(command.target),
                    relation=command.relation,
                    weight=command.weight,
                    note=command.note,
                    if_exists=command.if_exists,
                )
                self.write(connecting.decide_connect(self.view, assertion, self.moment))
            case commands.Disconnect(source=source, target=target, guard_relation=guard):
                self.write(
                    connecting.decide_disconnect(
                        self.view,
                        self.block(source),
                        self.block(target),
                        guard_relation=guard,
                        reason=None,
                    )
                )
            case commands.Curate():
                self._curate()
            case commands.Forget(block=block):
                self.write(archiving.decide_forget(self.view, self.block(block), None))
            case commands.Erase(block=block):
                self.write(archiving.decide_erase(self.view, [self.block(block)]))
            case commands.Revert():
                first, last = commands.stretch(command, self.plain.version)
                reverted = reverting.decide_revert(self.view, first, last, reason=None)
                assert reverted.result == expected_revert(self.plain, first, last)
                assert bool(reverted.events) == reverting.changes(reverted.result)
                self.write(reverted)
            case commands.StartSession():
                if self.session is None:
                    session = SessionId(f"s{len(self.log)}")
                    self.write(space.decide_start_session(self.view, session))
                    self.session = session
            case commands.EndSession():
                if self.session is not None:
                    self.write(space.decide_end_session(self.view, self.session))
                    self.session = None
            case commands.MoveClock(by_us=by_us):
                self.now_us += by_us
            case _:
                assert_never(command)

    def _learn(self, lesson: commands.Learn) -> None:
        expires, begins, ends = (
            None if after_us is None else EPOCH + timedelta(microseconds=self.now_us + after_us)
            for after_us in (lesson.expires_in_us, *lesson.holds_in_us)
        )
        self.write(
            learning.decide_learn(
                self.view,
                learning.Lesson(
                    content=lesson.content,
                    tags=lesson.tags,
                    category=lesson.category,
                    source=lesson.source,
                    confidence=lesson.confidence,
                    expires_at=expires,
                    valid_from=begins,
                    valid_until=ends,
                ),
            )
        )

    def _add(self, added: Add) -> None:
        lessons = [
            learning.Lesson(
                content=each.content,
                category=learning.MESSAGE,
                author=each.author,
                thread=each.thread,
                created_at=None
                if each.said_in_us is None
                else EPOCH + timedelta(microseconds=self.now_us + each.said_in_us),
                metadata=None if each.id is None else {"message_id": each.id},
                role=each.role,
                scope=None if added.user is None else {"user": added.user},
            )
            for each in added.messages
        ]
        decided = archiving.decide_learn_many(self.view, lessons)
        self.write(decided)
        learned = {each.block_id for each in decided.result if isinstance(each, learning.Learned)}
        messages = [each for each in self.plain.order if each in learned and self._is_current(each)]
        for first in range(0, len(messages), EXTRACTOR.window):
            self._extract(tuple(messages[first : first + EXTRACTOR.window]))

    def _is_current(self, block: str) -> bool:
        return self.plain.blocks[BlockId(block)].status in {"inbox", "active"}

    def _extract(self, messages: tuple[BlockId, ...]) -> None:
        view, blocks = self.view, self.plain.blocks
        others = [each for each in self.plain.order if self._is_current(each)]
        known = tuple(each for each in others if blocks[each].category != learning.MESSAGE)[-4:]
        shown = [message_of(view, blocks[each].number) for each in messages]
        facts = [message_of(view, blocks[each].number) for each in known]
        try:
            found = EXTRACTOR.extract(
                shown, [KnownBlock(content=each.content, author=each.author) for each in facts]
            )
        except ValueError:
            found = Extract(problem="failed")
        call = Call(extractor="text-1", messages=messages, known=known)
        for event in decide_extraction(view, call, found, self.moment).events:
            if isinstance(event, happened.BlockSuperseded):
                self._check_supersession(event.supersession)
            self.happen(event)

    def _consolidate(self, limit: int | None) -> None:
        waiting = self.view.inbox()
        assert [self.plain.order[number] for number in waiting] == self.plain.inbox()
        waiting = waiting[:limit]
        while waiting:
            candidates = [
                promotion.Candidate(number=number, vector=self._vector(number))
                for number in waiting[:CHUNK]
            ]
            decided = promotion.decide_promotion(
                self.view, candidates, self.moment, embedder=EMBEDDER.identity
            )
            chunk = self._would_be(decided.result)
            assert decided.events == (expected.expected_chunk(self.plain, chunk),)
            self.write(decided)
            waiting = waiting[len(decided.result.promotions) :]

    def _would_be(self, event: Event) -> Recorded:
        return Recorded(
            version=len(self.log),
            active_us=self.moment.active_us,
            recorded_us=self.now_us,
            command_id=CommandId("c"),
            event=event,
            session_id=self.session,
        )

    def _vector(self, number: int) -> Vector:
        text = self.view.text(number)
        assert isinstance(text, BlockText)
        return quantise(EMBEDDER.embed([text.content])[0], dimension=EMBEDDER.DIMENSION)

    def _relink(self) -> None:
        few = [
            Fresh(
                number=number,
                vector=self._vector(number),
                category=self.view.category(number),
                tags=self.view.tags(number),
            )
            for number in self.view.with_status(STATUSES.index("active")).tolist()
            if self.view.degree(number) < self.view.policy.edge_candidates
        ]
        decided = promotion.decide_relink(self.view, few, self.moment)
        links = expected.expected_relink(self.plain, self.moment.active_us)
        assert (decided.result.links if decided.result else ()) == links
        self.write(decided)

    def _check_supersession(self, said: happened.Supersession) -> None:
        """Compare with the reference, whose state has the new block already."""
        new = self.plain.blocks[said.new]
        assert said == expected.expected_supersession(
            self.plain,
            said.old,
            said.new,
            tags=new.tags,
            category=new.category,
            zone=new.zone,
        )

    def _recall(self, top_k: int) -> None:
        returned = self.plain.with_status("active")[:top_k]
        staging = expected.expected_staging(
            self.plain, returned, self.session, self.moment.active_us
        )
        numbers = [self.plain.blocks[block].number for block in returned]
        rows = tuple(AnswerRow(number, 0, (0,) * 9) for number in numbers)
        asked = recalling.Asked(
            query="what",
            vector=None,
            where=None,
            asked_by=None,
            frame="attention",
            top_k=top_k,
            token_budget=None,
            min_probability=None,
            session=self.session,
        )
        found = recalling.Found(
            answer=Answer(rows=rows),
            digest="0" * 16,
            answerable=-1,
            verdict="",
            version=self.plain.version,
            at=self.moment,
            policy_id=self.plain.policy.id,
            embedder=None,
            recipe="none",
            near=None,
            explored=None,
            statistics=(),
        )
        decided = recalling.decide_recall(self.view, asked, found, self.moment)
        assert decided.events == (
            happened.RecallRecorded(
                asked=Question(query="what"),
                vector=None,
                answer=Answer(rows=rows),
                digest="0" * 16,
                policy_id=self.plain.policy.id,
                recipe="none",
                read_version=self.plain.version,
                read_us=self.moment.active_us,
                asked_us=self.now_us,
                top_k=top_k,
                **attrs.asdict(staging, recurse=False),
            ),
        )
        self.write(decided)

    def _score(self, command: commands.Outcome) -> None:
        ids = [self.block(block) for block in command.blocks]
        report = feedback.Feedback(block_ids=ids, signal=command.signal, weight=command.weight)
        decided = feedback.decide_outcome(self.view, report, self.moment)
        event = first_of(decided.events, happened.OutcomeRecorded)
        assert event == expected.expected_outcome(
            self.plain,
            ids,
            signal=nano(command.signal),
            weight=nano(command.weight),
            now_us=self.moment.active_us,
        )
        self.write(decided)

    def _curate(self) -> None:
        decided = curating.decide_curate(self.view, self.moment)
        event = first_of(decided.events, happened.Curated)
        assert event == expected_curate(self.plain, self.moment.active_us, self.now_us)
        self.write(decided)
        assert curating.decide_curate(self.view, self.moment).events == ()


def played(history: Sequence[commands.Command], policy: Policy) -> Shell:
    """Execute a history, comparing both states after every command."""
    shell = Shell(policy)
    for command in history:
        shell.play(command)
        assert state_of_view(shell.view) == state_of_reference(shell.plain)
    return shell


SWEPT_TWICE: list[commands.Command] = [
    *commands.crowd(),
    commands.Outcome(blocks=(0,), signal=0.6),
    commands.MoveClock(by_us=1),
    commands.Outcome(blocks=(1, 6), signal=0.6),
    commands.Curate(),
]
"""Reinforcing changes the ranking of blocks: a second sweep at one hour must change nothing."""

ADMITTED_WHILE_STAGED: list[commands.Command] = [
    *commands.crowd(),
    commands.Connect(source=0, target=2, relation="co_occurs", weight=0.0),
    commands.Connect(source=0, target=3, relation="similar"),
    commands.Connect(source=0, target=4, relation="co_occurs"),
    commands.Recall(query=None, top_k=2),
    commands.Connect(source=0, target=1, relation="similar"),
    commands.Curate(),
]
"""A pending pair that is returned together in the meantime is not staged once it is linked."""

thorough = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("policy", sorted(POLICIES))
@thorough
@given(history=commands.histories())
def test_decisions_and_states_agree_after_every_command(
    policy: str, history: list[commands.Command]
) -> None:
    shell = played(history, POLICIES[policy])
    assert state_of_reference(fold(shell.log)) == state_of_reference(shell.plain)


@pytest.mark.parametrize("policy", sorted(POLICIES))
@thorough
@given(history=commands.crowds())
@example(history=SWEPT_TWICE)
@example(history=ADMITTED_WHILE_STAGED)
def test_decisions_and_states_agree_around_a_hub_at_the_cap(
    policy: str, history: list[commands.Command]
) -> None:
    shell = played(history, POLICIES[policy])
    degrees = [len(shell.plain.edges_of(block)) for block in shell.plain.order]
    assert max(degrees, default=0) <= POLICIES[policy].degree_cap


@pytest.mark.parametrize("policy", sorted(POLICIES))
@thorough
@given(history=episodes.eventful_histories())
def test_decisions_and_states_agree_through_one_episode_after_the_other(
    policy: str, history: list[commands.Command]
) -> None:
    shell = played(history, POLICIES[policy])
    assert state_of_reference(fold(shell.log)) == state_of_reference(shell.plain)


@thorough
@given(history=episodes.eventful_histories())
def test_decisions_and_states_agree_under_rules_of_retention(
    history: list[commands.Command],
) -> None:
    played(history, RETAINING)


@thorough
@given(history=commands.histories())
def test_a_view_of_any_version_equals_the_state_of_the_truncated_log(
    history: list[commands.Command],
) -> None:
    shell = played(history, TIGHT)
    # Every seventh prefix and the last: enough to meet each kind of event over many histories.
    for version in {*range(0, len(shell.log), 7), len(shell.log) - 1}:
        prefix = fold(shell.log[: version + 1])
        assert state_of_view(as_of(shell.columns, version)) == state_of_reference(prefix)
