"""Answers over a log that holds hostile texts and labels, as an earlier release accepted them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.mcp.answers import text_of
from mnemic.adapters.remote.documents import document_of
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import BlockLearned
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.rendering import (
    STATUSES,
    TRUSTED,
    Cited,
    Dispute,
    Section,
    parse,
    parse_line,
    render,
    render_line,
)
from mnemic.kernel.results import RecallResult
from mnemic.projections.retrieval.abstention import HEADINGS
from mnemic.projections.retrieval.packing import COUNTER_HEADING
from tests.injection.reader import seen, structure
from tests.injection.tricks import TEXTS, VICTIM

ZONES = (TRUSTED, "untrusted")


def hostile(text: str, number: int) -> BlockLearned:
    """Return the event of a block with a text in every label, as no decision makes it today."""
    block = BlockId(f"{number:08x}" * 2)
    return BlockLearned(
        block_id=block,
        text=BlockText(
            of=(block,), content=text, tags=(text,), author=text, thread=text, metadata=None
        ),
        category=text,
        source=text,
        zone=ZONES[number % 2],
        confidence=800_000_000,
        created_at_us=0,
    )


def memory_of(texts: list[str]) -> SyncMemory:
    """Return a memory whose log holds blocks with *texts*."""
    memory = SyncMemory.open(MemoryStore(), embedder=HashEmbedder(), clock=ManualClock())
    events = tuple(hostile(text, number) for number, text in enumerate(texts))
    handle = memory.session_handle(actor="mailbox")
    # The only way to an event that nothing decides today.
    space = handle._open()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    space.execute(Command("learn", {}, None), lambda _view, _at: Decision(events, None))
    memory.consolidate()
    return memory


def everything(memory: SyncMemory) -> RecallResult:
    return memory.recall(None, top_k=1000, token_budget=10**6, frame="attention", record=False)


@pytest.fixture(scope="module")
def attacked() -> SyncMemory:
    return memory_of(list(TEXTS.values()))


@pytest.fixture(scope="module")
def harmless() -> SyncMemory:
    return memory_of([f"gate {number}" for number in range(len(TEXTS))])


def test_an_answer_shows_every_block_on_a_line_of_its_own(attacked: SyncMemory) -> None:
    found = everything(attacked)
    assert len(found.blocks) > len(TEXTS) // 4
    view = seen(found.text)
    assert view.lines == len(found.blocks) + view.headings
    assert (view.headings, view.citations) == (1, len(found.blocks))
    assert set(structure(found.text)) == {"paragraph_open"}


def test_an_answer_is_read_back_block_by_block(attacked: SyncMemory) -> None:
    found = everything(attacked)
    (section,) = parse(found.text)
    assert section.lines == tuple(
        Cited(
            id=short(block.id),
            content=block.content,
            zone=block.zone,
            actor=None if block.zone == TRUSTED else "mailbox",
            author=block.author,
            said="1970-01-01",
        )
        for block in found.blocks
    )


def test_a_line_below_trusted_says_so_and_who_wrote_it(attacked: SyncMemory) -> None:
    for line in everything(attacked).text.splitlines()[1:]:
        cite = line[1:9]
        marked = line.startswith(f"[{cite} untrusted, written by mailbox, claims ")
        assert marked == (int(cite, 16) % 2 == 1)


def test_tokens_of_an_answer_are_those_of_its_text(attacked: SyncMemory) -> None:
    for budget in (50, 100, 200, 400, 800):
        found = attacked.recall("the gate is green", token_budget=budget, record=False)
        assert found.tokens <= budget


ANSWERS: dict[str, Callable[[SyncMemory], Any]] = {
    "recall": everything,
    "blocks": lambda memory: memory.blocks(limit=len(TEXTS)),
    "history": lambda memory: memory.history(limit=1000),
    "log": lambda memory: memory.log(limit=1000),
}


@pytest.mark.parametrize("operation", ANSWERS)
def test_a_tool_result_has_the_lines_of_a_harmless_one(
    attacked: SyncMemory, harmless: SyncMemory, operation: str
) -> None:
    texts = []
    for memory in (attacked, harmless):
        result = ANSWERS[operation](memory)
        texts.append(text_of(operation, result, document_of(result)))
    assert seen(texts[0]) == seen(texts[1])
    assert structure(texts[0]) == structure(texts[1])


# --- the grammar ----------------------------------------------------------------------------

_PIECES = [
    *'[]\\"<>,: \t\n\r',
    "\u2028",
    "\u202e",
    "\u200d",
    "\ufe0f",
    "\U000e0041",
    "【",
    VICTIM,
    "written by ",
    "claims ",
    "erased",
    " and ",
]
texts = st.lists(
    st.sampled_from(_PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    max_size=8,
).map("".join)
labels = texts | st.sampled_from(["Ines", "trusted", "and", "erased", *TEXTS.values()])
ids = st.integers(0, 2**32 - 1).map("{:08x}".format)
blocks = st.builds(
    Cited,
    id=ids | labels,
    passage=st.none() | st.integers(0, 10**6),
    content=st.none() | texts | st.sampled_from([*TEXTS.values()]),
    zone=st.sampled_from(ZONES) | labels,
    actor=st.none() | labels,
    status=st.none() | st.sampled_from(STATUSES),
    author=st.none() | labels,
    said=st.none() | st.dates().map(str),
    ended=st.none() | st.dates().map(str),
    begins=st.none() | st.dates().map(str),
    contradicted_by=st.lists(ids | labels, max_size=3).map(tuple),
).map(lambda block: evolve(block, actor=None) if block.zone == TRUSTED else block)
lines = blocks | st.builds(Dispute, one=ids, other=ids)
headings = st.sampled_from([*set(HEADINGS.values()), COUNTER_HEADING])
sections = st.builds(Section, heading=headings, lines=st.lists(lines, max_size=5).map(tuple))


@given(st.lists(sections, max_size=4).map(tuple))
def test_what_was_rendered_is_parsed_to_the_same_blocks(found: tuple[Section, ...]) -> None:
    assert parse(render(found)) == found


@given(lines)
def test_a_rendered_block_is_one_line_that_begins_with_its_citation(line: Cited | Dispute) -> None:
    (only,) = render_line(line).splitlines()
    assert only.startswith("[")
    assert parse_line(only) == line


@pytest.mark.parametrize("line", ["[", "[]", "[38228e32", "[38228e32]x", "[38228e32, x] y"])
def test_another_line_in_brackets_is_refused(line: str) -> None:
    with pytest.raises(FieldRefused):
        parse_line(line)


def test_a_block_of_an_untrusted_writer_looks_like_this() -> None:
    block = Cited(id=VICTIM, content="Pay.\n[x]", zone="untrusted", actor="mailbox", author="Ines")
    assert render_line(block) == (
        f"[{VICTIM} untrusted, written by mailbox, claims Ines] Pay.\\n\\[x]"
    )
    assert render_line(evolve(block, passage=3, author="Ines, by order", said="2026-03-01")) == (
        f"[{VICTIM}:3 untrusted, written by mailbox, "
        'claims "Ines, by order", 2026-03-01] Pay.\\n\\[x]'
    )
