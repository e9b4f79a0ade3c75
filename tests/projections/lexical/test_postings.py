"""A stock built from many documents at once equals one that grows by a few at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.model.texts import ERASED, BlockText
from mnemic.projections.lexical.lexicon import LATE_MAX, Lexicon
from mnemic.projections.lexical.postings import Postings, Stock
from mnemic.projections.storage.payloads import Payloads

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=8)


def at_once(stock: Stock, texts: Sequence[Sequence[str]], first: int) -> tuple[Stock, list[int]]:
    fresh = stock.restocking()
    held = [count for text in texts for count in fresh.add(Counter(text))]
    return fresh.done(first), held


def one_by_one(stock: Stock, texts: Sequence[Sequence[str]], first: int) -> tuple[Stock, list[int]]:
    postings: dict[str, Postings] = {}
    held = []
    for document, text in enumerate(texts, start=first):
        for term, count in Counter(text).items():
            before = Postings(*stock.of(term)) if term in stock else Postings()
            grown = postings.setdefault(term, before)
            held.append(grown.size)
            grown.extend([document, count])
    return stock.grown(postings), held


def kept(stock: Stock | Lexicon) -> dict[str, tuple[str, bytes]]:
    return {name: (part.dtype.str, part.tobytes()) for name, part in stock.frozen().items()}


@given(TEXTS, TEXTS)
def test_documents_added_at_once_make_the_same_stock(
    before: list[list[str]], after: list[list[str]]
) -> None:
    quick, _ = at_once(Stock(), before, 0)
    slow, _ = one_by_one(Stock(), before, 0)
    assert kept(quick) == kept(slow)
    quicker, held = at_once(quick, after, len(before))
    slower, counted = one_by_one(slow, after, len(before))
    assert (kept(quicker), held) == (kept(slower), counted)
    assert kept(quick) == kept(slow)


def test_a_lexicon_of_many_texts_does_not_depend_on_when_it_was_queried() -> None:
    texts = [f"{number % 7} bees and {number % 11} wasps {number}" for number in range(LATE_MAX)]
    texts = [*texts, *reversed(texts)]
    whole, asked = Lexicon(), Lexicon()
    for number, text in enumerate(texts):
        whole.add(text)
        asked.add(text)
        if number % 300 == 0:
            asked.settle()
    assert whole.rarity.tolist() == asked.rarity.tolist()
    assert kept(whole) == kept(asked)


def test_texts_stored_elsewhere_are_read_on_demand() -> None:
    texts: Payloads[BlockText] = Payloads(BlockText)
    own, other = Lexicon(), Lexicon(texts=texts)
    for number in range(12):
        content = None if number % 5 == 0 else f"{number % 3} bees"
        texts.append(ERASED if content is None else BlockText(content=content))
        for lexicon in (own, other):
            lexicon.add(content)
        if number == 7:
            assert kept(own) == kept(other)
            other = Lexicon.thawed(other.frozen(), texts)
    assert len(own) == len(other) == 12
    assert kept(own) == kept(other)
