"""Random lessons: nothing is superseded but by its own statement, and nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Block
from mnemic.specs.reference.statements import relation

OPENINGS = ("The gate opens at six", "The gate opens at ten", "Ann runs the yard", "x")
ENDINGS = ("", ".", "!", ". It rains.", ". The lamp is lit. It rains.", " and shuts at ten.")
SPELLINGS = (str, str.lower, str.upper, "- {}".format, "**{}**".format, "Note: {}".format)
SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"author": "Ann"},
    {"author": "Bob"},
    {"metadata": {"user": "ann"}},
    {"metadata": {"user": "bob"}},
    {"source": "web"},
    {"zone": "external"},
    {"category": "fact"},
    {"category": "message", "thread": "t"},
)
SUPERSEDING = {"same", "extends"}


@frozen(kw_only=True)
class Lesson:
    content: str
    scope: dict[str, Any]


def lessons() -> st.SearchStrategy[Lesson]:
    content = st.builds(
        lambda opening, ending, spelling: spelling(opening + ending),
        st.sampled_from(OPENINGS),
        st.sampled_from(ENDINGS),
        st.sampled_from(SPELLINGS),
    )
    # Half of them in one scope, so that pairs meet in it.
    scope = st.one_of(st.just(SCOPES[0]), st.sampled_from(SCOPES))
    return st.builds(lambda content, scope: Lesson(content=content, scope=scope), content, scope)


def opened() -> SyncMemory:
    return SyncMemory.open(
        MemoryStore(),
        embedder=HashEmbedder(),
        clock=ManualClock(),
        policy=Policy(consolidate_chunk=3, auto_consolidate=False),
    )


def scope_of(block: Block) -> tuple[Any, ...]:
    return block.author, str(block.metadata), block.zone, block.category


def content_of(block: Block) -> str:
    assert block.content is not None
    return block.content


def said(memory: SyncMemory, given: list[Lesson], *, pauses: set[int]) -> list[Block]:
    """Learn lessons, consolidating after some, and return every block."""
    ids: dict[str, None] = {}
    named: dict[str, str] = {}
    for number, lesson in enumerate(given):
        ids[memory.learn(lesson.content, **lesson.scope).block_id] = None
        if number in pauses or number == len(given) - 1:
            done = memory.consolidate()
            named.update((pair.old, pair.new) for pair in done.superseded)
    blocks = [memory.block(block) for block in ids]
    assert all(named[each.id] == each.superseded_by for each in blocks if each.superseded_by)
    return blocks


@given(one=lessons(), two=lessons(), together=st.booleans())
def test_a_pair_is_superseded_exactly_by_its_statement_within_its_scope(
    one: Lesson, two: Lesson, *, together: bool
) -> None:
    with opened() as memory:
        blocks = said(memory, [one, two], pauses=set() if together else {0})
        if len(blocks) == 1:
            assert one.content.strip() == two.content.strip()
            return
        old, new = blocks
        expected = (
            relation(content_of(old), content_of(new)) in SUPERSEDING
            and scope_of(old) == scope_of(new)
            and old.category != "message"
        )
        assert (old.superseded_by == new.id) == expected
        assert old.status == ("archived" if expected else "active")
        assert new.status == "active"


@settings(max_examples=settings().max_examples // 2)
@given(
    given_lessons=st.lists(lessons(), min_size=2, max_size=9),
    pauses=st.sets(st.integers(0, 8), max_size=3),
)
def test_what_was_learned_is_found_by_its_words_or_contained_in_its_successor(
    given_lessons: list[Lesson], pauses: set[int]
) -> None:
    with opened() as memory:
        blocks = {block.id: block for block in said(memory, given_lessons, pauses=pauses)}
        for block in blocks.values():
            chain = [block]
            while (after := chain[-1].superseded_by) is not None:
                chain.append(blocks[after])
            for old, new in pairwise(chain):
                assert relation(content_of(old), content_of(new)) in SUPERSEDING
                assert scope_of(old) == scope_of(new)
                assert old.archive_reason == "superseded"
            assert chain[-1].status == "active"
            found = memory.recall(content_of(chain[-1]), top_k=20, record=False)
            assert chain[-1].id in found.block_ids


@given(given_lessons=st.lists(lessons(), min_size=2, max_size=9))
def test_users_find_their_own_words_and_nobody_elses(given_lessons: list[Lesson]) -> None:
    with opened() as memory:
        users = [memory.session_handle(actor=name, scope={"user": name}) for name in ("ann", "bob")]
        own: list[dict[str, str]] = [{}, {}]
        for lesson in given_lessons:
            if "metadata" in lesson.scope:
                continue
            for user, learned in zip(users, own, strict=True):
                learned[user.learn(lesson.content, **lesson.scope).block_id] = lesson.content
        assert not own[0].keys() & own[1].keys()
        memory.consolidate()
        for user, learned in zip(users, own, strict=True):
            active = {block for block in learned if memory.block(block).status == "active"}
            for block in learned.keys() - active:
                assert memory.block(block).superseded_by in learned
            for block in active:
                found = user.recall(learned[block], top_k=30, record=False).block_ids
                assert block in found
                assert {*found} <= active
