"""The expected result of a recall (DOMAIN section 6), in the order of its steps.

Eligible blocks, the match of each, candidates, expansion by one hop of the graph, signals, scores
and order; then the selection for the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import evolve, field, frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import Frame
from mnemic.specs.reference import aged_relevance, relevance, scoring
from mnemic.specs.reference.degree_cap import strength
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import PlainBlock
from mnemic.specs.reference.relevance import PlainMatch, Question, Values

RECIPES = {
    "recall-1": (relevance.PLAIN_PARTS, relevance.plain),
    "recall-2": (relevance.CONTEXT_PARTS, relevance.contextual),
    "recall-3": (aged_relevance.PARTS, aged_relevance.aged),
}
"""The parts of each recipe, and its match of each block of a pool."""


@frozen(kw_only=True)
class Asked:
    """A recall request: the question, frame and filter, and the point in time."""

    question: Question | None
    frame: Frame
    where: Mapping[str, Any] = field(factory=dict)
    """The filter in recorded form: lists of words, ISO times, an object of metadata."""
    session: str | None = None
    recipe: str
    active_us: int
    instant_us: int


@frozen(kw_only=True)
class PlainScored:
    """One block of a ranking."""

    block: BlockId
    score: int
    signals: dict[str, int | None]
    """None: not weighted by the frame, or there is no question."""
    parts: dict[str, int | None]
    via: BlockId | None
    """The block whose edge led to it."""
    guaranteed: bool
    share: int
    """Share of an answer that its zone may take. Nano-units."""
    apart: bool
    """Whether it is ranked as if all were such blocks: none of a limited zone, no fact."""
    strength: int
    """Decides between equal scores; 0 if the recipe does not use it or there is no question."""

    @property
    def order(self) -> tuple[int, int, BlockId]:
        """Sorts a ranking: best score first, ties by strength, then by id."""
        return -self.score, -self.strength, self.block


def expected_ranking(state: PlainState, asked: Asked) -> list[PlainScored]:
    """Return every block that is scored, best first, ties by strength and id.

    Blocks that may take every place of an answer, and are not facts found in messages, are ranked
    as if there were no others.
    """
    everything = _ranking(state, asked)
    alone = _alone(state)
    if not alone.with_status("active"):
        return everything
    others = [row for row in everything if not row.apart]
    return sorted([*_ranking(alone, asked), *others], key=lambda row: row.order)


def expected_turns(state: PlainState, asked: Asked) -> list[BlockId]:
    """Return the blocks in the order in which they are selected: guaranteed ones first.

    The other blocks have the order of a ranking of all. In the places of blocks that are ranked
    apart, these follow in the order of their own ranking.
    """
    ranking = expected_ranking(state, asked)
    first = [row.block for row in ranking if row.guaranteed]
    free = [row.block for row in ranking if row.apart and not row.guaranteed]
    turns: list[BlockId] = []
    for row in _ranking(state, asked):
        if row.guaranteed:
            continue
        if not row.apart:
            turns.append(row.block)
        elif free:
            turns.append(free.pop(0))
    return [*first, *_said_once(state, [*turns, *free])]


def _said_once(state: PlainState, turns: list[BlockId]) -> list[BlockId]:
    """Return *turns* with what is said before put behind the others.

    Of a fact and the messages that it quotes, the one that comes first stays where it is.
    """
    quotes = {
        (fact.block_id, quote.message)
        for event in state.extractions.values()
        for fact in event.facts
        for quote in fact.quotes
    }
    first: list[BlockId] = []
    behind: list[BlockId] = []
    for block in turns:
        is_said = any((block, each) in quotes or (each, block) in quotes for each in first)
        (behind if is_said else first).append(block)
    return [*first, *behind]


def _alone(state: PlainState) -> PlainState:
    """Return the state as if only blocks that are ranked apart were active."""
    alone = state.copy()
    for block in state.with_status("active"):
        if not _is_apart(state, block):
            alone.blocks[block].base = "archived"
    return alone


def _is_apart(state: PlainState, block: BlockId) -> bool:
    is_free = state.policy.places(state.blocks[block].zone) == NANO
    return is_free and block not in aged_relevance.extracted(state)


def _ranking(state: PlainState, asked: Asked) -> list[PlainScored]:
    pool = eligible(state, asked)
    guaranteed = [block for block in pool if _promised(state, block, asked.frame.always_tags)]
    matched: PlainMatch | None = None
    via: dict[BlockId, BlockId] = {}
    scored = list(pool)
    if asked.question is not None:
        question = evolve(asked.question, active_us=asked.active_us, instant_us=asked.instant_us)
        matched = RECIPES[asked.recipe][1](state, question, pool)
        seeds = {*guaranteed, *_candidates(state, matched)}
        via = _expanded(state, seeds, pool, asked.active_us)
        scored = [block for block in pool if block in seeds or block in via]
    signals = _signals(state, asked, scored, matched)
    weights = scoring.frame_weights(asked.frame, asked=asked.question is not None)
    scores: Values = {}
    for block in scored:
        weighed = {name: value or 0 for name, value in signals[block].items()}
        scores[block] = scoring.composite(weights, weighed)
    strengths = {} if matched is None or matched.strength is None else matched.strength
    found = [
        PlainScored(
            block=block,
            score=scores[block],
            signals=signals[block],
            parts=_parts(asked, matched, block),
            via=via.get(block),
            guaranteed=block in guaranteed,
            share=state.policy.places(state.blocks[block].zone),
            apart=_is_apart(state, block),
            strength=strengths.get(block, 0),
        )
        for block in scored
    ]
    return sorted(found, key=lambda row: row.order)


def _parts(asked: Asked, matched: PlainMatch | None, block: BlockId) -> dict[str, int | None]:
    parts, _ = RECIPES[asked.recipe]
    return {name: None if matched is None else matched.parts[name][block] for name in parts}


# --- eligibility ------------------------------------------------------------------------------


def eligible(state: PlainState, asked: Asked) -> list[BlockId]:
    """Return the blocks that may be returned, by number."""
    return [block for block in state.with_status("active") if _may_enter(state, asked, block)]


def _may_enter(state: PlainState, asked: Asked, block: BlockId) -> bool:
    facts, frame = state.blocks[block], asked.frame
    if facts.expires_at_us is not None and facts.expires_at_us <= asked.instant_us:
        return False
    if frame.scope == "session" and not _of_session(state, asked, facts):
        return False
    if frame.only_tags and not _says(state, block, frame.only_tags):
        return False
    if _tagged(state, block, frame.never_tags):
        return False
    return passes(facts, asked.where)


def holds(facts: PlainBlock, instant_us: int) -> bool:
    """Whether the fact of a block holds at a moment; at its end it no longer does."""
    has_begun = facts.valid_from_us is None or facts.valid_from_us <= instant_us
    has_ended = facts.valid_until_us is not None and facts.valid_until_us <= instant_us
    return has_begun and not has_ended


def _of_session(state: PlainState, asked: Asked, facts: PlainBlock) -> bool:
    """Whether a block was learned in the session of the recall, or else in the latest one."""
    wanted = asked.session
    if wanted is None and state.sessions:
        wanted = max(state.sessions, key=lambda one: int(state.sessions[one]["started"]))
    return wanted is not None and facts.session == wanted


def _tagged(state: PlainState, block: BlockId, wanted: Collection[str]) -> bool:
    return any(_has(state.blocks[block], want) for want in wanted)


def _promised(state: PlainState, block: BlockId, wanted: Collection[str]) -> bool:
    """Whether a block has a wanted tag and its zone grants the privileges of tags."""
    zone = state.blocks[block].zone
    return state.policy.privileges(zone) and _tagged(state, block, wanted)


def _says(state: PlainState, block: BlockId, wanted: Collection[str]) -> bool:
    """Whether a block has a wanted tag; tags about the agent itself count only by its zone."""
    plain = [tag for tag in wanted if not tag.startswith("self/")]
    return _promised(state, block, wanted) or _tagged(state, block, plain)


def _has(facts: PlainBlock, want: str) -> bool:
    """Whether a block has a tag, or one below it if it ends in a slash."""
    if want in facts.tags:
        return True
    return want.endswith("/") and any(tag.startswith(want) for tag in facts.tags)


def passes(facts: PlainBlock, where: Mapping[str, Any]) -> bool:
    """Whether a block meets every condition of a filter."""
    return all(_CONDITIONS.get(name, _meets)(facts, name, wanted) for name, wanted in where.items())


def _compound(facts: PlainBlock, name: str, wanted: Any) -> bool:
    """Whether a block meets a condition that is made of filters."""
    if name == "not":
        return not passes(facts, wanted)
    passing = [passes(facts, each) for each in wanted]
    return all(passing) if name == "all" else any(passing)


def _within(value: Any, bounds: Mapping[str, Any]) -> bool:
    """Whether a value lies between two bounds of its kind, both included."""
    given = list(bounds.values())
    texts = [isinstance(each, str) for each in (value, *given)]
    numbers = [type(each) in {int, float} for each in (value, *given)]
    if not (all(texts) or all(numbers)):
        return False
    low, high = bounds.get("from", value), bounds.get("to", value)
    return bool(low <= value <= high)


def _in_ranges(facts: PlainBlock, _: str, wanted: Mapping[str, Any]) -> bool:
    said = json.loads(facts.metadata or "{}")
    keys = wanted.get("metadata", {})
    if keys and facts.content is None:
        return False
    own = {end: nano(bound) for end, bound in wanted.get("confidence", {}).items()}
    inside = all(_within(said.get(key), keys[key]) for key in keys)
    return inside and (not own or _within(facts.confidence, own))


def _meets(facts: PlainBlock, name: str, wanted: Any) -> bool:
    """Whether a block meets one condition of a filter."""
    if name in {"since", "until", "valid_at"}:
        return _is_timely(facts, name, scoring.instant_us(wanted))
    if name in {"user", "agent", "run"}:
        said = json.loads(facts.metadata or "{}")
        return facts.content is not None and said.get(name) in wanted
    if name == "tags":
        return all(_has(facts, want) for want in wanted)
    if name in {"category", "author", "thread", "zone"}:
        return getattr(facts, name) in wanted
    said = json.loads(facts.metadata or "{}")
    return facts.content is not None and all(said.get(key) == wanted[key] for key in wanted)


def _is_timely(facts: PlainBlock, name: str, bound_us: int) -> bool:
    """Whether a block meets a condition on times."""
    if name == "valid_at":
        return holds(facts, bound_us)
    if facts.created_at_us is None:
        return False
    return facts.created_at_us >= bound_us if name == "since" else facts.created_at_us <= bound_us


_CONDITIONS: dict[str, Callable[[PlainBlock, str, Any], bool]] = {
    "any": _compound,
    "all": _compound,
    "not": _compound,
    "range": _in_ranges,
}
"""Conditions that hold others; the rest are simple ones."""


# --- candidates and expansion -----------------------------------------------------------------


def _candidates(state: PlainState, matched: PlainMatch) -> set[BlockId]:
    """Return the best blocks of each search."""
    found: set[BlockId] = set()
    for values in matched.searches:
        hits = {block: value for block, value in values.items() if value > 0}
        found.update(scoring.ranked(hits)[: state.policy.candidates])
    return found


def _expanded(
    state: PlainState, seeds: Collection[BlockId], pool: Collection[BlockId], now_us: int
) -> dict[BlockId, BlockId]:
    """Return the best neighbours of seeds, each with the seed whose edge is strongest.

    By effective weight, ties by id of the neighbour; of seeds with equal weights, the first by id.
    Edges of contradiction are not followed.
    """
    pulled: dict[BlockId, tuple[int, BlockId]] = {}
    for edge in state.edges.values():
        if edge.relation == "contradicts":
            continue
        for seed, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if seed not in seeds or other in seeds or other not in pool:
                continue
            entry = (-strength(state, edge, now_us), seed)
            pulled[other] = min(entry, pulled.get(other, entry))
    best = sorted(pulled, key=lambda block: (pulled[block][0], block))
    return {block: pulled[block][1] for block in best[: state.policy.expansions]}


# --- signals ----------------------------------------------------------------------------------


def _signals(
    state: PlainState, asked: Asked, scored: list[BlockId], matched: PlainMatch | None
) -> dict[BlockId, dict[str, int | None]]:
    """Return every signal of every block; maxima are taken over the scored blocks."""
    frame, policy = asked.frame, state.policy
    degrees = {block: _degree(state, block) for block in scored}
    counts = {block: state.blocks[block].reinforcements for block in scored}
    most, busiest = max(counts.values(), default=0), max(degrees.values(), default=0)
    found: dict[BlockId, dict[str, int | None]] = {}
    for block in scored:
        facts = state.blocks[block]
        if frame.recency_clock == "active":
            recency = scoring.what_is_left(facts.rate, asked.active_us - facts.reinforced_us)
        else:
            recency = scoring.age_recency(facts.created_at_us, asked.instant_us, policy)
        found[block] = {
            "relevance": None if matched is None else matched.relevance[block],
            "recency": recency,
            "usefulness": scoring.usefulness(facts.alpha, facts.beta),
            "confidence": facts.confidence,
            "frequency": scoring.frequency(facts.retrievals, policy),
            "centrality": None,
            "reinforcement": None,
        }
        if frame.centrality:
            found[block]["centrality"] = scoring.fraction(degrees[block], busiest)
        if frame.reinforcement:
            found[block]["reinforcement"] = scoring.reinforcement(counts[block], most)
        for name in policy.zone_discounted:
            value = found[block][name]
            if value is not None:
                found[block][name] = scoring.times(value, policy.ceiling(facts.zone))
        if not holds(facts, asked.instant_us):  # each signal is halved
            for name, value in found[block].items():
                if value is not None:
                    found[block][name] = scoring.times(value, NANO // 2)
    return found


def _degree(state: PlainState, block: BlockId) -> int:
    """Return the sum of the contributions of a block's edges to active blocks."""
    total = 0
    for ends, edge in state.edges.items():
        if block in ends and all(state.blocks[end].status == "active" for end in ends):
            total += scoring.pull(edge.weight, edge.count, state.policy)
    return total


