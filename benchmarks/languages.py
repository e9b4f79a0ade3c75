"""Measures whether texts are found in other languages than English.

Each file of ``questions`` holds thirty short texts in one language, each with a question that it
answers. They say the same in all languages. The questions mostly use the words of the text, as far
as possible in other forms: a search for the words as they are written finds little.

Each question is asked of the thirty texts of its language, and of all texts of all languages
together. Recall@k is the share of the questions whose text is among the first k.

Systems: the public ``recall`` with the bundled embedder, whose vocabulary is mostly English; the
words of the current recipe alone (``words-1``); those of the English analyser, which older recipes
use; and SQLite's FTS5, with its tokenizer ``unicode61`` over any word of the question, and with its
tokenizer ``trigram`` over any three neighbouring letters of a word.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import tomllib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from attrs import frozen
from pages import table, written
from peers.fts5 import SEARCH, any_of

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.projections.lexical.languages import detection, words
from mnemic.projections.lexical.lexicon import Lexicon

FOLDER: Final = Path(__file__).parent / "questions"
DEPTHS: Final = (1, 5)
RECALL: Final = "recall"
WORDS: Final = "words"
ENGLISH: Final = "English words"
UNICODE61: Final = "unicode61"
TRIGRAM: Final = "trigram"
SYSTEMS: Final = (RECALL, WORDS, ENGLISH, UNICODE61, TRIGRAM)
TOKENIZERS: Final = {UNICODE61: "unicode61", TRIGRAM: "trigram"}

Ranked: TypeAlias = Callable[[str], Sequence[int]]
"""From a question to the places of texts, best first; at least ten if so many are found."""


@frozen(kw_only=True)
class Language:
    """The texts of a language, and the question that each of them answers."""

    code: str
    name: str
    pairs: tuple[tuple[str, str], ...]


@frozen(kw_only=True)
class Row:
    """What a system finds: by depth, the share of the questions."""

    own: Mapping[int, float]
    """Among the texts of the language."""
    mixed: Mapping[int, float]
    """Among the texts of all languages."""


def languages(codes: Iterable[str] = ()) -> list[Language]:
    """Return the languages of the folder by code, or some of them."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        pairs = tuple((text, question) for text, question in read["pairs"])
        found.append(Language(code=path.stem, name=read["name"], pairs=pairs))
    wanted = set(codes) or {each.code for each in found}
    return [each for each in found if each.code in wanted]


# --- systems --------------------------------------------------------------------------------


@contextmanager
def systems(texts: Sequence[str], names: Sequence[str]) -> Generator[dict[str, Ranked]]:
    """Yield the systems, each over *texts*."""
    lexicon = Lexicon()
    for text in texts:
        lexicon.add(text)
    alive = np.ones(len(texts), dtype=np.bool_)

    def by_words(question: str) -> list[int]:
        return _ordered(lexicon.counts(lexicon.asked(question, len(texts)), alive))

    def by_english(question: str) -> list[int]:
        return _ordered(lexicon.counts(lexicon.terms(question), alive))

    with (
        closing(FTS5(texts, UNICODE61)) as runs,
        closing(FTS5(texts, TRIGRAM)) as trigrams,
        SyncMemory.open(MemoryStore(), embedder=BundledEmbedder()) as memory,
    ):
        found: dict[str, Ranked] = {
            WORDS: by_words,
            ENGLISH: by_english,
            UNICODE61: runs.ranked,
            TRIGRAM: trigrams.ranked,
        }
        if RECALL in names:
            found[RECALL] = _recall(memory, texts)
        yield {name: found[name] for name in names}


def _recall(memory: SyncMemory, texts: Sequence[str]) -> Ranked:
    learned = memory.learn_many([{"content": text} for text in texts]).results
    memory.consolidate()
    places = {result.block_id: place for place, result in enumerate(learned)}

    def ranked(question: str) -> list[int]:
        answer = memory.recall(question, top_k=max(DEPTHS), record=False, min_probability=0.0)
        return [places[block] for block in answer.block_ids]

    return ranked


def _ordered(counts: Any) -> list[int]:
    matches = counts.matches()
    order = np.argsort(-matches.strengths, kind="stable")
    places: list[int] = matches.documents[order].tolist()
    return places


class FTS5:
    """SQLite's full-text search with one of its own tokenizers.

    Args:
        texts: The texts to search.
        tokenizer: ``UNICODE61`` or ``TRIGRAM``.
    """

    def __init__(self, texts: Sequence[str], tokenizer: str) -> None:
        self._parts = trigrams if tokenizer == TRIGRAM else words_of
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE items USING fts5(id UNINDEXED, text, "
            f"tokenize='{TOKENIZERS[tokenizer]}')"
        )
        self._connection.executemany("INSERT INTO items VALUES (?, ?)", enumerate(texts))

    def ranked(self, question: str) -> list[int]:
        """Return the places of the ten best texts."""
        asked = any_of(sorted(set(self._parts(question.lower()))))
        return [place for place, _ in self._connection.execute(SEARCH, (asked,)).fetchall()]

    def close(self) -> None:
        """Discard the table."""
        self._connection.close()


