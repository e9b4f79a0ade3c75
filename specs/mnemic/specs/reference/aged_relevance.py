"""Match of a block with a question by recipe recall-3 (DOMAIN section 6).

As recall-2, except for words searched in passages, age within the strength, trusted and inherited
rarity, and contradicting blocks; and with the probability that each block bears on the question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from math import floor
from unicodedata import normalize

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import NANO, exp, ln, nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.questions.aggregates import aggregate
from mnemic.kernel.questions.pronouns import LANGUAGES
from mnemic.kernel.roles import role_named
from mnemic.specs.reference import dates, scoring
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.relevance import (
    GRID,
    K1,
    PlainMatch,
    Question,
    Term,
    Values,
    block_cosine,
    in_context,
    lexical,
    rarities,
    reference_of,
    relevance_of,
    strength_terms,
)
from mnemic.specs.reference.scoring import fraction
from mnemic.specs.reference.threads import (
    UNSPACED,
    Said,
    everything_said,
    living,
    neighbours,
    passages_said,
)

PARTS = (
    *("lexical", "cosine", "author", "date", "rarity", "freshness", "asker", "phrase"),
    *("nearby", "distinct", "raised"),
    *("own", "missed", "probability"),
)
HALF = NANO // 2
ENGLISH = "en"
FULL_LENGTH = 24
"""Terms from which on a passage counts the words of its neighbours less."""
ALONE = 16
"""Terms from which on a text counts the vectors of its neighbours less."""
USUAL = NANO // 4
"""Typicality of a vector while there is nothing to compare it with."""

EVIDENCE = ("lexical", "cosine", "author", "date", "rarity", "own", "missed")
"""Parts that make a probability."""
MILLION = 10**6
HAN = {"first": ("我", "咱", "俺"), "second": ("你", "您")}
JAPANESE = {
    "first": tuple("私 わたし わたくし あたし 僕 ぼく ボク 俺 おれ 我々 我が".split()),
    "second": tuple("あなた 貴方 君は 君の 君が きみ お前".split()),
}
OPPOSITE = {("user", "assistant"), ("assistant", "user")}
"""The asker of a question, and the side that it calls "you"."""


def aged(state: PlainState, question: Question, pool: list[BlockId]) -> PlainMatch:
    """Return the match of each block of *pool* with *question*."""
    policy = state.policy
    said = everything_said(state, question.analyse, question.others)
    alive = living(state, said)
    cut = passages_said(said, question.analyse, question.others)
    foreign = [part.content for part in chain.from_iterable(cut.values()) if part.others]
    asked = question.asked(question.words, {*map(question.language, foreign)} - {ENGLISH})
    authors = [text for text in alive.values() if is_named(text, asked)]
    names = set(chain.from_iterable(names_in(text) for text in authors))
    about = [term for term in asked if not names & set(term)] or asked
    searched = {part.number: part for text in alive.values() for part in cut[text.number]}
    counted = in_context(chain.from_iterable(cut.values()), searched.values(), FULL_LENGTH)
    words = lexical(about, searched, counted)
    held = {
        block: {term for term in about if any(part.count(term) for part in cut[text.number])}
        for block, text in alive.items()
    }
    unusual = inherited(state, said)
    near = neighbours(said, 1)
    lives = {text.number for text in alive.values()}
    meant = None if aggregate(question.words) == "summary" else person(question.words)
    parts: dict[str, Values] = {name: {} for name in PARTS}
    summed: Values = {}
    answers: set[BlockId] = set()
    for block in pool:
        text = alive[block]
        values = {
            "lexical": max(words[part.number] for part in cut[text.number]),
            "cosine": block_cosine(state, question, block),
            "author": NANO if is_named(text, asked) else 0,
            "date": dates.closeness(
                question.words,
                state.blocks[block].created_at_us,
                question.language(question.words),
            ),
            "rarity": unusual[text.number],
        }
        if any(value for name, value in values.items() if name != "rarity"):
            answers.add(block)
        values["freshness"] = _recency(state, question, block)
        values["asker"] = NANO if is_meant(text, meant, question.asked_by) else 0
        values["phrase"] = phrase(question.analyse(question.words), text.words)
        values["nearby"] = nearby(
            [
                block_cosine(state, question, said[number].block)
                for number, steps in near[text.number]
                if steps == 1 and number in lives
            ],
            len(text.words),
        )
        typical = state.blocks[block].typicality
        values["distinct"] = NANO - (USUAL if typical < 0 else typical)
        summed[block] = strength_of(values, policy)
        values["own"] = coverage(about, searched.values(), held[block])
        values["missed"] = NANO - values["author"] if authors else 0
        values["probability"] = probability_of(values, policy)
        for name, value in values.items():
            parts[name][block] = value
    strength = raised(state, summed, held)
    parts["raised"] = {block: strength[block] - summed[block] for block in pool}
    overall = {block: strength[block] if block in answers else 0 for block in pool}
    middle = reference_of(strength.values(), policy)
    return PlainMatch(
        parts=parts,
        relevance={block: relevance_of(strength[block], middle, policy) for block in pool},
        searches=(parts["lexical"], parts["cosine"], overall),
        strength=strength,
    )


def strength_of(values: Mapping[str, int], policy: Policy) -> int:
    """Return the weighted sum of the parts that have a weight, the added ones included."""
    return scoring.weighted_sum(
        [
            *strength_terms(values, policy),
            (nano(policy.relevance_recency), values.get("freshness", 0)),
            (nano(policy.relevance_asker), values.get("asker", 0)),
            (nano(policy.relevance_phrase), values.get("phrase", 0)),
            (nano(policy.relevance_nearby), values.get("nearby", 0)),
            (nano(policy.relevance_distinct), values.get("distinct", 0)),
        ]
    )


def phrase(asked: Sequence[str], words: Sequence[str]) -> int:
    """Return the share of the pairs of neighbouring terms in a question that a text has too."""
    pairs = set(pairwise(asked))
    return fraction(len(pairs & set(pairwise(words))), len(pairs)) if pairs else 0


def nearby(cosines: Sequence[int], length: int) -> int:
    """Return half the sum of the cosines of the texts before and after, less for a long text.

    Args:
        cosines: Those of up to two neighbours, at least 0 each.
        length: Terms of the text.
    """
    return sum(cosines) * ALONE // (2 * max(ALONE, length))


def typicality(before: Sequence[Sequence[int]], vector: Sequence[int]) -> int:
    """Return the mean cosine of a vector with at most 512 before it, and 20 times the usual one."""
    known = before[-512:]
    length = max(1, sum(part * part for part in vector)) ** 0.5
    product = sum(a * b for other in known for a, b in zip(vector, other, strict=True))
    share = (product / (length * 4064) + 20 * 0.25) / (len(known) + 20)
    return max(0, nano(share))


def names_in(text: Said) -> frozenset[str]:
    """Return the terms of the author's name; the name of a role is not one."""
    return text.names if role_named(text.author) is None else frozenset()


