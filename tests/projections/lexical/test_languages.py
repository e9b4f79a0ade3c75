from __future__ import annotations

import tomllib
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import RecipeRetired
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.projections.lexical import analysis
from mnemic.projections.lexical.languages import detection, words
from mnemic.projections.lexical.languages.stop_words import LATIN
from mnemic.projections.lexical.languages.words import analysed, asked, is_character, is_tagged
from mnemic.projections.lexical.lexicon import Lexicon

QUESTIONS = Path(__file__).parents[3] / "benchmarks" / "questions"
TEXTS = st.lists(
    st.sampled_from(
        """
        Anna wohnt in Berlin und die Katzen nicht les chats habitent à Paris 1.000 1,5 drei
        l'été Где живёт 東京 カナ 蜂蜜 안나는 กิน้ำ हिंदी the cats live o'neill don't 🧠
        \u0301 ﬁne""".split()
    ),
    max_size=9,
).map(" ".join)
ANYTHING = st.one_of(TEXTS, st.text(max_size=30))


def found(lexicon: Lexicon, question: str) -> list[int]:
    """Return the documents that hold a term of a question in their language."""
    alive = np.ones(len(lexicon), dtype=np.bool_)
    counts = lexicon.counts(lexicon.asked(question, len(lexicon)), alive)
    documents: list[int] = counts.matches().documents.tolist()
    return documents


def lexicon_of(*texts: str) -> Lexicon:
    lexicon = Lexicon()
    for text in texts:
        lexicon.add(text)
    return lexicon


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cats sleep under the table.", "en"),
        ("Pizza", "en"),
        ("", "en"),
        ("Die Katzen schlafen unter dem Tisch.", "de"),
        ("Wo wohnt Anna?", "de"),
        ("Les chats dorment sous la table.", "fr"),
        ("Los gatos duermen debajo de la mesa.", "es"),
        ("¿Dónde vive Anna?", "es"),
        ("Os gatos dormem debaixo da mesa.", "pt"),
        ("I gatti dormono sotto il tavolo.", "it"),
        ("De katten slapen onder de tafel.", "nl"),
        ("Katterna sover under bordet.", "sv"),
        ("Jeg vet ikke hvor nøklene er.", "no"),
        ("Missä avaimeni ovat?", "fi"),
        ("A macskák az asztal alatt alszanak.", "hu"),
        ("Kediler masanın altında uyuyor.", "tr"),
        ("Koty śpią pod stołem.", "pl"),
        ("Kde jsou moje klíče?", "cs"),
        ("Kucing itu tidur di bawah meja.", "id"),
        ("I met Die Antwoord in the park", "en"),
    ],
)
def test_a_language_is_recognised(text: str, expected: str) -> None:
    assert words.language(text) == expected


def test_no_list_has_more_entries_than_a_lane_counts() -> None:
    assert max(map(len, LATIN.values())) < 256, "the first step reads one byte of each"
    assert (2**8) ** detection.LANE_BYTES > detection.WORD_WEIGHT * 256 + 100


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("Ann fed the cats", []),
        ("Anna hat die Katzen gefüttert", ["de:anna", "de:katz", "de:gefuttert"]),
        ("L'été, nous irons à l'école", ["fr:iron", "fr:ecol"]),
        ("Die Miete steigt um 1.250,50 Euro", ["de:miet", "de:steigt", "n:1250.50", "de:euro"]),
        ("Wir haben drei Katzen und 2 Hunde", ["n:3", "de:katz", "de:hund"]),
        ("Где живёт Анна?", ["ru:живет", "ru:ан"]),
        ("I met Анна", ["ru:ан"]),
        ("東京タワー", ["c:東京", "c:京タ", "c:タワ", "c:ワー"]),
        ("カナ・カ", ["c:カナ", "c:カ"]),
        ("안나는 서울에", ["c:안나", "c:나는", "c:서울", "c:울에"]),
        ("กินน้ำ", ["c:กิน", unicodedata.normalize("NFKC", "c:นน้ำ")]),
    ],
)
def test_a_text_has_terms_in_its_language(text: str, others: list[str]) -> None:
    assert analysed(text).others == others