def words_of(question: str) -> list[str]:
    """Return what is between white space and punctuation marks."""
    return re.findall(r"[^\s.,;:!?¿'’\"。？、]+", question)


def trigrams(question: str) -> list[str]:
    """Return every three neighbouring characters of the words."""
    return [
        word[place : place + 3] for word in words_of(question) for place in range(len(word) - 2)
    ]


# --- measuring ------------------------------------------------------------------------------


def measured(
    chosen: Sequence[Language], names: Sequence[str] = SYSTEMS
) -> dict[str, dict[str, Row]]:
    """Return, by language and system, what is found."""
    own: dict[str, dict[str, dict[int, float]]] = {}
    for each in chosen:
        with systems([text for text, _ in each.pairs], names) as asked:
            own[each.code] = {name: shares(each, ranked, 0) for name, ranked in asked.items()}
    found: dict[str, dict[str, Row]] = {each.code: {} for each in chosen}
    texts = [text for each in chosen for text, _ in each.pairs]
    with systems(texts, names) as asked:
        for name, ranked in asked.items():
            first = 0
            for each in chosen:
                mixed = shares(each, ranked, first)
                found[each.code][name] = Row(own=own[each.code][name], mixed=mixed)
                first += len(each.pairs)
    return found


def shares(language: Language, ranked: Ranked, first: int) -> dict[int, float]:
    """Return, by depth, the share of the questions whose text is found.

    Args:
        language: The language.
        ranked: The system.
        first: The place of the first of its texts.
    """
    hits = dict.fromkeys(DEPTHS, 0)
    for place, (_, question) in enumerate(language.pairs, start=first):
        answer = [*ranked(question)]
        for depth in DEPTHS:
            hits[depth] += place in answer[:depth]
    return {depth: count / len(language.pairs) for depth, count in hits.items()}


def recognised(language: Language) -> str:
    """Return the shares of texts and questions whose language is recognised, where it has to be."""
    if language.code not in detection.CODES:
        return "by script"
    sides = zip(*language.pairs, strict=True)
    shares = [sum(words.language(each) == language.code for each in side) for side in sides]
    return " · ".join(f"{100 * share / len(language.pairs):.0f}" for share in shares)


def page(chosen: Sequence[Language], found: Mapping[str, Mapping[str, Row]]) -> list[str]:
    """Return the lines of the two tables."""
    names = [*next(iter(found.values()))]
    lines: list[str] = []
    for space, title in (
        ("own", "Among the thirty texts of the language"),
        ("mixed", f"Among the texts of all {len(chosen)} languages"),
    ):
        rows = [
            [each.name, *(_cell(getattr(found[each.code][name], space)) for name in names)]
            for each in chosen
        ]
        means = [
            _cell(
                {
                    depth: sum(getattr(row[name], space)[depth] for row in found.values())
                    / len(found)
                    for depth in DEPTHS
                }
            )
            for name in names
        ]
        depths = " and ".join(f"@{depth}" for depth in DEPTHS)
        lines += [f"{title}, recall{depths} in per cent:", ""]
        lines += [*table(["", *names], [*rows, ["mean", *means]]), ""]
    lines += ["Recognised, per cent of the texts and of the questions:", ""]
    return [*lines, *table(["", "recognised"], [[each.name, recognised(each)] for each in chosen])]


def _cell(by_depth: Mapping[int, float]) -> str:
    return " · ".join(f"{100 * by_depth[depth]:.0f}" for depth in DEPTHS)


def parsed() -> argparse.Namespace:
    """Return the options of this run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--language", nargs="+", default=[], metavar="CODE", help="default: all")
    add("--system", nargs="+", choices=SYSTEMS, default=SYSTEMS, help="default: all")
    add("--json", type=Path, help="also write the numbers here")
    add("--write", type=Path, help="put the tables between the marks of this page")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and save with ``--json`` or ``--write``."""
    options = parsed()
    chosen = languages(options.language)
    found = measured(chosen, options.system)
    lines = page(chosen, found)
    print("\n".join(lines))
    if options.json is not None:
        plain = {
            code: {name: {"own": row.own, "mixed": row.mixed} for name, row in rows.items()}
            for code, rows in found.items()
        }
        options.json.write_text(json.dumps(plain, indent=2) + "\n")
    if options.write is not None:
        written(options.write, "languages", lines)


if __name__ == "__main__":
    main()