def is_named(text: Said, asked: Collection[tuple[str, ...]]) -> bool:
    """Return whether a question names the author of *text*.

    A single Chinese character does not, since many names share it.
    """
    words = {word for term in asked for word in term if not (len(word) == 1 and _is_han(word))}
    return not words.isdisjoint(names_in(text))


def _is_han(sign: str) -> bool:
    return any(low <= sign <= high for low, high in UNSPACED if low >= "\u3400")


def person(question: str) -> str | None:
    """Return the grammatical person of a question: ``first``, ``second`` or None.

    The tables are those of the kernel; the language is that of most function words.
    """
    text = normalize("NFKC", question).lower()
    signs: Mapping[str, tuple[str, ...]] = HAN
    if any("\u3040" <= sign <= "\u30ff" for sign in text):
        signs = JAPANESE
    for found, pronouns in signs.items():
        if any(pronoun in text for pronoun in pronouns):
            return found
    if signs is JAPANESE:
        return None
    apart = "".join(sign if sign.isalnum() and not sign.isdecimal() else " " for sign in text)
    words = set(apart.split())
    best, most = LANGUAGES["en"], -1
    for language in LANGUAGES.values():
        count = sum(word in language.function_words for word in words)
        if count > most:
            best, most = language, count
    if any(word in best.first for word in words):
        return "first"
    return "second" if any(word in best.second for word in words) else None


def is_meant(text: Said, meant: str | None, asked_by: str | None) -> bool:
    """Return whether a question means what *text* says by its pronouns.

    Args:
        text: The text.
        meant: Grammatical person of the question, ``first`` or ``second``; None: neither.
        asked_by: Name or role of the asker.
    """
    asker = role_named(asked_by) or "user"
    if meant == "second":
        return text.role is not None and (asker, text.role) in OPPOSITE
    if meant is None:
        return False
    if asked_by is None or role_named(asked_by) is not None:
        return text.role == asker
    has_name = text.author is not None and role_named(text.author) is None
    return text.author == asked_by if has_name else text.role == asker


def _recency(state: PlainState, question: Question, block: BlockId) -> int:
    facts, policy = state.blocks[block], state.policy
    if policy.relevance_recency_clock == "active":
        return scoring.what_is_left(facts.rate, question.active_us - facts.reinforced_us)
    return scoring.age_recency(facts.created_at_us, question.instant_us, policy)


def trusted(rarity: int, before: int, policy: Policy) -> int:
    """Return a rarity drawn towards 1/2 while few texts were known.

    Args:
        rarity: As computed; 0 stays 0.
        before: Number of texts learned before, without facts that were found in messages.
        policy: With the number at which it counts half.
    """
    if rarity == 0 or policy.rarity_trust == 0:
        return rarity
    return HALF + (rarity - HALF) * before // (before + policy.rarity_trust)


