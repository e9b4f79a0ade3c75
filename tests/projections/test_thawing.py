"""A thawed projection continues like the original: lexicon, threads, vectors, ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.errors import RecipeRetired, VectorRefused
from mnemic.kernel.events import BlocksComposed, CompositionLabelled, Member, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId, CompositionId
from mnemic.kernel.model.texts import (
    ERASED,
    CompositionText,
    Erased,
    LabelText,
    MemberText,
)
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.blocks.threads import NOBODY, NONE
from mnemic.projections.blocks.threads import Threads as Speech
from mnemic.projections.ledger.ledger import Ledger
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.storage.array_bundle import ArrayBundle, packed
from mnemic.projections.vectors.index import VectorIndex
from tests.projections.scripted_state import Talk

CUTS = st.integers(min_value=0, max_value=12)


def as_loaded(parts: Mapping[str, NDArray[Any]]) -> ArrayBundle:
    """Return parts as a file gives them back: read-only."""
    return {
        name: np.frombuffer(part.tobytes(), dtype=part.dtype).reshape(part.shape)
        for name, part in parts.items()
    }


def comparable(parts: Mapping[str, NDArray[Any]]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return parts as values that can be compared."""
    return {name: (part.dtype.str, part.shape, part.tobytes()) for name, part in parts.items()}


# --- lexicon ----------------------------------------------------------------------------------

WORDS = st.sampled_from("the bees bee tea teas 3.11 walked walking café night nights mist".split())
TEXTS = st.lists(st.none() | st.lists(WORDS, max_size=8).map(" ".join), max_size=12)


def lexicon_of(texts: Sequence[str | None]) -> Lexicon:
    return grown(Lexicon(), texts)


def grown(lexicon: Lexicon, texts: Sequence[str | None]) -> Lexicon:
    for text in texts:
        lexicon.add(text)
    return lexicon


def answers(lexicon: Lexicon, alive: Sequence[bool] | None = None) -> list[list[int]]:
    """Return the results of a search, the rarities and the incidences of a lexicon."""
    mask = np.ones(len(lexicon), dtype=np.bool_) if alive is None else np.array(alive, np.bool_)
    found = lexicon.search("bees walking at night, in a café", mask[: len(lexicon)])
    return [column.tolist() for column in (*found, lexicon.rarity, *lexicon.incidences())]


