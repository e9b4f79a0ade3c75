"""Effects of returning blocks together, on a separate log: kernel and reference agree."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import pytest

from mnemic.kernel import events as happened
from mnemic.kernel.decisions.coretrieval import effects as effects_of
from mnemic.kernel.events import Answer, AnswerRow, Event, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId, SessionId
from mnemic.kernel.model.texts import BlockText, Embedding, Question
from mnemic.kernel.model.vectors import pack
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.state.apply import apply
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of, live
from mnemic.specs.reference.decisions import expected_staging
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.rules import Row, rows
from mnemic.specs.strategies.vectors import at_cosine

BLOCKS = "abcd"
IDS = [BlockId(letter * 16) for letter in BLOCKS]
VECTOR, _ = at_cosine(0.0)
SUPPORTS = happened.EdgeConnected(
    source=IDS[0], target=IDS[1], relation="supports", weight=nano(0.75), action="created"
)


class Worlds:
    """Four active blocks in one log, applied to the columns and to the reference."""

    def __init__(self, policy: Policy) -> None:
        self.columns, self.plain = State(), PlainState()
        embedder = happened.EmbedderIdentity(name="plane", dimension=len(VECTOR))
        self.happen(
            happened.PolicyAdopted(policy_id=policy.id, body=policy.body),
            happened.EmbedderAdopted(embedder=embedder),
            *(happened.BlockLearned(block_id=block, text=BlockText(content="")) for block in IDS),
            happened.BlocksPromoted(
                promotions=tuple(
                    happened.Promotion(block_id=block, vector=Embedding(packed=pack(VECTOR)))
                    for block in IDS
                )
            ),
        )

    @property
    def view(self) -> View:
        return live(self.columns, active_us=0, instant_us=0)

    def happen(self, *events: Event, session: SessionId | None = None) -> None:
        for event in events:
            recorded = Recorded(
                version=self.plain.version + 1,
                active_us=0,
                recorded_us=0,
                command_id=CommandId("c"),
                event=event,
                session_id=session,
            )
            apply(self.columns, recorded)
            self.plain.apply(recorded)

    def recall(self, name: str, letters: Iterable[str] = "ab") -> None:
        """Return blocks together in the session called *name*, or ``outside`` of any."""
        session = None if name == "outside" else SessionId(name)
        numbers = [BLOCKS.index(letter) for letter in letters]
        effects = effects_of(self.view, numbers, session, Instant(0, 0))
        plain = expected_staging(self.plain, [IDS[number] for number in numbers], session, 0)
        assert attrs.asdict(effects) == attrs.asdict(plain)
        then = as_of(self.columns, self.columns.version)
        assert effects_of(then, numbers, session, Instant(0, 0)) == effects
        event = happened.RecallRecorded(
            asked=Question(),
            vector=None,
            answer=Answer(rows=tuple(AnswerRow(number, 0, (0,) * 9) for number in numbers)),
            digest="",
            policy_id=self.plain.policy.id,
            recipe="none",
            read_version=self.plain.version,
            read_us=0,
            asked_us=0,
            **attrs.asdict(effects, recurse=False),
        )
        self.happen(event, session=session)


@pytest.mark.parametrize("row", rows("lifecycle.co-retrieval"), ids=str)
def test_returning_two_blocks_together_leads_to_an_edge_or_uses_it(row: Row) -> None:
    worlds = Worlds(row.policy)
    if "edge" in row.given:
        worlds.happen(SUPPORTS)
    for step in row.given["story"]:
        match step:
            case "disconnect":
                worlds.happen(happened.EdgeDisconnected(source=IDS[0], target=IDS[1]))
            case "forget":
                worlds.happen(happened.BlockForgotten(block_id=IDS[1]))
            case session:
                worlds.recall(session)
    edge = worlds.view.edge(0, 1)
    result = {"sessions": len(worlds.view.staged_sessions(0, 1))}
    if edge is not None:
        result |= {"relation": edge.relation, "origin": edge.origin, "count": edge.count}  # type: ignore[dict-item]
        assert row.tells("weight", edge.weight)
    assert result == {name: said for name, said in row.then.items() if name != "weight"}


@pytest.mark.parametrize("row", rows("lifecycle.staging-limit"), ids=str)
def test_staging_keeps_the_pairs_with_most_evidence(row: Row) -> None:
    worlds = Worlds(Policy(staging_pairs_max=row.given["limit"]))
    for session, letters in row.given["recalls"]:
        worlds.recall(session, letters)
    staged = sorted(BLOCKS[low] + BLOCKS[high] for low, high in worlds.view.staged())
    assert staged == row.then["staged"]


def test_a_lowered_limit_applies_from_the_next_recall() -> None:
    worlds = Worlds(Policy())
    worlds.recall("s1", "abcd")
    worlds.recall("s2", "cd")
    policy = Policy(staging_pairs_max=2)
    worlds.happen(happened.PolicyAdopted(policy_id=policy.id, body=policy.body))
    assert worlds.view.staged_total() == 6
    worlds.recall("s3", "a")
    assert sorted(worlds.view.staged()) == [(1, 3), (2, 3)]


def test_an_answer_may_name_its_blocks_in_any_order() -> None:
    worlds = Worlds(Policy())
    worlds.recall("s1", "dbca")
    assert sorted(worlds.view.staged()) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