def extracted(state: PlainState) -> set[BlockId]:
    """Return the blocks that exist only since an extractor found them in messages."""
    facts = (fact for event in state.extractions.values() for fact in event.facts)
    return {fact.block_id for fact in facts if fact.action == "created"}


def inherited(state: PlainState, said: list[Said]) -> dict[int, int]:
    """Return the rarity of each text: of a successor, at least that of all before it."""
    repeating = extracted(state)
    before = accumulate((text.block not in repeating for text in said), initial=0)
    own = [
        trusted(rarity, known, state.policy)
        for rarity, known in zip(rarities(said), before, strict=False)
    ]
    last = {text.block: text.number for text in said}
    found = dict(enumerate(own))
    for block, facts in state.blocks.items():
        seen = {block}
        successor = facts.successor
        while successor is not None and successor not in seen:
            seen.add(successor)
            heir = last[successor]
            found[heir] = max(found[heir], own[last[block]])
            successor = state.blocks[successor].successor
    return found


def raised(
    state: PlainState, strengths: Values, held: Mapping[BlockId, Collection[Term]]
) -> Values:
    """Return the strengths, with the newer of two contradicting blocks above the older.

    Only where the newer holds each term of the question that the older holds, and is of no lower
    zone. From the oldest to
    the newest, so that the newest of several is above all.
    """
    found: Values = {}
    for block in sorted(strengths, key=lambda one: said_when(state, one)):
        older = [
            found[other]
            for other in found
            if _contradict(state, block, other)
            and set(held[other]) <= set(held[block])
            and _ceiling(state, block) >= _ceiling(state, other)
        ]
        found[block] = max([strengths[block], *(value + 1 for value in older)])
    return found


def said_when(state: PlainState, block: BlockId) -> tuple[int, int]:
    """Return when a block was last said: its date, or that of the event, and the version."""
    facts = state.blocks[block]
    version, date = facts.said_version, facts.created_at_us
    return state.log[version].recorded_us if date is None else date, version


def _contradict(state: PlainState, a: BlockId, b: BlockId) -> bool:
    edge = state.edges.get((a, b) if a < b else (b, a))
    return edge is not None and edge.relation == "contradicts"


def _ceiling(state: PlainState, block: BlockId) -> int:
    return state.policy.ceiling(state.blocks[block].zone)


def coverage(asked: Collection[Term], alive: Collection[Said], held: Collection[Term]) -> int:
    """Return the share of the question's terms that a text holds itself, weighted by idf.

    Args:
        asked: Terms, each once.
        alive: The passages of the active blocks.
        held: The terms that the text holds.
    """
    bounds: dict[Term, int] = {}
    for term in asked:
        holding = sum(each.count(term) > 0 for each in alive)
        idf = ln(1.0 + (len(alive) - holding + 0.5) / (holding + 0.5))
        bounds[term] = round(idf * (K1 + 1.0) * GRID)
    covered = sum(bound for term, bound in bounds.items() if term in held)
    return nano(covered / max(1, sum(bounds.values())))


# --- probability and verdict ------------------------------------------------------------------


def log_odds(parts: Mapping[str, int], policy: Policy) -> int:
    """Return the log-odds that a block with these *parts* bears on the question, nano-units."""
    total = sum(
        Fraction(round(getattr(policy, f"probability_{name}") * MILLION), MILLION) * parts[name]
        for name in EVIDENCE
    )
    return floor(total + Fraction(1, 2)) + nano(policy.probability_bias)


def probability_of(parts: Mapping[str, int], policy: Policy) -> int:
    """Return the probability that a block bears on the question, nano-units."""
    return logistic(log_odds(parts, policy))


def answerable(log_odds: Sequence[int], policy: Policy) -> int:
    """Return the probability that an answer bears on its question, nano-units.

    Args:
        log_odds: Those of its blocks; none: nothing answers.
        policy: With slope and bias.
    """
    if not log_odds:
        return 0
    slope = Fraction(round(policy.answerable_slope * MILLION), MILLION)
    steps = floor(slope * max(log_odds) + Fraction(1, 2)) + nano(policy.answerable_bias)
    return logistic(steps)


def verdict(value: int, policy: Policy) -> str:
    """Return what an ``answerable`` means."""
    if value >= nano(policy.verdict_yes):
        return "yes"
    return "weak" if value >= nano(policy.verdict_weak) else "no"


def logistic(steps: int) -> int:
    """Return 1 / (1 + exp(-steps)), both in nano-units."""
    return nano(1.0 / (1.0 + exp(max(-50.0, min(50.0, -steps / float(NANO))))))
