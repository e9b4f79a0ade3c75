"""Messages in, facts out: what is learned, related, retired, traced and erased."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Extract, Fact, KnownBlock, Message, Span
from mnemic.specs.strategies.vectors import PlaneEmbedder


@define
class Scripted:
    """An extractor that returns what a test wants."""

    facts: list[Fact] = field(factory=list)
    error: Exception | None = None
    name: str = "scripted"
    model: str = ""
    prompt: str = ""
    window: int = 1
    compares: bool = True
    seen: list[KnownBlock] = field(factory=list)

    def extract(self, messages: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        self.seen = list(known)
        if self.error is not None:
            raise self.error
        del messages
        facts, self.facts = tuple(self.facts), []
        return Extract(facts=facts)


WORDS = st.sampled_from("boats bees maps salt stamps swords".split())


@pytest.fixture
def extractor() -> Scripted:
    return Scripted()


@pytest.fixture
def memory(extractor: Scripted) -> Generator[SyncMemory]:
    with SyncMemory.open(
        ":memory:", extractor=extractor, embedder=PlaneEmbedder(), clock=ManualClock()
    ) as opened:
        yield opened


def said(content: str, day: int, **fields: Any) -> dict[str, Any]:
    """Return a message of Ines, said on a day of March."""
    at = f"2026-03-{day:02}T09:00:00+00:00"
    return {"role": "user", "name": "Ines", "content": content, "created_at": at, **fields}


def whole(text: str, **fields: Any) -> Fact:
    """Return a fact that is what its message says."""
    return Fact(text=text, quotes=(Span(message=0, text=text),), **fields)


def add(memory: SyncMemory, extractor: Scripted, message: dict[str, Any], **fields: Any) -> Any:
    """Add one message with one fact, and return that fact."""
    extractor.facts = [whole(message["content"], **fields)]
    (found,) = memory.add([message]).facts
    return found


def test_an_update_is_a_revision_with_both_in_the_history(
    memory: SyncMemory, extractor: Scripted
) -> None:
    old = add(memory, extractor, said("I live in Paris.", 1))
    new = add(memory, extractor, said("I live in Rome.", 2), relation="updates", other=0)
    assert (new.effect, new.other_id) == ("revised", old.block_id)
    before, after = memory.block(old.block_id), memory.block(new.block_id)
    assert (before.content, before.archive_reason) == ("I live in Paris.", "superseded")
    assert before.superseded_by == after.id
    answer = memory.recall("Where do I live?", min_probability=0.0)
    assert [(each.old, each.new, each.by) for each in answer.superseded] == [
        (old.block_id, new.block_id, "Ines (scripted)")
    ]
    past = memory.as_of(version=old.version).blocks(category="fact", status="inbox").items
    assert [each.content for each in past] == ["I live in Paris."]


MAY_NOT_REVISE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a lower zone": ({}, {"role": "tool"}),
    "another author": ({}, {"name": "Bob"}),
    "an earlier statement": ({}, {"created_at": "2026-02-01T00:00:00+00:00"}),
    "a value of the agent": ({"tags": ["self/value"]}, {}),
    "something else": ({}, {"content": "I own a red bicycle."}),
}


@pytest.mark.parametrize("case", MAY_NOT_REVISE)
def test_what_may_not_revise_contradicts(
    case: str, memory: SyncMemory, extractor: Scripted
) -> None:
    about, fields = MAY_NOT_REVISE[case]
    kept = memory.learn(
        "I live in Paris.",
        author="Ines",
        created_at="2026-03-01T00:00:00+00:00",
        **about,
    ).block_id
    message = said("I live in Rome.", 2) | fields
    new = add(memory, extractor, message, relation="updates", other=0)
    assert new.effect == "contradicts"
    assert memory.block(kept).status != "archived"
    assert "contradicts" in {edge.relation for edge in memory.edges(kept)}


def test_an_update_in_another_scope_finds_nothing(extractor: Scripted) -> None:
    with SyncMemory.open(":memory:", extractor=extractor, embedder=PlaneEmbedder()) as memory:
        memory.learn("I live in Paris.", author="Ines", scope={"user": "bob"})
        extractor.facts = [whole("I live in Rome.", relation="updates", other=0)]
        added = memory.add([said("I live in Rome.", 2)], scope={"user": "ines"})
        assert extractor.seen == []
        assert added.extraction is not None
        assert [each.reason for each in added.extraction.refused] == ["no-such-block"]


def test_the_same_in_other_words_restates_only_if_nothing_is_lost(
    memory: SyncMemory, extractor: Scripted
) -> None:
    old = add(memory, extractor, said("I live in Paris with two cats.", 1))
    again = add(memory, extractor, said("I live in Paris.", 2), relation="same", other=0)
    assert (again.block_id, again.effect, again.action) == (old.block_id, "restated", "restated")
    more = add(memory, extractor, said("I live in Paris near Bob.", 3), relation="same", other=0)
    assert (more.effect, more.action) == ("none", "created")


def test_a_fact_says_when_it_holds(memory: SyncMemory, extractor: Scripted) -> None:
    found = add(
        memory, extractor, said("I work here since 2019.", 1), since="2019-01-01", about="I"
    )
    block = memory.block(found.block_id)
    assert (block.valid_from, block.valid_until) == ("2019-01-01T00:00:00+00:00", None)
    assert block.metadata == {"role": "user", "about": "I"}


def test_a_fact_of_two_scopes_is_refused_and_of_two_messages_is_in_the_lower_zone(
    extractor: Scripted,
) -> None:
    extractor.window = 2
    spans = (Span(message=0, text="live in"), Span(message=1, text="Rome"))
    with SyncMemory.open(":memory:", extractor=extractor, embedder=PlaneEmbedder()) as memory:
        extractor.facts = []
        extractor.model = "m"
        extractor.facts = [Fact(text="Ines lives in Rome.", quotes=spans)]
        added = memory.add(
            [said("Where do you live in?", 1, role="tool"), said("Rome.", 1)], thread="t"
        )
        (found,) = added.facts
        assert memory.block(found.block_id).zone == "external"


def test_erasing_a_message_erases_what_rests_on_it_alone(
    memory: SyncMemory, extractor: Scripted
) -> None:
    added = memory.add([said("I live in Paris.", 1)])
    assert added.facts == ()
    first = add(memory, extractor, said("I live in Paris today.", 2))
    known = memory.learn("I own a boat.", author="Ines", metadata={"role": "user"}, category="fact")
    second = add(memory, extractor, said("I own a boat.", 3))
    assert second.block_id == known.block_id
    receipts = [memory.erase(each.quotes[0].message_id) for each in (first, second)]
    assert [(each.facts, each.kept) for each in receipts] == [
        ((first.block_id,), ()),
        ((), (known.block_id,)),
    ]
    assert memory.block(known.block_id).content == "I own a boat."
    assert memory.erase(first.quotes[0].message_id).facts == (first.block_id,)


def test_a_forgotten_fact_is_not_revived_by_its_own_message(
    memory: SyncMemory, extractor: Scripted
) -> None:
    found = add(memory, extractor, said("I live in Paris.", 1, id="1"))
    memory.forget(found.block_id)
    extractor.name = "scripted-2"
    again = add(memory, extractor, said("I live in Paris.", 1, id="1"))
    assert (again.action, again.status) == ("duplicate", "archived")
    said_anew = add(memory, extractor, said("I live in Paris.", 5, id="2"))
    assert said_anew.action == "reactivated"


def test_an_extractor_that_raises_leaves_the_messages(
    memory: SyncMemory, extractor: Scripted
) -> None:
    extractor.error = RuntimeError("broken")
    added = memory.add([said("I live in Paris.", 1, id="1"), said("Hello.", 1, id="2")])
    assert added.extraction is not None
    assert (added.extraction.status, added.extraction.unread) == ("failed", 2)
    assert added.extraction.problems == ("RuntimeError: broken",)
    extractor.error = None
    assert memory.add([said("Hello.", 1, id="2")]).extraction.status == "done"  # type: ignore[union-attr]


def test_facts_descend_from_what_their_messages_descend_from(
    memory: SyncMemory, extractor: Scripted
) -> None:
    found = add(memory, extractor, said("I live in Paris.", 1, role="tool"))
    other = add(memory, extractor, said("I own a boat.", 1))
    descended = {each.id for each in memory.descent({"source": "tool"}).items}
    assert found.block_id in descended
    assert other.block_id not in descended


@pytest.mark.parametrize("name", ["chat", "", "RULES"])
def test_an_unknown_extractor_is_refused_before_anything_is_written(
    name: str, memory: SyncMemory
) -> None:
    version = memory.status().version
    with pytest.raises(FieldRefused, match="no extractor is called"):
        memory.add([said("I live in Paris.", 1)], extract=name)
    assert memory.status().version == version


def test_what_is_no_extractor_is_refused() -> None:
    with pytest.raises(FieldRefused, match="not an extractor"):
        SyncMemory.open(":memory:", extractor=object())  # type: ignore[arg-type]


def test_no_extractor_records_no_extraction(memory: SyncMemory) -> None:
    assert memory.add([said("I live in Paris.", 1)], extract="none").extraction is None
    assert "facts-extracted" not in {entry.kind for entry in memory.log()}


def test_rules_update_what_a_speaker_said_before() -> None:
    with SyncMemory.open(":memory:", embedder=PlaneEmbedder()) as memory:
        messages = [said("I live in Paris.", 1), said("Now I live in Rome.", 2)]
        added = memory.add([*messages, said("I live in Oslo.", 3, name="Bob")], extract="rules")
    effects = [(each.content, each.status == "archived", each.effect) for each in added.facts]
    assert effects == [
        ("I live in Paris.", True, "none"),
        ("Now I live in Rome.", False, "revised"),
        ("I live in Oslo.", False, "none"),
    ]


def test_an_archived_fact_that_is_found_again_is_not_connected(
    memory: SyncMemory, extractor: Scripted
) -> None:
    memory.learn("I live in Paris.", author="Ben", created_at="2026-03-01T00:00:00+00:00")
    message = said("I live in Rome.", 2, id="1")
    found = add(memory, extractor, message)
    memory.forget(found.block_id)
    extractor.prompt = "another"
    again = add(memory, extractor, message, relation="contradicts", other=0)
    assert (again.block_id, again.effect) == (found.block_id, "none")
    assert memory.edges(found.block_id) == ()


def test_a_repeated_addition_is_answered_as_the_first_time(
    memory: SyncMemory, extractor: Scripted
) -> None:
    extractor.error = TimeoutError("no answer")
    failed = memory.add([said("I live in Rome.", 1)], command_id="a")
    extractor.error = None
    extractor.facts = [whole("I live in Rome.")]
    added = memory.add([said("I live in Rome.", 1)], command_id="b")
    memory.forget(added.facts[0].block_id)
    version = memory.status().version
    again = memory.add([said("I live in Rome.", 1)], command_id="a")
    assert failed.extraction is not None
    assert again.extraction is not None
    assert (again.extraction.status, again.extraction.unread) == ("failed", 1)
    assert again.extraction.problems == ("the extractor failed",)
    assert memory.add([said("I live in Rome.", 1)], command_id="b") == added
    assert memory.status().version == version


def test_a_fact_and_the_message_of_which_it_quotes_a_part_take_one_place(
    memory: SyncMemory, extractor: Scripted
) -> None:
    text = "I collect swords."
    extractor.facts = [whole(text)]
    memory.add([said(f"{text} The weather is fine today.", 1)])
    memory.add([said("I also collect stamps.", 2)])
    memory.consolidate()
    short = memory.recall("who collects swords?", top_k=2, min_probability=0.0)
    assert "I also collect stamps." in {each.content for each in short.blocks}
    assert len(memory.recall("who collects swords?", top_k=3, min_probability=0.0).blocks) == 3


def test_facts_do_not_make_later_messages_look_usual() -> None:
    def promoted(facts: list[Fact]) -> float:
        extractor = Scripted(facts=facts)
        with SyncMemory.open(
            ":memory:", extractor=extractor, embedder=PlaneEmbedder(), clock=ManualClock()
        ) as memory:
            memory.add([said("I own a red bicycle.", 1)])
            memory.consolidate()
            memory.add([said("I own a red boat.", 2)])
            memory.consolidate()
            found = memory.recall("a red boat", min_probability=0.0).blocks
        (parts,) = [each.relevance_parts for each in found if each.content == "I own a red boat."]
        return {part.signal: part.value for part in parts}["distinct"]

    assert promoted([whole("I own a red bicycle.")]) == promoted([])


@given(
    messages=st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=6),
    asked=st.lists(WORDS, min_size=1, max_size=3),
    found=st.sets(st.integers(0, 5)),
    limited=st.booleans(),
)
def test_messages_bear_on_a_question_as_if_no_facts_had_been_found(
    messages: list[list[str]], asked: list[str], found: set[int], *, limited: bool
) -> None:
    def relevance(facts: set[int]) -> dict[tuple[str, str | None], list[Any]]:
        extractor = Scripted()
        with SyncMemory.open(
            ":memory:", extractor=extractor, embedder=PlaneEmbedder(), clock=ManualClock()
        ) as memory:
            for place, words in enumerate(messages):
                text = f"I own {' and '.join(words)}."
                extractor.facts = [whole(text)] if place in facts else []
                role = "tool" if limited and place % 2 else "user"
                memory.add([said(text, place + 1, role=role)])
                memory.consolidate()
            blocks = memory.recall(
                " ".join(asked), frame="world", top_k=50, min_probability=0.0
            ).blocks
        return {
            (each.content, each.created_at): [each.probability, *each.relevance_parts]
            for each in blocks
            if each.category == "message" and each.zone == "trusted"
        }

    alone = relevance(set())
    assert alone
    assert relevance(found) == alone


def test_what_was_learned_before_a_message_says_it_again_is_no_repetition() -> None:
    def relevance(facts: list[Fact]) -> tuple[set[str], dict[str | None, Any]]:
        extractor = Scripted()
        with SyncMemory.open(
            ":memory:", extractor=extractor, embedder=PlaneEmbedder(), clock=ManualClock()
        ) as memory:
            memory.learn("I own a boat.", author="Ines", category="fact")
            memory.learn("I own a red bicycle.", author="Ines")
            memory.consolidate()
            memory.recall("a boat", record=False)  # what it computes is kept
            extractor.facts = facts
            found = memory.add([said("I own a boat.", 1)]).facts
            blocks = memory.recall("a boat", min_probability=0.0).blocks
            assert memory.replay_all().reproduced == 1
        return {each.action for each in found}, {
            each.content: each.relevance_parts for each in blocks
        }

    actions, again = relevance([whole("I own a boat.", relation="same", other=0)])
    assert actions <= {"duplicate", "restated"}
    assert again == relevance([])[1]
