"""Messages read again on a fork: what that changes, and its adoption by one command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused, Forbidden, SpaceNotFound
from mnemic.kernel.ports import Extract, Fact, KnownBlock, Message, Span
from mnemic.specs.strategies.vectors import PlaneEmbedder

PARIS, ROME, TEA, DOG = (
    "I live in Paris.",
    "I live in Rome.",
    "I like tea and cake.",
    "My dog is called Bo.",
)


Facts = Mapping[str, Sequence[tuple[str, str, str | None]]]
"""By message, the text of a fact, its relation, and the known text that it relates to."""


@define
class Table:
    """A model that finds what a table says of each message, and relates it to a known text."""

    facts: Facts
    name: str = "table"
    model: str = "first"
    prompt: str = ""
    window: int = 1
    compares: bool = True
    fails_at: str | None = None
    asked: list[str] = field(factory=list)

    def extract(self, messages: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        (message,) = messages
        self.asked.append(message.content)
        if message.content == self.fails_at:
            raise TimeoutError("no answer")
        places = {each.content: place for place, each in enumerate(known)}
        return Extract(
            answer=f"about {message.content}",
            facts=tuple(
                Fact(
                    text=text,
                    quotes=(Span(message=0, text=message.content),),
                    relation=relation,
                    other=None if other is None else places[other],
                )
                for text, relation, other in self.facts.get(message.content, ())
            ),
        )


FIRST = Table({PARIS: [(PARIS, "unrelated", None)], TEA: [("I like cake.", "unrelated", None)]})
ROME_FOR_PARIS: Facts = {ROME: [(ROME, "updates", PARIS)]}
BETTER: Facts = {
    PARIS: [(PARIS, "unrelated", None)],
    ROME: [(ROME, "updates", PARIS)],
    TEA: [("I like tea.", "unrelated", None)],
}


def said(content: str, day: int) -> dict[str, Any]:
    at = f"2026-03-{day:02}T09:00:00+00:00"
    return {"role": "user", "name": "Ines", "content": content, "created_at": at, "id": str(day)}


TALK = [said(PARIS, 1), said(ROME, 2), said(TEA, 3)]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def memory(store: MemoryStore) -> Generator[SyncMemory]:
    with opened(store, FIRST) as memory:
        memory.add(TALK)
        memory.consolidate()
        yield memory


def opened(store: MemoryStore, extractor: Table, **given: Any) -> SyncMemory:
    return SyncMemory.open(
        store, extractor=extractor, embedder=PlaneEmbedder(), clock=ManualClock(), **given
    )


def facts(memory: Any) -> dict[str | None, str]:
    """Return the text and the status of every fact that is not archived, by text."""
    found = memory.blocks(category="fact", limit=100).items
    return {each.content: each.status for each in found if each.status != "archived"}


def changes(result: Any) -> dict[str, list[tuple[str | None, str | None]]]:
    return {
        name: [(each.before, each.after) for each in getattr(result, name)]
        for name in ("gained", "lost", "changed")
    }


CHANGES = {
    "gained": [],
    "lost": [],
    "changed": [("I like cake.", "I like tea."), (PARIS, ROME)],
}


def test_a_reextraction_shows_what_it_changes_and_leaves_the_original(
    memory: SyncMemory, store: MemoryStore
) -> None:
    head = store.log("default").head()
    with opened(store, Table(BETTER, model="better")) as again:
        found = again.re_extract("table", "trial")
        assert (found.status, found.read, found.unread, found.model) == ("done", 3, 0, "better")
        assert {name: sorted(each) for name, each in changes(found).items()} == CHANGES
    assert store.log("default").head() == head
    assert facts(memory) == {PARIS: "active", "I like cake.": "active"}


def test_an_adoption_is_one_command_that_asks_no_extractor(store: MemoryStore) -> None:
    extractor = Table(BETTER, model="better")
    with opened(store, FIRST) as memory:
        memory.add(TALK)
    with opened(store, extractor) as memory:
        shown = memory.re_extract("table", "trial")
        memory.learn("something else")  # the original has moved on since
        asked = list(extractor.asked)
        before = memory.status().version
        adopted = memory.adopt_extraction("trial", command_id="once")
        assert extractor.asked == asked
        assert changes(adopted) == changes(shown)
        assert set(facts(memory)) == {ROME, "I like tea."}
        assert set(facts(memory.as_of(version=before))) == {PARIS, "I like cake."}
        row = store.log("default").command("once")
        assert row is not None
        assert (row.first, row.last) == (before + 1, memory.status().version)
        (source,) = memory.sources(of=str(adopted.changed[0].after_id))
        assert (source.model, source.quotes[0].text) in {("better", ROME), ("better", TEA)}
        version = memory.status().version
        assert memory.adopt_extraction("trial", command_id="once") == adopted
        assert memory.adopt_extraction("trial").action == "nothing"
        assert memory.status().version == version
        assert memory.verify().sound
    with opened(store, FIRST) as memory:  # replayed without the extractor
        assert set(facts(memory)) == {ROME, "I like tea."}


def test_what_a_lost_fact_had_superseded_comes_back(store: MemoryStore) -> None:
    wrong = Table({PARIS: [(PARIS, "unrelated", None)], **ROME_FOR_PARIS})
    with opened(store, wrong) as memory:
        memory.add(TALK[:2])
        memory.consolidate()
        assert set(facts(memory)) == {ROME}
    right = Table({PARIS: [(PARIS, "unrelated", None)]}, model="better")
    with opened(store, right) as memory:
        found = memory.re_extract("table", "trial")
        assert changes(found) == {"gained": [(None, PARIS)], "lost": [(ROME, None)], "changed": []}
        memory.adopt_extraction("trial")
        assert set(facts(memory)) == {PARIS}


def test_the_same_extractor_changes_nothing_and_keeps_evidence(store: MemoryStore) -> None:
    with opened(store, FIRST) as memory:
        added = memory.add(TALK)
        memory.consolidate()
        block = added.facts[0].block_id
        memory.outcome([block], 1.0)
        found = memory.re_extract("table", "trial")
        assert changes(found) == {"gained": [], "lost": [], "changed": []}
        before = memory.block(block)
        memory.adopt_extraction("trial")
        assert memory.block(block) == before


def test_a_fact_that_also_rests_on_something_else_stays(store: MemoryStore) -> None:
    with opened(store, FIRST) as memory:
        memory.add(TALK)
        memory.learn(PARIS, author="Ines", category="fact", metadata={"role": "user"})
    with opened(store, Table({}, model="worse")) as memory:
        found = memory.re_extract("table", "trial")
        assert [each.before for each in found.lost] == ["I like cake."]


def test_a_failing_extractor_leaves_everything_and_is_tried_again(store: MemoryStore) -> None:
    with opened(store, FIRST) as memory:
        memory.add(TALK)
    head = store.log("default").head()
    broken = Table(BETTER, model="better", fails_at=ROME)
    with opened(store, broken) as memory:
        found = memory.re_extract("table", "trial")
        assert (found.status, found.read, found.unread) == ("partial", 1, 2)
        assert changes(found) == {"gained": [], "lost": [], "changed": []}
        assert found.problems == ("TimeoutError: no answer",)
        broken.fails_at, broken.asked = None, []
        again = memory.re_extract("table", "trial")
        assert broken.asked == [ROME, TEA]
        assert (again.status, again.read, again.unread) == ("done", 3, 0)
        assert {name: sorted(each) for name, each in changes(again).items()} == CHANGES
        assert store.log("default").head() == head


def test_an_erased_message_and_newer_ones_are_left_out_of_an_adoption(store: MemoryStore) -> None:
    with opened(store, FIRST) as memory:
        added = memory.add(TALK)
    with opened(store, Table(BETTER, model="better")) as memory:
        memory.re_extract("table", "trial")
        memory.erase(added.results[1].block_id)
        memory.add([said(DOG, 4)], extract="rules")
        kept = set(facts(memory)) - {PARIS, "I like cake."}
        adopted = memory.adopt_extraction("trial")
        assert set(facts(memory)) == {PARIS, "I like tea.", *kept}
        assert adopted.refused_count == 1


def test_decisions_that_would_have_come_out_otherwise_are_listed(store: MemoryStore) -> None:
    with opened(store, FIRST) as memory:
        memory.add(TALK)
        asked = memory.recall("angle 1", min_probability=0.0)
        memory.add([said(DOG, 4)])
    with opened(store, Table(BETTER, model="better")) as memory:
        found = memory.re_extract("table", "trial")
        assert (found.decisions_compared, found.decisions_left_out) == (1, 0)
        (changed,) = found.decisions
        assert (changed.decision_id, changed.query) == (asked.decision_id, "angle 1")
        new = {each.after_id for each in found.changed}
        assert set(changed.entered) <= new
        assert changed.entered
        assert set(changed.left) == {each.before_id for each in found.changed}


def test_only_messages_of_the_time_are_read_again(store: MemoryStore) -> None:
    clock, extractor = ManualClock(), Table({}, model="other")
    with SyncMemory.open(
        store, extractor=extractor, embedder=PlaneEmbedder(), clock=clock
    ) as memory:
        memory.add(TALK[:1], extract="none")
        clock.set(clock.now_us() + 3_600_000_000)
        at = memory.add(TALK[1:2], extract="none").results[0].block_id
        since = memory.log(limit=1000)[-1].recorded_at
        memory.re_extract("table", "trial", since=since)
        assert extractor.asked == [ROME]
        assert memory.facts(of=at) == ()


def test_refusals(memory: SyncMemory) -> None:
    with pytest.raises(SpaceNotFound):
        memory.adopt_extraction("nowhere")
    with pytest.raises(FieldRefused, match="is this space"):
        memory.re_extract("table", "default")
    with pytest.raises(FieldRefused, match="no extractor"):
        memory.re_extract("oracle", "trial")
    memory.re_extract("table", "trial")
    with pytest.raises(FieldRefused, match="a re-extraction by 'table'"):
        memory.re_extract("rules", "trial")
    with pytest.raises(Forbidden):
        memory.session_handle(actor="bob", zone="external").adopt_extraction("trial")


def test_a_space_with_another_beginning_is_no_fork(memory: SyncMemory, store: MemoryStore) -> None:
    with opened(store, FIRST, space="other"):
        pass
    for call in (
        lambda: memory.re_extract("table", "other"),
        lambda: memory.adopt_extraction("other"),
    ):
        with pytest.raises(FieldRefused, match="is no fork"):
            call()


PROGRAM = """
import os, sys
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.kernel.ports import Extract, Fact, Span
from mnemic.specs.strategies.vectors import PlaneEmbedder