@given(
    texts=TEXTS,
    cut=CUTS,
    asked=st.booleans(),
    alive=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_a_thawed_lexicon_continues(
    texts: list[str | None], cut: int, alive: list[bool], *, asked: bool
) -> None:
    thawed = Lexicon.thawed(as_loaded(lexicon_of(texts[:cut]).frozen()))
    if asked:
        answers(thawed)
    whole = lexicon_of(texts)
    assert answers(grown(thawed, texts[cut:]), alive) == answers(whole, alive)
    assert comparable(thawed.frozen()) == comparable(whole.frozen())


@given(texts=TEXTS, first=CUTS, second=CUTS)
def test_the_parts_of_a_lexicon_do_not_depend_on_searches(
    texts: list[str | None], first: int, second: int
) -> None:
    searched, cuts = Lexicon(), sorted((first, second))
    for start, end in zip([0, *cuts], [*cuts, len(texts)], strict=True):
        grown(searched, texts[start:end]).settle()
    assert comparable(searched.frozen()) == comparable(lexicon_of(texts).frozen())


def test_the_parts_of_a_lexicon_stay_as_they_were_while_it_grows() -> None:
    lexicon = Lexicon.thawed(lexicon_of(["bees hum", "tea at night"]).frozen())
    parts = lexicon.frozen()
    before = comparable(parts)
    answers(grown(lexicon, ["bees, bees", "night bees"] * 40))
    assert comparable(parts) == before


def test_a_term_count_above_255_is_kept() -> None:
    whole = lexicon_of(["bees " * 300, "bees"])
    thawed = Lexicon.thawed(as_loaded(whole.frozen()))
    assert answers(thawed) == answers(whole)
    assert whole.frozen()["stock/counts"].tolist() == [300, 1]


@pytest.mark.parametrize("texts", [[], [None], [""], ["bees"], [None, "bees", None]])
def test_small_lexicons_freeze_and_thaw(texts: list[str | None]) -> None:
    whole = lexicon_of(texts)
    thawed = Lexicon.thawed(as_loaded(whole.frozen()))
    assert (len(thawed), answers(thawed)) == (len(whole), answers(whole))
    assert comparable(thawed.frozen()) == comparable(whole.frozen())


def test_a_lexicon_of_a_retired_analyser_is_refused() -> None:
    with pytest.raises(RecipeRetired):
        Lexicon.thawed({**Lexicon().frozen(), "recipe/analyser": packed("klingon-1")})


# --- threads ----------------------------------------------------------------------------------

SPEECHES = st.lists(
    st.tuples(
        st.sampled_from((None, "Ann", "Bo the Bold")),
        st.sampled_from((None, "", "kitchen", "garden")),
        st.sampled_from(("message", "knowledge")),
        st.sampled_from((None, 0, 1, 200, 400)),
    ),
    max_size=12,
)
Said = tuple[str | None, str | None, str, int | None]


def say(talk: Talk, speeches: Sequence[Said]) -> None:
    for author, thread, category, minute in speeches:
        talk.say("so", author=author, thread=thread, category=category, minute=minute)


@given(speeches=SPEECHES, cut=CUTS, settled=st.booleans())
def test_thawed_threads_continue(speeches: list[Said], cut: int, *, settled: bool) -> None:
    talk = Talk()
    say(talk, speeches[:cut])
    if settled:
        talk.state.sequence.settle()
    catalogue = talk.state.catalogue
    thawed = Speech.thawed(as_loaded(Speech(catalogue).frozen()), catalogue)
    say(talk, speeches[cut:])
    whole = talk.state.sequence
    assert thawed.links.tolist() == whole.links.tolist()
    assert thawed.author.tolist() == whole.author.tolist()
    authors = set(whole.author.tolist()) - {NOBODY}
    assert [thawed.name_terms(each) for each in authors] == [
        whole.name_terms(each) for each in authors
    ]
    assert comparable(thawed.frozen()) == comparable(whole.frozen())


def test_the_parts_of_threads_stay_as_they_were_while_they_grow() -> None:
    talk = Talk()
    say(talk, [("Ann", "kitchen", "message", 0)] * 3)
    parts = talk.state.sequence.frozen()
    before = comparable(parts)
    say(talk, [("Bo", "kitchen", "message", 1)])
    assert talk.state.sequence.links[2, 4:].tolist() == [3, NONE, NONE, NONE]
    assert comparable(parts) == before


# --- vectors ----------------------------------------------------------------------------------

VECTORS = st.lists(st.lists(st.integers(-50, 50), min_size=3, max_size=3), max_size=12).map(
    lambda rows: [np.array(row, dtype=np.int16) for row in rows]
)
QUERY: Vector = np.array([30, -20, 10], dtype=np.int16)


class Ids:
    """Ids in the reverse order of the numbers, so that ties matter."""

    def __getitem__(self, ordinal: int, /) -> str:
        return f"{1000 - ordinal:016x}"


def appended(index: VectorIndex, stored: Sequence[Vector], first: int = 0) -> VectorIndex:
    for block, vector in enumerate(stored, start=first):
        index.append(block, vector)
    return index


def nearness(index: VectorIndex) -> list[Any]:
    """Return the results of all queries of an index."""
    rows = np.arange(index.rows)
    queries = [QUERY, -QUERY] if index.rows else []
    pairs = [
        np.stack((found.queries, found.rows, found.cosines), axis=1).tolist()
        for found in index.pairs(queries, rows, floor=0)
    ]
    return [
        (index.rows, index.dimension),
        index.block_of.tolist(),
        index.squared_norms.tolist(),
        [index.vector(row).tolist() for row in rows.tolist()],
        index.cosines(QUERY).tolist(),
        index.cosines_between(rows, rows[::-1]).tolist(),
        [each.tolist() for each in index.top(QUERY, None, 3, ids=Ids())],
        pairs,
    ]


@given(stored=VECTORS, cut=CUTS, asked=st.booleans())
def test_a_thawed_index_continues(stored: list[Vector], cut: int, *, asked: bool) -> None:
    thawed = VectorIndex.thawed(as_loaded(appended(VectorIndex(), stored[:cut]).frozen()))
    if asked:
        nearness(thawed)
    appended(thawed, stored[cut:], first=len(stored[:cut]))
    whole = appended(VectorIndex(), stored)
    assert comparable(thawed.frozen()) == comparable(whole.frozen())
    assert nearness(thawed) == nearness(whole)
    assert comparable(thawed.frozen()) == comparable(whole.frozen())


def test_a_thawed_index_grows_beyond_its_capacity() -> None:
    stored = [np.array([row, 1, 2], dtype=np.int16) for row in range(300)]
    thawed = VectorIndex.thawed(as_loaded(appended(VectorIndex(), stored[:100]).frozen()))
    appended(thawed, stored[100:], first=100)
    assert nearness(thawed) == nearness(appended(VectorIndex(), stored))


def test_the_parts_of_an_index_stay_as_they_were_while_it_grows() -> None:
    first = appended(VectorIndex(), [QUERY])
    thawed = VectorIndex.thawed(first.frozen())
    parts = [first.frozen(), thawed.frozen()]
    before = [comparable(each) for each in parts]
    for index in (first, thawed):
        appended(index, [QUERY[::-1]] * 100)
    assert [comparable(each) for each in parts] == before


def test_a_thawed_index_refuses_the_same_vectors() -> None:
    thawed = VectorIndex.thawed(appended(VectorIndex(), [QUERY]).frozen())
    with pytest.raises(VectorRefused, match="vectors of size 3"):
        thawed.append(1, QUERY[:2])
    assert nearness(thawed) == nearness(appended(VectorIndex(), [QUERY]))


# --- the ledger -------------------------------------------------------------------------------

MEMBER_TEXTS: st.SearchStrategy[MemberText | Erased | None] = st.sampled_from(
    (None, ERASED, MemberText(preview="tea", metadata='{"tags":[]}', of=(BlockId("b" * 16),)))
)
MEMBERS = st.lists(st.tuples(st.integers(0, 3), MEMBER_TEXTS), min_size=1, max_size=3)
COMPOSED = st.tuples(
    st.just("compose"),
    MEMBERS,
    st.sampled_from((None, ERASED, CompositionText(query="why?", query_hash="ab"))),
)
LABELS = st.tuples(
    st.just("label"),
    st.integers(0, 12),
    st.sampled_from((None, ERASED, LabelText(notes="since it worked"))),
)
TURNS = st.tuples(st.just("turn"), st.integers(0, 12), st.none())
SCRIPTS: st.SearchStrategy[list[Any]] = st.lists(st.one_of(COMPOSED, LABELS, TURNS), max_size=12)


def at(version: int) -> Recorded:
    """Return an envelope whose event the ledger does not read."""
    event = CompositionLabelled(composition_id=CompositionId("any"), label="helpful")
    return Recorded(
        version=version,
        active_us=version * 10,
        recorded_us=1000 - version,
        command_id=CommandId("c"),
        event=event,
    )


class Played:
    """A ledger that replays a script, one line per version."""

    def __init__(self, ledger: Ledger, lines: Sequence[Any], *, before: Sequence[Any] = ()) -> None:
        self.ledger = ledger
        self.names: list[CompositionId] = []
        self.labels: list[int] = []
        for version, line in enumerate((*before, *lines)):
            self.happens(line, version, heard=version >= len(before))

    def happens(self, line: Any, version: int, *, heard: bool) -> None:
        kind, what, text = line
        if kind == "compose":
            name = CompositionId(f"lane\n{version}") if version % 2 else None
            members = tuple(
                Member(block_id=BlockId(f"{block:016x}"), role="primary", rank=rank, text=words)
                for rank, (block, words) in enumerate(what)
            )
            event = BlocksComposed(
                members=members, composition_id=name, text=text, confidence=NANO // 2
            )
            self.names.append(name or CompositionId(f"c{version}"))
            if heard:
                self.ledger.compose(event, at(version), [block for block, _ in what])
        elif kind == "label" and self.names:
            label = CompositionLabelled(
                composition_id=self.names[what % len(self.names)], label="dead_end", text=text
            )
            self.labels.append(version)
            if heard:
                self.ledger.label(label, at(version))
        elif kind == "turn" and self.labels and heard:
            self.ledger.turn(self.labels[what % len(self.labels)], version)


def entries(ledger: Ledger, names: Sequence[CompositionId], last: int) -> list[Any]:
    """Return the content of a ledger at every version."""
    return [
        (
            list(ledger.upto(version)),
            [ledger.find(name, version) for name in (*names, "nothing")],
            [ledger.of(block, version) for block in range(5)],
            [ledger.labels_of(number, version) for number in range(len(names) + 1)],
            [ledger.label_at(label, version) for label in range(last)],
            list(ledger.labels(version, version)),
        )
        for version in range(-1, last)
    ]


@given(script=SCRIPTS, cut=CUTS, asked=st.booleans())
def test_a_thawed_ledger_continues(script: list[Any], cut: int, *, asked: bool) -> None:
    early = Played(Ledger(), script[:cut])
    thawed = Ledger.thawed(as_loaded(early.ledger.frozen()))
    if asked:
        entries(thawed, early.names, cut)
    Played(thawed, script[cut:], before=script[:cut])
    whole = Played(Ledger(), script)
    last = len(script) + 1
    assert entries(thawed, whole.names, last) == entries(whole.ledger, whole.names, last)
    assert comparable(thawed.frozen()) == comparable(whole.ledger.frozen())


def test_the_parts_of_a_ledger_stay_as_they_were_while_it_grows() -> None:
    script: list[Any] = [("compose", [(1, None)], None), ("label", 0, None), ("turn", 0, None)]
    played = Played(Ledger(), script)
    parts = played.ledger.frozen()
    before = comparable(parts)
    Played(played.ledger, script * 30, before=script)
    assert comparable(parts) == before
