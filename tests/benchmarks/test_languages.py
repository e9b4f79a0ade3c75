"""The pieces of ``benchmarks/languages.py``, on its own questions."""

from __future__ import annotations

from pathlib import Path

import languages
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "languages.md"


def test_at_least_twelve_languages_have_thirty_questions_each() -> None:
    found = languages.languages()
    assert len(found) >= 12
    assert {len(each.pairs) for each in found} == {30}
    assert all(len({text for text, _ in each.pairs}) == 30 for each in found)
    assert all(len({question for _, question in each.pairs}) == 30 for each in found)


def test_trigrams_are_those_of_the_words() -> None:
    assert languages.trigrams("¿Dónde vi?") == ["Dón", "ónd", "nde"]


@pytest.mark.parametrize(
    ("tokenizer", "expected"), [(languages.UNICODE61, [0]), (languages.TRIGRAM, [0, 1])]
)
def test_the_tokenizers_are_those_of_fts5(tokenizer: str, expected: list[int]) -> None:
    search = languages.FTS5(["die Katze schläft", "die Katzen schlafen", "der Hund"], tokenizer)
    assert sorted(search.ranked("Katze?")) == expected
    search.close()


def test_the_text_of_a_question_is_found_in_its_language() -> None:
    chosen = languages.languages(["de", "zh"])
    found = languages.measured(chosen)
    for code in ("de", "zh"):
        row = found[code]
        assert row[languages.WORDS].own[1] > row[languages.UNICODE61].own[1]
        assert row[languages.RECALL].own[5] >= 0.9
        assert row[languages.RECALL].mixed[5] <= row[languages.RECALL].own[5]
    lines = languages.page(chosen, found)
    assert any(line.startswith("| German |") for line in lines)
    assert any(line.startswith("| Chinese | by script |") for line in lines)


def test_the_page_names_every_language_that_is_measured() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for each in languages.languages():
        assert f"| {each.name} |" in page