class Killed:
    name, model, prompt, window, compares = "table", "better", "", 1, False

    def extract(self, messages, known):
        (message,) = messages
        if message.content == sys.argv[2]:
            os._exit(9)
        span = Span(message=0, text=message.content)
        return Extract(facts=(Fact(text=message.content, quotes=(span,)),))

with SyncMemory.open(sys.argv[1], extractor=Killed(), embedder=PlaneEmbedder()) as memory:
    memory.re_extract("table", "trial")
"""


@pytest.mark.extended
def test_a_killed_reextraction_is_continued(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with SyncMemory.open(path, extractor=FIRST, embedder=PlaneEmbedder()) as memory:
        memory.add(TALK)
        memory.recall("angle 1")
        before = memory.verify()
    ran = subprocess.run([sys.executable, "-c", PROGRAM, path, TEA], check=False)
    assert ran.returncode == 9
    again = Table(BETTER, model="better", compares=False)
    with SyncMemory.open(path, extractor=again, embedder=PlaneEmbedder()) as memory:
        assert memory.verify() == before
        found = memory.re_extract("table", "trial")
        assert again.asked == [TEA]
        assert (found.status, found.read) == ("done", 3)
        assert memory.verify() == before
        memory.adopt_extraction("trial")
        assert set(facts(memory)) == {PARIS, ROME, "I like tea."}
