"""Short texts are read as the library reads them, token for token."""

from __future__ import annotations

import json
import string
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mnemic.adapters.embedders.short_texts import LENGTH_MAX, ShortTexts, is_short

ROOT = Path(__file__).parents[3]
PACKAGE = find_spec("wordllama")  # importing it would configure logging
assert PACKAGE is not None
assert PACKAGE.origin is not None
FILE = Path(PACKAGE.origin).parent / "tokenizers/l2_supercat_tokenizer_config.json"
WORDS = sorted({*(ROOT / "README.md").read_text(encoding="utf-8").split()})
PRINTABLE = [each for each in string.printable if each.isprintable() and each != "<"]


@pytest.fixture(scope="module")
def short() -> ShortTexts:
    return ShortTexts.read(FILE)


@pytest.fixture(scope="module")
def library() -> Tokenizer:
    tokeniser = Tokenizer.from_file(str(FILE))
    tokeniser.no_padding()
    tokeniser.no_truncation()
    return tokeniser


def tokens(library: Tokenizer, text: str) -> list[int]:
    found: list[int] = library.encode(text, add_special_tokens=False).ids
    return found


@given(
    text=st.one_of(
        st.text(PRINTABLE, max_size=LENGTH_MAX),
        st.text("  aeinorst", max_size=LENGTH_MAX),
        st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join).filter(is_short),
    )
)
def test_any_short_text_has_the_tokens_of_the_library(
    text: str, short: ShortTexts, library: Tokenizer
) -> None:
    assert is_short(text)
    assert short.tokens(text) == tokens(library, text)


def test_the_lines_of_a_page_have_the_tokens_of_the_library(
    short: ShortTexts, library: Tokenizer
) -> None:
    lines = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("\n")
    read = [line for line in lines if is_short(line)]
    assert len(read) > 50
    assert [short.tokens(line) for line in read] == [tokens(library, line) for line in read]


@pytest.mark.parametrize("text", ["naïve", "a\tb", "a\nb", "<s>", "x" * (LENGTH_MAX + 1), "\x00"])
def test_other_texts_are_for_the_library(text: str) -> None:
    assert not is_short(text)


def test_the_list_of_merges_follows_from_the_numbers_of_the_vocabulary(short: ShortTexts) -> None:
    model = json.loads(FILE.read_text(encoding="utf-8"))["model"]
    vocabulary, merges = model["vocab"], model["merges"]
    divisions = [
        (piece[:at], piece[at:])
        for piece in vocabulary
        for at in range(1, len(piece))
        if piece[:at] in vocabulary and piece[at:] in vocabulary
    ]
    divisions.sort(key=lambda parts: short.place(*parts))
    assert [" ".join(parts) for parts in divisions] == merges
