"""Which texts make the same statement (DOMAIN section 3), as lists of sentences of words.

Each step is a loop over characters, lines or words. Only the word lists are the kernel's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from attrs import frozen

from mnemic.kernel.statements import vocabulary

OPENING = "\"'`([{¿¡"
CLOSING = "\"'`)]}.,;:!?"
CJK = (
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3134F),
)
PUNCTUATION = "\"'`()[]{}:;,?.!"
LEADS = ("note:", "remember:", "nota bene:", "nb:", "n.b:", "nb.:", "n.b.:", "fyi:")

WRAPPED_MIN = 40
KEY_MIN = 8
YEAR_DIGITS = 4

Sentence = list[str]


@frozen(kw_only=True)
class Parsed:
    """A text as sentences, and whether its case says nothing."""

    sentences: list[Sentence]
    caseless: bool

    @property
    def words(self) -> list[str]:
        return [word for sentence in self.sentences for word in sentence]


# --- characters -----------------------------------------------------------------------------


def plain_character(character: str) -> str:
    """Return the one spelling of *character*: one or more characters, or none."""
    code = ord(character)
    if character in "‘’ʼ‚′":
        return "'"
    if character in "“”„«»「」『』":
        return '"'
    if code in {0xAD, 0xFEFF, 0x2060, 0x200E, 0x200F, 0x61C, 0xFE0E, 0xFE0F}:
        return ""
    fixed = {"…": "...", "。": ".", "、": ",", "−": "-", "µ": "μ"}
    if character in fixed:
        return fixed[character]
    is_ligature = code in range(0xFB00, 0xFB07)
    is_wide_or_narrow = code in range(0xFF01, 0xFFE7)
    if is_ligature or is_wide_or_narrow or code in {0xA0, 0x2007, 0x202F, 0x3000}:
        return unicodedata.normalize("NFKC", character)
    return character


def is_cjk(character: str) -> bool:
    """Return whether *character* is Chinese, Japanese kana or the like."""
    return any(first <= ord(character) <= last for first, last in CJK)


def is_letter(character: str) -> bool:
    """Return whether *character* is one of words, digits aside."""
    return character.isalnum() and not character.isdecimal()


def is_letter_or_digit(character: str) -> bool:
    """Return whether *character* may be part of a name."""
    return character == "_" or character.isalnum()


def plain(text: str) -> str:
    """Return *text* in plain characters, CJK characters set apart, without stars of emphasis."""
    text = unicodedata.normalize("NFC", "".join(plain_character(each) for each in text))
    spaced = ""
    for place, character in enumerate(text):
        before = text[place - 1] if place else " "
        earlier = text[place - 2] if place > 1 else " "
        starts = is_cjk(character) and (is_letter_or_digit(before) or before in ".,;:!?")
        ends = is_letter_or_digit(character) and (
            is_cjk(before) or (before in ".,;:!?" and is_cjk(earlier))
        )
        spaced += f" {character}" if starts or ends else character
    return without_emphasis(spaced)


def without_emphasis(text: str) -> str:
    """Return *text* without one to three stars on either side of something that they emphasise."""
    place = 0
    while place < len(text):
        for stars in ("***", "**", "*"):
            before = text[place - 1] if place else " "
            begin = place + len(stars)
            if not text.startswith(stars, place) or not (before.isspace() or before in "(\"'"):
                continue
            end = text.find("*", begin)
            inside = text[begin:end]
            behind = text[end + len(stars) : end + len(stars) + 1]
            if (
                end >= 0
                and is_letter(inside[:1])
                and "\n" not in inside
                and (is_letter_or_digit(inside[-1]) or inside[-1] in ".!?)\"'")
                and text.startswith(stars, end)
                and not (behind and (is_letter_or_digit(behind) or behind == "*"))
            ):
                text = text[:place] + inside + text[end + len(stars) :]
                place += len(inside) - 1
                break
        place += 1
    return text


# --- lines ----------------------------------------------------------------------------------


def indentation(line: str) -> int:
    """Return the number of columns before the text of *line*."""
    return len(line) - len(line.lstrip())


def without_bullet(line: str) -> str:
    """Return *line* without the mark of an item or a heading."""
    mark, *rest = line.split(maxsplit=1)
    if not rest:
        return line
    content = rest[0]
    first, second = content[:1], content[1:2]
    if mark in {"-", "*", "•", "–"}:
        is_word = first.isalpha() and (second.isalpha() or not first.isascii())
        is_short_word = first in {"A", "a", "I"} and re.match(r"\s[a-z][a-z]", content[1:])
        return content if is_word or is_short_word or first in "\"'([`" else line
    if mark in {"#", "##", "###", "####", "#####", "######"}:
        return content if first.isalpha() and not "a" <= first <= "z" else line
    return line


def without_lead(line: str) -> str:
    """Return *line* without "please", "note:" or "remember that"."""
    words = line.split()
    if words and words[0].lower() == "please":
        words = words[1:]
    low = [word.lower() for word in words]
    if low[:1] and low[0] in LEADS and len(words) > 1:
        return " ".join(words[1:])
    if low[:2] == ["nota", "bene:"] and words[2:]:
        return " ".join(words[2:])
    follows = bool(words[3:]) and low[2] in vocabulary.LEAD_FOLLOWERS
    if low[:1] and low[0] in {"note", "remember"} and low[1:2] == ["that"] and follows:
        return " ".join(words[2:])
    return line


def passages(text: str) -> list[str]:
    """Return the parts of *text* between line breaks that end a sentence."""
    lines = text.expandtabs().splitlines()
    margin = min((indentation(line) for line in lines if line.strip()), default=0)
    found: list[str] = []
    above, above_is_heading = "", False
    for line in lines:
        body = line.strip()
        if not body:
            above = ""
            continue
        content = without_bullet(body)
        has_bullet = content != body
        if not found:
            content = without_lead(content)
        starts = has_bullet or indentation(line) > margin
        if indentation(line) > margin:
            content = f"␉{indentation(line) - margin} {content}"
        is_ended = above.rstrip("\"')")[-1:] in {".", "!", "?"} and above[-2:].strip("\"')")
        if not above or above_is_heading:
            found.append(content)
        elif above.endswith(":") or (not starts and len(above) >= WRAPPED_MIN):
            found[-1] += " " + content
        elif not starts and content[:1].islower() and not is_ended:
            found[-1] += " ␤ " + content
        else:
            found.append(content)
        above, above_is_heading = body, has_bullet and body.startswith("#")
    return found


# --- sentences ------------------------------------------------------------------------------


def sentences_of(passage: str, *, is_small: bool) -> Iterator[Sentence]:
    """Yield the words and marks of each sentence of *passage*."""
    chunks = passage.split()
    sentence: Sentence = []
    asks = False
    for place, chunk in enumerate(chunks):
        opening, word, run = "", chunk, ""
        while word and word[0] in OPENING:
            opening, word = opening + word[0], word[1:]
        while word and word[-1] in CLOSING:
            run, word = word[-1] + run, word[:-1]
        asks = asks or "¿" in opening
        sentence += [mark for mark in opening if mark not in "¿¡"]
        if word:
            sentence.append(word)
        before = chunks[place - 1] if place else ""
        following = chunks[place + 1] if place + 1 < len(chunks) else None
        if not ends(before, word, run, following, is_small=is_small):
            sentence += [*run]
            continue
        sentence += [mark for mark in re.findall(r"\.\.\.+|.", run) if mark not in ".!?"]
        yield [*sentence, "?"] if asks or "?" in run else sentence
        sentence, asks = [], False
    yield [*sentence, "?"] if asks else sentence


def ends(before: str, word: str, run: str, following: str | None, *, is_small: bool) -> bool:
    """Return whether the marks *run* after *word* end a sentence."""
    if not {".", "!", "?"} & {*run}:
        return False
    if following is None:
        return True
    first = following.lstrip(OPENING)[:1]
    if not first or (first.islower() and not is_small):
        return False
    if run[0] == "." and not {"!", "?"} & {*run}:
        return not is_abbreviated(before, word)
    return True


def is_abbreviated(before: str, word: str) -> bool:
    """Return whether a dot after *word* may belong to it."""
    if re.fullmatch("[0-9][0-9]?", word):
        return before.lower() in vocabulary.BEFORE_ORDINAL
    initials = word.split(".")
    if word.isascii() and all(len(each) == 1 and each.isalpha() for each in initials):
        return True
    return word.lower() in vocabulary.ABBREVIATIONS


# --- words ----------------------------------------------------------------------------------


def is_mark(word: str) -> bool:
    """Return whether *word* is a punctuation mark."""
    return word == "..." or (len(word) == 1 and word in OPENING + CLOSING)


def keeps_case(word: str) -> bool:
    """Return whether *word* means something else in other case."""
    if word in vocabulary.CASE_DECIDES or any(mark in word for mark in "/\\=_@"):
        return True
    for one, two in pairwise(word):
        if "a" <= one <= "z" and "A" <= two <= "Z":
            return True
    letters = [each for each in word if each.isalpha()]
    digits = [each for each in word if each.isdigit()]
    return len(word) >= KEY_MIN and word.isascii() and bool(letters) and bool(digits)


def cased(words: Sentence, *, shouted: bool) -> Sentence:
    """Return *words* without case that says nothing."""
    if shouted:
        kept = {word for word in words if keeps_case(word)} - vocabulary.CASE_DECIDES
        return [word if word in kept else word.lower() for word in words]
    for place, word in enumerate(words):
        if is_mark(word):
            continue
        if word in {"A", "I"} or (word[0].isupper() and word[1:].islower()):
            return [*words[:place], word[0].lower() + word[1:], *words[place + 1 :]]
        return words
    return words


def month(word: str, *, shouted: bool) -> str | None:
    """Return the name of the month that *word* is."""
    if shouted and word.title() in vocabulary.MONTHS:
        return vocabulary.MONTHS[word.title()]
    return vocabulary.MONTHS.get(word)


def day(word: str) -> str | None:
    """Return the digits of the day of a month that *word* is."""
    digits = re.sub("(st|nd|rd|th)$", "", word)
    is_number = re.fullmatch("[0-9][0-9]?", digits)
    return digits if is_number and int(digits) in range(1, 32) else None


def date(words: Sentence, *, shouted: bool) -> tuple[Sentence, int] | None:
    """Return the date that *words* begin with, and of how many words it is."""
    first, second, third = [*words, "", "", ""][:3]
    if day(first) and month(second, shouted=shouted):
        found, length = [day(first), month(second, shouted=shouted)], 2
    elif day(first) and second == "of" and month(third, shouted=shouted):
        found, length = [day(first), month(third, shouted=shouted)], 3
    elif month(first, shouted=shouted) and day(second):
        found, length = [day(second), month(first, shouted=shouted)], 2
    else:
        return None
    comma, year = [*words, "", ""][length : length + 2]
    has_year = comma == "," and re.fullmatch("(19|20)[0-9][0-9]", year)
    return [part for part in found if part], length + (1 if has_year else 0)


def split_number(word: str) -> tuple[str, str]:
    """Return the number that *word* begins with, and the letters glued to it."""
    found = re.fullmatch("([0-9]+(?:[.,:][0-9]+)*)([A-Za-z%€]*)", word)
    return (found[1], found[2]) if found else ("", "")


def is_number(word: str) -> bool:
    """Return whether *word* is a number without sign."""
    return re.fullmatch("[0-9]+([.,][0-9]+)*", word) is not None


def without_commas(number: str, words: Sentence) -> str:
    """Return *number* without thousands commas; *words* are its sentence."""
    if "," not in number or not re.fullmatch(r"[$€£]?[1-9][0-9]?[0-9]?(,\d{3})+(\.\d+)?", number):
        return number
    is_english = any(word.lower() in vocabulary.ENGLISH for word in words)
    return number.replace(",", "") if is_english or number.count(",") > 1 else number


def quantity(words: Sentence, place: int) -> tuple[Sentence, int] | None:
    """Return the number at *place* with its unit, and of how many words it is."""
    word, following = words[place], [*words, ""][place + 1]
    before = words[place - 1].lower() if place else ""
    if word.startswith("€") and is_number(word[1:]):
        return [without_commas(word[1:], words), "eur"], 1
    number, glued = split_number(word)
    if glued in vocabulary.UNITS:
        is_round = glued == "s" and number.endswith("0")
        if is_round and (len(number) == YEAR_DIGITS or before in vocabulary.BEFORE_DECADE):
            return None
        return [without_commas(number, words), vocabulary.UNITS[glued]], 1
    number = without_commas(vocabulary.NUMBER_WORDS.get(word.lower(), word), words)
    if is_number(number) and following in vocabulary.UNITS:
        return [number, vocabulary.UNITS[following]], 2
    return [number], 1


def clock_time(words: Sentence, place: int) -> tuple[Sentence, int] | None:
    """Return the time of the 12-hour clock at *place*, and of how many words it is."""
    number, half = split_number(words[place])
    length = 1
    if not half:
        half, length = [*words, ""][place + 1], 2
    is_clock = re.fullmatch("(0?[1-9]|1[0-2])(:[0-5][0-9])?", number)
    if not is_clock or half not in {"am", "pm", "AM", "PM"}:
        return None
    return [number if ":" in number else f"{number}:00", half.lower()], length


def article(words: Sentence, place: int, *, shouted: bool) -> tuple[Sentence, int] | None:
    """Return what *the* at *place* becomes together with the words after it, if it is dropped."""
    following = [*words, ""][place + 1]
    if words[place] != "the":
        return None
    if following[:1].isalpha() and following.lower() not in vocabulary.ARTICLE_COUNTS:
        return [], 1
    behind = date(words[place + 1 :], shouted=shouted)
    return (behind[0], behind[1] + 1) if behind and words[place + 2] == "of" else None


def respelled_at(words: Sentence, place: int, *, shouted: bool) -> tuple[Sentence, int]:
    """Return what the words from *place* on become, and how many they are."""
    word, following = words[place], [*words, ""][place + 1]
    low = word.lower()
    found = date(words[place:], shouted=shouted) or clock_time(words, place)
    found = found or article(words, place, shouted=shouted)
    if found:
        return found
    if word[0] in "0123456789€$£" or low in vocabulary.NUMBER_WORDS:
        return quantity(words, place) or ([word], 1)
    is_participle = re.fullmatch("[a-z][a-z][a-z]+ing", following)
    if low in vocabulary.IS_CONTRACTED and (following in vocabulary.AFTER_IS or is_participle):
        return [vocabulary.IS_CONTRACTED[low], "is"], 1
    if word == "&" and place and all(is_name(each) for each in (words[place - 1], following)):
        return ["and"], 1
    return [*vocabulary.CONTRACTIONS.get(low, [spelling(word)])], 1


def spelling(word: str) -> str:
    """Return *word* as Americans spell it, and the pronoun *I* small."""
    return "i" if word == "I" else vocabulary.SPELLINGS.get(word.lower(), word)


def is_name(word: str) -> bool:
    """Return whether *word* begins with three letters."""
    return bool(word[2:]) and all(map(is_letter, word[:3]))


def respelled(words: Sentence, *, shouted: bool) -> Sentence:
    """Return *words* in their one spelling."""
    found: Sentence = []
    place = 0
    while place < len(words):
        new, count = respelled_at(words, place, shouted=shouted)
        found += new
        place += count
    return found


@lru_cache(maxsize=4096)
def parsed(text: str) -> Parsed:
    """Return the sentences of *text*."""
    bare = plain(text)
    shouted = bare.isupper() and " " in bare.strip()
    is_small = not shouted and bare == bare.lower()
    raw = [
        sentence
        for passage in passages(bare)
        for sentence in sentences_of(passage, is_small=is_small)
    ]
    respelt = [respelled(cased(each, shouted=shouted), shouted=shouted) for each in raw]
    return Parsed(sentences=[each for each in respelt if each], caseless=shouted or is_small)


# --- relations ------------------------------------------------------------------------------


def folds(one: str, two: str) -> bool:
    """Return whether two words are equal where case may differ."""
    return one == two or (
        one.lower() == two.lower() and not keeps_case(one) and not keeps_case(two)
    )


def equal(old: list[Sentence], new: list[Sentence], *, caseless: bool) -> bool:
    """Return whether the sentences are equal, word by word."""
    if [len(each) for each in old] != [len(each) for each in new]:
        return False
    pairs = [pair for one, two in zip(old, new, strict=True) for pair in zip(one, two, strict=True)]
    return all(folds(one, two) if caseless else one == two for one, two in pairs)


def moved_last(fronted: Sentence, plain_order: Sentence) -> bool:
    """Return whether *plain_order* is *fronted* with its first adverbial put last."""
    for length in range(2, 13):
        front, rest = fronted[:length], fronted[length:]
        if "," in fronted:
            if fronted.index(",") != length:
                continue
            rest = rest[1:]
        moved = rest + front
        if len(rest) == 1 or not rest or len(moved) != len(plain_order):
            continue
        borders = {0, len(rest)}
        is_moved = all(
            one == two or (place in borders and folds(one, two))
            for place, (one, two) in enumerate(zip(moved, plain_order, strict=True))
        )
        if is_moved and is_adverbial(front) and is_clause(rest):
            return True
    return False


def is_adverbial(front: Sentence) -> bool:
    """Return whether *front* says when, or under which condition."""
    if any(word in PUNCTUATION for word in front):
        return False
    if front[0].lower() in vocabulary.FRONT_OPENERS:
        return True
    if front[0].lower() not in vocabulary.TIME_OPENERS:
        return False
    for word in front[1:]:
        is_year_or_clock = word[0].isdigit() and (
            ":" in word or (len(word) == YEAR_DIGITS and word.isdigit())
        )
        if is_year_or_clock or (not word[0].isdigit() and word.lower() in vocabulary.TIMES):
            return True
    return False


def is_clause(rest: Sentence) -> bool:
    """Return whether an adverbial at either end belongs to all of *rest*."""
    counted = vocabulary.CLAUSES | vocabulary.NEGATORS | {*PUNCTUATION}
    return all(word.lower() not in counted for word in rest)


def same(old: Parsed, new: Parsed) -> bool:
    """Return whether two texts make the same statement."""
    if not old.sentences or not new.sentences:
        return False
    if equal(old.sentences, new.sentences, caseless=old.caseless or new.caseless):
        return True
    if len(old.sentences) > 1 or len(new.sentences) > 1:
        return False
    one, two = old.sentences[0], new.sentences[0]
    return moved_last(one, two) or moved_last(two, one)


def extends(old: Parsed, new: Parsed) -> bool:
    """Return whether *new* has all sentences of *old* next to each other, and more."""
    count = len(old.sentences)
    if not count or count >= len(new.sentences):
        return False
    if len(new.words) > 3 * max(4, len(old.words)):
        return False
    caseless = old.caseless or new.caseless
    if equal(old.sentences, new.sentences[:count], caseless=caseless):
        return True
    first = old.sentences[0][0].lower()
    if first in vocabulary.CONTEXTUAL or ":" in old.words:
        return False
    runs = [new.sentences[at : at + count] for at in range(len(new.sentences) - count + 1)]
    if any(equal(old.sentences, run, caseless=False) for run in runs):
        return True
    small = lowered(old.sentences)
    folded = [run for run in runs if lowered(run) == small]
    return caseless and bool(folded) and equal(old.sentences, folded[0], caseless=True)


def lowered(sentences: list[Sentence]) -> list[Sentence]:
    """Return the sentences in lower case."""
    return [[word.lower() for word in sentence] for sentence in sentences]


def content(statement: Parsed) -> Sentence:
    """Return the words in lower case, with colons, and with negators on their own."""
    found: Sentence = []
    for word in statement.words:
        low = word.lower()
        if low == "cannot":
            found += ["can", "not"]
        elif low.startswith("n'"):
            found += ["n'", low[2:]]
        elif low == ":" or not is_mark(low):
            found.append(low)
    return found


def denies(one: Sentence, two: Sentence) -> bool:
    """Return whether the words are equal but for negators that one of them has more of."""
    ours = Counter(word for word in one if word in vocabulary.NEGATORS)
    theirs = Counter(word for word in two if word in vocabulary.NEGATORS)
    more, fewer = ours - theirs, theirs - ours
    if (more and fewer) or not (more or fewer):
        return False
    dropped = vocabulary.NEGATORS | vocabulary.FILLERS
    rest_one = [word for word in one if word not in dropped]
    rest_two = [word for word in two if word not in dropped]
    if {"do", "does"} & {*one, *two}:
        rest_one = [re.sub(r"(?<=...)s\Z", "", word) for word in rest_one]
        rest_two = [re.sub(r"(?<=...)s\Z", "", word) for word in rest_two]
    return rest_one == rest_two


def revalues(one: Sentence, two: Sentence) -> bool:
    """Return whether the words differ in an opposite, or in a value behind a verb of state."""
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    ours, theirs = one[head : len(one) - tail], two[head : len(two) - tail]
    if not (ours and theirs) or ours[3:] or theirs[3:]:
        return False
    if len(ours) == len(theirs) == 1 and theirs[0] in vocabulary.OPPOSITES.get(ours[0], ()):
        return True
    return head >= tail and bool((vocabulary.STATES | {":"}) & {*one[:head]})


def relation(old_text: str, new_text: str) -> str | None:
    """Return ``"same"``, ``"extends"``, ``"contradicts"`` or None."""
    old, new = parsed(old_text), parsed(new_text)
    if same(old, new):
        return "same"
    if extends(old, new):
        return "extends"
    if ("?" in old.words) != ("?" in new.words):
        return None
    one, two = content(old), content(new)
    if one and two and (denies(one, two) or revalues(one, two)):
        return "contradicts"
    return None
