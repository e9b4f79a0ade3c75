"""Mode ``classic`` of the frontier, computed pair by pair from its definition; slow on purpose.

Source: reference composed-graph section 2; specs/ledger.toml, rule "never-composed".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.vectors import cosine, unpack
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import PlainBlock

STOP = """about after again against because before between could every first from have into memory
needs should their there these thing through using where which while would"""
BOUNDARIES = "time chain role oracle queue settlement keeper upgrade pause accounting scope".split()
LABELS = {
    "accepted": 35,
    "helpful": 25,
    "user_promoted": 20,
    "submitted": 15,
    "needs_poc": -5,
    "user_demoted": -20,
    "duplicate_risk": -35,
    "closed_by_duplicate": -40,
    "dead_end": -45,
    "rejected": -45,
    "bad_severity": -45,
    "closed_by_scope": -45,
    "closed_by_false_assumption": -45,
    "closed_by_user": -45,
    "expired_lane": -45,
}
"""Hundredths."""
NEWEST, TAGGED = 750, 1500
LETTERS = 5
"""Length of the shortest term."""


def expected_classic(
    state: PlainState,
    *,
    retention: Mapping[BlockId, int],
    instant_us: int,
    wanted: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return every candidate, best first: both ids, the score and its parts.

    Args:
        state: The state.
        retention: Retrievability of each active block. Nano-units.
        instant_us: Wall clock at which expiry is evaluated.
        wanted: A tag filter.
    """
    window = _window(state, retention, instant_us, wanted)
    events = {
        name: {member.block_id for member in each.event.members}
        for name, each in state.compositions.items()
    }
    found = []
    for first, second in combinations(window, 2):
        pair = {first, second}
        one, other = state.blocks[first], state.blocks[second]
        if any(pair <= members for members in events.values()):
            continue
        if wanted and not (_passes(one, wanted) or _passes(other, wanted)):
            continue
        answer = _score(one, other, retention[first], retention[second])
        company = [
            Fraction(1, 1 + sum(each in members for members in events.values())) for each in pair
        ]
        answer["novelty"] = sum(company, start=Fraction()) / len(pair)
        said = {
            label.event.label
            for name, members in events.items()
            for label in state.compositions[name].labels.values()
            if members & pair and label.retracted is None
        }
        adjusted = Fraction(sum(LABELS[label] for label in said), 100)
        answer["adjustment"] = min(max(adjusted, Fraction(-4, 5)), Fraction(1, 2))
        if answer.pop("admitted"):
            parts = (
                answer.pop("anchor"),
                answer.pop("band"),
                2 * _nano(answer["bridge"]),
                Fraction(3, 2) * _nano(answer["novelty"]),
                _nano(answer["trust"]),
                answer["adjustment"],
            )
            score = _nano(sum(parts, Fraction(0)))
            if score >= Fraction(16, 10):
                answer = {name: _nano(value) for name, value in answer.items()}
                found.append({"first": first, "second": second, "score": score, **answer})
    return sorted(found, key=lambda each: (-each["score"], each["first"], each["second"]))


def _score(one: PlainBlock, other: PlainBlock, first: int, second: int) -> dict[str, Any]:
    """Return the parts of a score that depend on the two blocks only."""
    shared, either = {*one.tags} & {*other.tags}, {*one.tags} | {*other.tags}
    terms = _terms(one) & _terms(other)
    alike = Fraction(_cosine(one, other), NANO)
    band = Fraction(45, 100) <= alike < Fraction(85, 100)
    boundaries = {tag for tag in either if _is_boundary(tag)}
    apart = 1 - _nano(Fraction(len(shared), len(either))) if either else Fraction(0)
    return {
        "admitted": bool(shared or terms or band),
        "anchor": Fraction(45 * len(shared) + 25 * min(5, len(terms)), 100),
        "band": 1 + 2 * (alike - Fraction(45, 100)) if band else Fraction(0),
        "bridge": Fraction(30, 100) * apart
        + Fraction(20, 100) * (one.category != other.category)
        + Fraction(25, 100) * min(Fraction(1), Fraction(len(boundaries), 4))
        + Fraction(15, 100) * bool(terms)
        + Fraction(10, 100) * bool(shared),
        "trust": Fraction(first + second, 2 * NANO),
    }


def _window(
    state: PlainState, retention: Mapping[BlockId, int], instant_us: int, wanted: Sequence[str]
) -> list[BlockId]:
    """Return the blocks of the window, the newest first."""
    blocks = state.blocks
    alive = [
        block
        for block in state.with_status("active")
        if blocks[block].expires_at_us is None or (blocks[block].expires_at_us or 0) > instant_us
    ]
    alive.sort(key=lambda block: _age(blocks[block]), reverse=True)
    tagged = [block for block in alive if wanted and _passes(blocks[block], wanted)]
    tagged.sort(key=lambda block: -retention[block])
    window = {*alive[:NEWEST], *tagged[:TAGGED]}
    return [block for block in alive if block in window]


def _age(block: PlainBlock) -> tuple[bool, int, int]:
    created = block.created_at_us
    return (created is not None, created or 0, block.learned_version)


def _passes(block: PlainBlock, wanted: Sequence[str]) -> bool:
    return any(tag == want or tag.startswith(f"{want}:") for tag in block.tags for want in wanted)


def _terms(block: PlainBlock) -> set[str]:
    words = re.split(r"[^a-z0-9_-]", _small(block.content or ""))
    return {word for word in words if len(word) >= LETTERS} - {*STOP.split()}


def _small(text: str) -> str:
    """Return *text* with ASCII letters in lower case and others unchanged."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _is_boundary(tag: str) -> bool:
    return tag.lower().startswith("boundary-") or tag.lower() in BOUNDARIES


def _cosine(one: PlainBlock, other: PlainBlock) -> int:
    if one.vector is None or other.vector is None:
        return 0
    return cosine(unpack(one.vector), unpack(other.vector))


def _nano(value: Fraction) -> Fraction:
    """Return *value* to the nearest nano-unit, a half rounded up."""
    return Fraction((value * NANO + Fraction(1, 2)).__floor__(), NANO)