@pytest.mark.parametrize(
    ("question", "languages", "expected"),
    [
        ("Where do the cats live?", (), [("cat",), ("live",)]),
        ("Where do the cats live?", ("de",), [("cat", "de:cat"), ("live", "de:liv")]),
        ("Wo wohnen die Katzen?", ("de",), [("wohnen", "de:wohn"), ("katzen", "de:katz")]),
        ("cats, Cats", ("de",), [("cat", "de:cat")]),
        ("drei", ("de",), [("drei", "n:3")]),
        ("猫は?", (), [("c:猫は",), ("猫",)]),
    ],
)
def test_a_question_has_terms_in_the_languages_of_the_texts(
    question: str, languages: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    assert asked(question, languages) == expected


@given(ANYTHING)
def test_every_text_keeps_the_terms_of_the_english_analyser(text: str) -> None:
    assert analysed(text).terms == analysis.terms(text)
    assert not any(map(is_tagged, analysis.terms(text)))
    assert all(map(is_tagged, analysed(text).others))


@given(ANYTHING)
def test_the_number_of_terms_of_a_question_does_not_depend_on_the_languages(text: str) -> None:
    few, all_of_them = asked(text, ()), asked(text, LATIN)
    assert len(few) == len(all_of_them)
    assert all(set(one) <= set(other) for one, other in zip(few, all_of_them, strict=True))


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_an_english_question_asks_for_the_terms_of_the_english_analyser(text: str) -> None:
    if words.language(text) == "en":
        assert [variants[0] for variants in asked(text, LATIN)] == [
            *dict.fromkeys(analysis.terms(text))
        ]


@pytest.mark.parametrize("path", sorted(QUESTIONS.glob("*.toml")), ids=lambda path: path.stem)
def test_most_questions_of_the_measured_languages_find_their_text(path: Path) -> None:
    pairs = tomllib.loads(path.read_text(encoding="utf-8"))["pairs"]
    lexicon = lexicon_of(*(text for text, _ in pairs))
    hits = sum(place in found(lexicon, question) for place, (_, question) in enumerate(pairs))
    assert hits >= 27


# --- in the lexicon -------------------------------------------------------------------------


def test_an_inflected_word_is_found_in_a_text_of_its_language_only() -> None:
    lexicon = lexicon_of("Anna hat die Katzen gefüttert", "He is called Katz", "und die Katze")
    assert found(lexicon, "Wo sind die Katzen?") == [0, 2]


def test_terms_of_a_language_change_nothing_for_older_recipes() -> None:
    texts = ("Die Katzen schlafen und die Hunde nicht", "Die Katzen", "the cats", "東京タワー")
    lexicon, alive = lexicon_of(*texts), np.ones(4, dtype=np.bool_)
    own = [analysis.terms(text) for text in texts]
    counts = lexicon.counts(["die", "katzen", "東"], alive)
    assert counts.statistics == (4, sum(map(len, own)), 2, 2, 1)
    assert [each.tolist() for each in counts.documents] == [[0, 1], [0, 1], [3]]
    assert lexicon.rarity[0] == nano(6 / 9), "six new terms of six and three"
    documents, terms = lexicon.incidences()
    assert len(documents) == sum(len(set(each)) for each in own)
    assert sorted(set(terms.tolist())) == [*range(len({term for each in own for term in each}))]


def test_the_languages_of_a_lexicon_are_kept_with_it() -> None:
    lexicon = lexicon_of("Anna hat die Katzen gefüttert", "the cats")
    again = Lexicon.thawed(lexicon.frozen())
    assert again.asked("cats", 2) == [("cat", "de:cat")]
    assert found(again, "Wo ist die Katze?") == [0]


@given(texts=st.lists(ANYTHING, max_size=6), question=ANYTHING, places=st.data())
def test_later_texts_do_not_change_the_terms_of_a_question(
    texts: list[str], question: str, places: st.DataObject
) -> None:
    known = places.draw(st.integers(0, len(texts)))
    everything, earlier = lexicon_of(*texts), lexicon_of(*texts[:known])
    assert everything.asked(question, known) == earlier.asked(question, known)


def test_only_the_most_frequent_variant_counts_in_a_text() -> None:
    lexicon = lexicon_of("Die Katze und die Katze und die Katzen")
    counts = lexicon.counts(lexicon.asked("Katze", 1), np.ones(1, dtype=np.bool_))
    assert counts.counts[0].tolist() == [3000]


def test_a_dead_text_does_not_count() -> None:
    lexicon = lexicon_of("Die Katze ist hier", "Die Katzen sind dort")
    counts = lexicon.counts(lexicon.asked("Katze", 2), np.array([False, True]))
    assert [each.tolist() for each in counts.documents] == [[1]]


def test_no_cache_keeps_words_of_texts_that_are_gone() -> None:
    before = repr(vars(words))
    analysed("Die Fledermausohren sind größer als die Katzenohren")
    asked("Wo sind die Fledermausohren?", LATIN)
    assert repr(vars(words)) == before
    assert "fledermaus" not in repr(vars(detection))


def test_a_single_chinese_character_is_known_as_such() -> None:
    assert [is_character(each) for each in ("猫", "c:猫", "猫は", "a")] == [
        True,
        False,
        False,
        False,
    ]


def test_another_analyser_of_documents_is_retired() -> None:
    with pytest.raises(RecipeRetired, match="'words-0'"):
        Lexicon("words-0")