# --- selection of the answer ------------------------------------------------------------------


@frozen(kw_only=True)
class PlainChoice:
    """The blocks of an answer, best first, and the next ones."""

    chosen: list[BlockId]
    dropped: list[tuple[BlockId, str]]
    """The first few, each with ``min_probability``, ``top_k``, ``token_budget``, ``zone_full`` or
    ``explored``."""
    pool: list[BlockId]
    """Candidates for the last place: the one ranked for it, then the next ones that fit."""


def expected_choice(
    state: PlainState,
    ranking: list[PlainScored],
    turns: list[BlockId],
    *,
    top_k: int | None,
    budget: int,
    cost: Callable[[BlockId], int],
    drawn: int = 0,
    min_probability: int | None = None,
    floor: int = 0,
    is_aggregate: bool = False,
) -> PlainChoice:
    """Return the selection of a ranking: each block that still fits, while its zone has a share.

    Args:
        state: The state, whose policy defines the default limits.
        ranking: The ranking, best first.
        turns: The same blocks in the order of selection.
        top_k: None: that of the policy, or the number of guaranteed blocks if that is larger.
        budget: Tokens for all blocks together.
        cost: Tokens of a block.
        drawn: Index in the pool for the last place; the first one if the pool is smaller.
        min_probability: Least probability of a block, set by the caller; None: the frame's.
        floor: The frame's; the most probable block and guaranteed ones pass in any case.
        is_aggregate: Whether many texts answer the question together.
    """
    guaranteed = {row.block for row in ranking if row.guaranteed}
    improbable = _improbable(ranking, min_probability, floor)
    share = {row.block: row.share for row in ranking}
    wide = state.policy.top_k_aggregate if is_aggregate else 0
    most = top_k or max(state.policy.top_k, wide, len(guaranteed))

    def obstacle(block: BlockId, before: list[BlockId]) -> str | None:
        """Return the reason that excludes a block from an answer with those *before* it."""
        if block in improbable:
            return "min_probability"
        if len(before) == most:
            return "top_k"
        if cost(block) > budget - sum(map(cost, before)):
            return "token_budget"
        # A zone counts with every lower one, and takes from others only.
        for bound in {each for each in share.values() if share[block] <= each < NANO}:
            others = sum(each > bound for each in share.values())
            places = max(bound * most // NANO, most - others) if bound else 0
            tokens = budget if places >= most else budget * places // most
            alike = [each for each in before if share[each] <= bound]
            if len(alike) >= places or cost(block) > tokens - sum(map(cost, alike)):
                return "zone_full"
        return None

    chosen: list[BlockId] = []
    dropped: list[tuple[BlockId, str]] = []
    for block in turns:
        reason = obstacle(block, chosen)
        if reason is None:
            chosen.append(block)
        else:
            dropped.append((block, reason))
    last_open = bool(chosen) and chosen[-1] not in guaranteed
    behind = turns[turns.index(chosen[-1]) + 1 :] if last_open else []
    nearest = [block for block in behind if block not in improbable][: state.policy.runners_up]
    fits = [block for block in nearest if obstacle(block, chosen[:-1]) is None]
    pool = [chosen[-1], *fits] if last_open else []
    if 0 < drawn < len(pool):
        came, went = pool[drawn], pool[0]
        chosen = [came if block == went else block for block in chosen]
        reasons = dict(dropped) | {went: "explored"}
        dropped = [(block, reasons[block]) for block in turns if block in reasons and block != came]
    return PlainChoice(
        chosen=[row.block for row in ranking if row.block in chosen],
        dropped=dropped[: state.policy.runners_up],
        pool=pool,
    )


def _improbable(
    ranking: list[PlainScored], min_probability: int | None, floor: int
) -> set[BlockId]:
    """Return the blocks below the caller's floor.

    Without one, those below the frame's that are neither guaranteed nor the most probable, nor
    reached by an edge from a block that is kept.
    """
    chances = {
        row.block: chance for row in ranking if (chance := row.parts.get("probability")) is not None
    }
    if min_probability is not None:
        return {block for block, chance in chances.items() if chance < min_probability}
    open_to = [row for row in ranking if row.block in chances and not row.guaranteed]
    most = max((chances[row.block] for row in open_to if row.share), default=0)
    found = {row.block for row in open_to if chances[row.block] < min(floor, most)}
    kept = {row.block for row in ranking if row.block not in found}
    return {row.block for row in open_to if row.block in found and row.via not in kept}


def expected_judgment(state: PlainState, ranking: list[PlainScored]) -> tuple[int, str]:
    """Return ``answerable`` and the verdict of the ten best blocks of a ranking.

    Blocks of zones without a share of answers do not count; -1 and "" without probabilities.
    """
    if any(row.parts.get("probability") is None for row in ranking):
        return -1, ""
    best = [row for row in ranking if row.share][:10]
    odds = [
        aged_relevance.log_odds(
            {name: row.parts[name] or 0 for name in aged_relevance.EVIDENCE}, state.policy
        )
        for row in best
    ]
    value = aged_relevance.answerable(odds, state.policy)
    return value, aged_relevance.verdict(value, state.policy)
