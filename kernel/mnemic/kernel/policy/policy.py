"""The policy: every tunable number, with its default, its range and its meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
from attrs import field, frozen

from mnemic.kernel.errors import FrameUnknown, PolicyRefused
from mnemic.kernel.model import identity
from mnemic.kernel.model.filters import unknown_keys
from mnemic.kernel.model.identity import PolicyId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy.frames import FRAMES, Frame, frames_of
from mnemic.kernel.policy.legacy import LEGACY
from mnemic.kernel.policy.ranges import (
    COUNT_MAX,
    count,
    each,
    one_of,
    pairs,
    sums_to_one,
    truth,
    unit,
    within,
    word,
    words,
)
from mnemic.kernel.policy.retention_rules import RetentionRule, rules_of
from mnemic.kernel.policy.zones import (
    INFLUENCED,
    ZONE_CEILINGS,
    ZONE_PLACES,
    ZONES,
    ZONES_UNATTRIBUTED,
    influenced_signals,
)
from mnemic.kernel.values import Value

HOURS = within(1e-6, 1e6)
"""Upper limit of hours, so that whole microseconds fit into 64 bits."""

LOGIT = within(-100.0, 100.0)
"""Weights of a logistic function, counted in millionths."""

RELATION_WEIGHTS = (
    ("similar", 0.65),
    ("co_occurs", 0.55),
    ("elaborates", 0.70),
    ("supports", 0.75),
    ("contradicts", 0.60),
    ("outcome", 0.80),
)

RELEVANCE_WEIGHTS = (
    "relevance_lexical",
    "relevance_cosine",
    "relevance_author",
    "relevance_date",
    "relevance_rarity",
)


ADDED_WEIGHTS = (
    "relevance_recency",
    "relevance_asker",
    "relevance_phrase",
    "relevance_nearby",
    "relevance_distinct",
)


PROBABILITY_WEIGHTS = (
    "probability_lexical",
    "probability_cosine",
    "probability_author",
    "probability_date",
    "probability_rarity",
    "probability_own",
    "probability_missed",
)

EDGE_WEIGHTS = ("edge_cosine", "edge_tags", "edge_category", "edge_temporal")


@frozen(kw_only=True, slots=False)
class Policy(Value):
    """All settings. Defaults are the seeds'; each group names its section of DOMAIN.

    Raises:
        PolicyRefused: A number is out of range, or weights do not sum to 1 within 1e-9.
    """

    name: str = field(default="mnemic-1", validator=word)

    # Limits and the clock: sections 2 and 3.
    content_length_max: int = field(default=200_000, validator=count())
    """Characters of one block."""
    tags_max: int = field(default=64, validator=count())
    tag_length_max: int = field(default=128, validator=count())
    note_length_max: int = field(default=500, validator=count())
    metadata_bytes_max: int = field(default=4096, validator=count())
    idle_gap_hours: float = field(default=1.0, validator=HOURS)
    """The most active time that passes between two events of a session."""
    zones: tuple[tuple[str, str], ...] = field(default=ZONES, converter=pairs, validator=each(word))
    """Trust zone by source; any other source is ``untrusted``."""

    # Consolidation: section 3.
    consolidate_chunk: int = field(default=128, validator=count(low=1))
    """Blocks that one committed chunk promotes."""
    auto_consolidate: bool = field(default=True, validator=truth)
    """Whether recalls and the ends of sessions promote what waits in the inbox first."""
    recall_promotion_ms: int = field(default=50, validator=count())
    """Milliseconds that one of them spends on that, higher zones first; others are promoted in the
    background. The most allowed, 1,000,000, is no limit: all is promoted, in the order of learning.
    """
    inbox_zone_max: int = field(default=256, validator=count(low=1))
    """Blocks that writers of a zone which is not fully trusted may have in the inbox."""
    near_duplicate: float = field(default=0.95, validator=unit)
    """Not used since release 0.5.0: similar vectors supersede nothing. Kept so that policies
    adopted before can be read."""
    near_duplicate_noted: float = field(default=0.90, validator=unit)
    """Minimum cosine at which the pair is recorded as a near-duplicate."""
    near_duplicate_exempt: tuple[str, ...] = field(default=("message",), converter=words)
    """Categories whose blocks neither supersede, contradict nor are noted."""
    contradiction_cosine: float = field(default=0.45, validator=unit)
    """Minimum cosine of two blocks that are compared for a contradiction."""
    contradiction_candidates: int = field(default=16, validator=count(high=1000))
    """How many of the nearest blocks a new one is compared with."""

    # Edge score: section 4.
    edge_cosine: float = field(default=0.55, validator=unit)
    edge_tags: float = field(default=0.20, validator=unit)
    edge_category: float = field(default=0.15, validator=unit)
    edge_temporal: float = field(default=0.10, validator=unit)
    cross_category: float = field(default=0.30, validator=unit)
    temporal_sigma_hours: float = field(default=8.0, validator=HOURS)
    cosine_guard: float = field(default=0.30, validator=unit)
    edge_threshold: float = field(default=0.40, validator=unit)
    edge_candidates: int = field(default=5, validator=count(high=1000))
    degree_cap: int = field(default=10, validator=count())

    # Connections: section 5.
    relation_weights: tuple[tuple[str, float], ...] = field(
        default=RELATION_WEIGHTS, converter=pairs, validator=each(unit)
    )
    relation_weight_custom: float = field(default=0.65, validator=unit)
    reinforce_delta: float = field(default=0.10, validator=unit)
    weight_surprise: float = field(default=0.25, validator=unit)
    """An explicit weight that differs from its default by more than this causes a warning."""

    # Decay: sections 3 and 7, per active hour.
    rate_permanent: float = field(default=1e-5, validator=unit)
    rate_durable: float = field(default=1e-3, validator=unit)
    rate_standard: float = field(default=0.010, validator=unit)
    rate_ephemeral: float = field(default=0.050, validator=unit)
    durable_tags: tuple[str, ...] = field(
        default=("self/value", "self/constraint", "self/goal"), converter=words
    )
    ephemeral_categories: tuple[str, ...] = field(default=("observation",), converter=words)
    established_count: int = field(default=10, validator=count())
    """Number of reinforcements from which an edge decays at half its rate."""

    # Curate: section 7.
    archive_below: float = field(default=0.05, validator=unit)
    edge_prune_below: float = field(default=0.10, validator=unit)
    curate_reinforced: int = field(default=5, validator=count())
    retention: tuple[RetentionRule, ...] = field(default=(), converter=rules_of)
    """How long, and how many, blocks of some kind are kept; without rules, nothing expires unless
    it was learned so. A block that several rules are about is archived by the first that does."""

    # Outcome: section 6.
    outcome_prior: float = field(default=0.5, validator=within(1e-3, 1e3))
    """Both parameters of the Beta prior."""
    outcome_reinforces_above: float = field(default=0.5, validator=unit)
    outcome_penalises_below: float = field(default=0.20, validator=unit)
    outcome_edge_weight: float = field(default=0.80, validator=unit)
    penalty_factor: float = field(default=2.0, validator=within(0.0, 1e3))
    penalty_ceiling: float = field(default=0.050, validator=unit)

    # Recall: section 6.
    frames: tuple[Frame, ...] = field(default=FRAMES, converter=frames_of)
    default_frame: str = field(default="answer", validator=word)
    """Frame of a recall that names none."""
    top_k: int = field(default=5, validator=count())
    top_k_aggregate: int = field(default=15, validator=count())
    """The same for a question that many texts answer together, by recipe recall-3; no fewer than
    ``top_k``."""
    passages_whole: int = field(default=4, validator=count(low=1))
    """A text of more passages is cited by its best one, by recipe recall-3; the others stay one
    call away."""
    candidates: int = field(default=64, validator=count())
    """Best blocks taken from each of the lexical and the vector search."""
    expansions: int = field(default=32, validator=count())
    """Maximum number of neighbours that one hop of the graph may add."""
    lexical_share: float = field(default=0.6, validator=unit)
    """Lexical share of relevance in recipe recall-1; the remaining share is cosine."""
    lexical_gain: float = field(default=1.9, validator=within(1e-3, 8.0))
    """Factor of a lexical strength; the product is capped at 1, which takes repeated terms."""
    relevance_lexical: float = field(default=0.35, validator=unit)
    """Part of the match strength by recipe recall-2; the five sum to 1, see
    ``mnemic.projections.retrieval.recipes.context``."""
    relevance_cosine: float = field(default=0.21, validator=unit)
    relevance_author: float = field(default=0.10, validator=unit)
    relevance_date: float = field(default=0.20, validator=unit)
    relevance_rarity: float = field(default=0.14, validator=unit)
    relevance_rank: int = field(default=12, validator=count(low=1))
    """Relevance is 1/2 at the strength of the block at this rank; in a small memory at a tenth of
    its blocks, from the third."""
    relevance_floor: float = field(default=0.25, validator=unit)
    """Lower bound of the strength at which relevance is 1/2, however weakly the others match."""
    relevance_width: float = field(default=0.017, validator=within(1e-4, 10.0))
    """How steeply relevance rises with strength; smaller is steeper."""
    relevance_recency: float = field(default=0.02, validator=unit)
    """Times recency, it is added to the strength of a match by recipe recall-3: age decides between
    matches of nearly equal strength, and costs no other block more than this."""
    relevance_recency_clock: str = field(default="active", validator=one_of("created", "active"))
    """Clock of that recency, as ``Frame.recency_clock``."""
    relevance_asker: float = field(default=0.09, validator=unit)
    """Added to the strength of texts by the asker, by recipe recall-3, if the question is in the
    first person; of texts by the other side, if it is in the second."""
    relevance_phrase: float = field(default=0.20, validator=unit)
    """Times the share of the question's wording that a text repeats, it is added to the strength by
    recipe recall-3."""
    relevance_nearby: float = field(default=0.10, validator=unit)
    """Times half the sum of the cosines of the texts before and after, it is added to the strength
    by recipe recall-3."""
    relevance_distinct: float = field(default=0.12, validator=unit)
    """Times 1 - typicality, it is added to the strength by recipe recall-3."""
    rarity_trust: int = field(default=20, validator=count())
    """Texts known at which a rarity counts half as far from 1/2 as computed, by recipe recall-3; 0:
    it counts as computed."""
    # Probability that a block bears on the question: ``kernel.scoring.probability``.
    probability_lexical: float = field(default=10.1, validator=LOGIT)
    """Weight of the part ``lexical``."""
    probability_cosine: float = field(default=7.2, validator=LOGIT)
    """Weight of the part ``cosine``."""
    probability_author: float = field(default=1.6, validator=LOGIT)
    """Weight of the part ``author``."""
    probability_date: float = field(default=3.1, validator=LOGIT)
    """Weight of the part ``date``."""
    probability_rarity: float = field(default=5.7, validator=LOGIT)
    """Weight of the part ``rarity``."""
    probability_own: float = field(default=0.7, validator=LOGIT)
    """Weight of the share of the question's terms that the text holds itself."""
    probability_missed: float = field(default=-1.9, validator=LOGIT)
    """Weight of a named author who did not write the text."""
    probability_bias: float = field(default=-7.55, validator=LOGIT)
    """Log-odds of a block without any evidence."""
    answerable_slope: float = field(default=0.77, validator=within(0.0, 100.0))
    """Log-odds that an answer bears on its question, per log-odds of its most probable block."""
    answerable_bias: float = field(default=-0.885, validator=LOGIT)
    """Log-odds of an answer whose best block is as likely as not."""
    verdict_yes: float = field(default=0.50, validator=unit)
    """Least ``answerable`` of the verdict ``yes``."""
    verdict_weak: float = field(default=0.25, validator=unit)
    """Least ``answerable`` of the verdict ``weak``; below it is ``no``."""
    recency_rate_days: float = field(default=0.05, validator=unit)
    recency_unknown: float = field(default=0.5, validator=unit)
    frequency_cap: int = field(default=50, validator=count())
    runners_up: int = field(default=20, validator=count())
    centrality_count_bonus: float = field(default=0.10, validator=unit)
    co_retrieval_sessions: int = field(default=3, validator=count())
    co_retrieval_weight: float = field(default=0.55, validator=unit)
    staging_pairs_max: int = field(default=10_000, validator=count())
    suggest_cosine: float = field(default=0.80, validator=unit)
    """Cosine above which an edge between two unconnected blocks is suggested."""
    suggestions_max: int = field(default=3, validator=count(high=1000))

    # Frontier: section 8. Mode ``classic`` has separate constants.
    zone_ceilings: tuple[tuple[str, float], ...] = field(
        default=ZONE_CEILINGS, converter=pairs, validator=each(unit)
    )
    """Maximum score of anything with a member of the zone; 0 excludes it. Any other zone is treated
    as ``untrusted``."""
    zone_places: tuple[tuple[str, float], ...] = field(
        default=ZONE_PLACES, converter=pairs, validator=each(unit)
    )
    """Maximum share of an answer's places and tokens that blocks of a zone and of lower zones may
    take from other blocks. If nothing else was found they may take all of it, except with a share
    of 0, which excludes a zone. Blocks with a share of 1 are ranked as if there were no others. Any
    other zone is treated as ``untrusted``."""
    zone_discounted: tuple[str, ...] = field(default=INFLUENCED, converter=influenced_signals)
    """Signals that are multiplied by the ceiling of the block's zone."""
    privilege_from: float = field(default=1.0, validator=unit)
    """Minimum ceiling of a zone whose blocks get the privileges of their tags: a guaranteed place,
    slower decay, and a part in describing the agent itself."""
    zones_apart: bool = field(default=True, validator=truth)
    """Whether a block supersedes near-duplicates in its own zone only, and an edge never displaces
    one between blocks of higher zones."""
    zones_unattributed: tuple[str, ...] = field(default=ZONES_UNATTRIBUTED, converter=words)
    """Zones whose writers may claim no author but themselves and no date but now. A date in the
    future of a block of one of these zones counts as now."""
    frontier_floor: float = field(default=0.8, validator=within(0.0, 10.0))
    """Minimum score of a pair before outcomes are counted."""
    frontier_term: float = field(default=1.0, validator=within(0.0, 10.0))
    """Maximum contribution of shared terms, reached by the rarest term."""
    frontier_tag: float = field(default=1.0, validator=within(0.0, 10.0))
    frontier_path: float = field(default=1.0, validator=within(0.0, 10.0))
    """The same for blocks that both are connected to by typed edges."""
    frontier_form: float = field(default=0.5, validator=within(0.0, 10.0))
    """The same for forms: a typed relation, or a path of two, in which both have the same part."""
    frontier_edge: float = field(default=0.5, validator=within(0.0, 10.0))
    """The same for a typed edge between the two."""
    frontier_meaning: float = field(default=1.5, validator=within(0.0, 10.0))
    """The same for similar meaning: a cosine in the band."""
    frontier_anchor_max: float = field(default=3.0, validator=within(0.0, 10.0))
    """Maximum of the sum of these six."""
    frontier_band_from: float = field(default=0.45, validator=unit)
    frontier_band_to: float = field(default=0.85, validator=unit)
    """Cosine from which two blocks count as saying the same, and are no candidates."""
    frontier_bridge: float = field(default=0.25, validator=within(0.0, 10.0))
    frontier_novelty: float = field(default=0.5, validator=within(0.0, 10.0))
    frontier_trust: float = field(default=1.0, validator=within(0.0, 10.0))
    frontier_gain: float = field(default=0.5, validator=unit)
    """Maximum that good outcomes add."""
    frontier_loss: float = field(default=0.8, validator=unit)
    """Maximum that bad outcomes subtract."""
    frontier_half_life_days: float = field(default=90.0, validator=within(1e-3, 1e5))
    """Active days (of 24 hours) after which a label counts half."""
    frontier_prior: float = field(default=1.0, validator=within(1e-3, 1e3))
    """Both parameters of the Beta prior over outcomes of compositions."""
    frontier_postings: int = field(default=64, validator=count(low=2, high=1000))
    """A term, tag or block shared by more blocks than this is ignored as a link between them."""
    frontier_marginal: float = field(default=0.15, validator=unit)
    """Minimum share of a member's contribution, in sets of three or more, that no other has."""
    frontier_synergy: float = field(default=0.25, validator=unit)
    """Bonus to the score of a set, as a share of it, if members add only what no other has."""
    frontier_beam: int = field(default=64, validator=count(low=1, high=1000))
    """Beam width: number of sets kept while sets grow."""

    def __attrs_post_init__(self) -> None:
        edge = {n: getattr(self, n) for n in EDGE_WEIGHTS}
        sums_to_one("the edge score", edge)
        sums_to_one("relevance", {n: getattr(self, n) for n in RELEVANCE_WEIGHTS})
        if self.near_duplicate_noted > self.near_duplicate:
            raise PolicyRefused("near_duplicate_noted must not exceed near_duplicate")
        if self.verdict_weak > self.verdict_yes:
            raise PolicyRefused("verdict_weak must not exceed verdict_yes")
        if self.frontier_band_from > self.frontier_band_to:
            raise PolicyRefused("frontier_band_from must not exceed frontier_band_to")
        names = [frame.name for frame in self.frames]
        if len(set(names)) != len(names):
            raise PolicyRefused("two frames share one name", frames=names)
        if "attention" not in names or "self" not in names:
            raise PolicyRefused("a policy needs the frames attention and self", frames=names)
        if self.default_frame not in names:
            raise PolicyRefused(
                f"default_frame is {self.default_frame!r}; the policy has {', '.join(names)}",
                recovery="Set default_frame to one of the policy's frames.",
                field="default_frame",
            )

    @cached_property
    def body(self) -> str:
        """Canonical JSON: sorted keys, no white space."""
        given = attrs.asdict(self)
        if not self.retention:  # keeps the ids of policies without rules
            del given["retention"]
        return json.dumps(given, sort_keys=True, separators=(",", ":"))

    @cached_property
    def id(self) -> PolicyId:
        """Digest of the bytes as adopted."""
        return PolicyId(identity.digest(self.body.encode()))

    @classmethod
    def parse(cls, body: str) -> Policy:
        """Return the policy that was adopted as *body*; missing fields get their legacy values.

        Raises:
            PolicyRefused: Not a policy, or a field this release does not know.
        """
        try:
            given = json.loads(body)
        except (TypeError, ValueError) as error:
            raise PolicyRefused(f"not a policy: {error}") from error
        policy = cls._of(given, LEGACY)
        # The id is that of the adopted bytes, not of the bytes this release would write.
        policy.__dict__["body"] = body
        return policy

    @staticmethod
    def newer_fields(body: str) -> tuple[str, ...]:
        """Return the fields of an adopted policy that this release does not know, sorted.

        A newer release wrote them. What is no policy at all has none.
        """
        try:
            given = json.loads(body)
            unknown = {*given} - {*attrs.fields_dict(Policy)}
            for key, kind in (("frames", Frame), ("retention", RetentionRule)):
                fields = {*attrs.fields_dict(kind)}
                for entry in given.get(key) or ():
                    unknown |= {f"{key}.{name}" for name in {*entry} - fields}
                    conditions = unknown_keys(entry.get("where"))
                    unknown |= {f"{key}.where.{name}" for name in conditions}
        except (AttributeError, TypeError, ValueError):
            return ()
        return tuple(sorted(unknown))

    @classmethod
    def staged(cls, given: object) -> Policy:
        """Return the policy given as a mapping; missing fields get their defaults.

        Raises:
            PolicyRefused: Not a policy, or a field this release does not know.
        """
        return cls._of(given, {})

    @classmethod
    def _of(cls, given: object, missing: Mapping[str, Any]) -> Policy:
        if not isinstance(given, Mapping):
            raise PolicyRefused(f"not a policy: {given!r:.100}")
        for name in sorted({*map(str, given)} - {*attrs.fields_dict(cls)}):
            raise PolicyRefused(
                f"no policy has a field {name!r}",
                recovery="Correct its name; `mnemic policy` shows every field there is.",
                field=name,
            )
        try:
            return cls(**{**missing, **given})
        except (TypeError, ValueError) as error:
            raise PolicyRefused(f"not a policy: {error}") from error

    @cached_property
    def gap_us(self) -> int:
        """The idle gap in microseconds of active time."""
        return round(self.idle_gap_hours * MICROS_PER_HOUR)

    @property
    def promotion_limit_us(self) -> int | None:
        """How long one recall promotes, in microseconds of wall clock; None: until all is done."""
        limit_ms = self.recall_promotion_ms
        return None if limit_ms == COUNT_MAX else 1000 * limit_ms

    @cached_property
    def relevance_weights(self) -> tuple[int, ...]:
        """Weight of each part of relevance, nano-units, in the order of ``RELEVANCE_WEIGHTS``."""
        return tuple(nano(getattr(self, name)) for name in RELEVANCE_WEIGHTS)

    @cached_property
    def added_weights(self) -> tuple[int, ...]:
        """Weight of each part that recipe ``recall-3`` adds to relevance, nano-units."""
        return tuple(nano(getattr(self, name)) for name in ADDED_WEIGHTS)

    @cached_property
    def probability_weights(self) -> tuple[int, ...]:
        """Weight of each part of a probability, in millionths."""
        return tuple(round(getattr(self, name) * 10**6) for name in PROBABILITY_WEIGHTS)

    @cached_property
    def prior(self) -> int:
        """Both parameters of the Beta prior, nano-units."""
        return nano(self.outcome_prior)

    @cached_property
    def _relations(self) -> dict[str, int]:
        return {name: nano(weight) for name, weight in self.relation_weights}

    def relation_weight(self, relation: str) -> int:
        """Return the default weight of *relation* in nano-units, or that of custom relations."""
        return self._relations.get(relation, nano(self.relation_weight_custom))

    @cached_property
    def _zones(self) -> dict[str, str]:
        return dict(self.zones)

    def zone(self, source: str) -> str:
        """Return the trust zone of *source*; an unknown one is ``untrusted``."""
        return self._zones.get(source, "untrusted")

    @cached_property
    def _ceilings(self) -> dict[str, int]:
        return {zone: nano(ceiling) for zone, ceiling in self.zone_ceilings}

    def ceiling(self, zone: str) -> int:
        """Return the maximum score of anything with a member of *zone*, in nano-units."""
        return self._ceilings.get(zone, self._ceilings.get("untrusted", 0))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {zone: nano(share) for zone, share in self.zone_places}

    def places(self, zone: str) -> int:
        """Return the share of an answer that blocks of *zone* may take, in nano-units."""
        return self._places.get(zone, self._places.get("untrusted", NANO))

    def privileges(self, zone: str) -> bool:
        """Whether blocks of *zone* get the privileges of their tags."""
        return self.ceiling(zone) >= nano(self.privilege_from)

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def has_frame(self, name: str) -> bool:
        """Whether there is a frame called *name*."""
        return name in self._frames_by_name

    def frame(self, name: str | None) -> Frame:
        """Return the frame called *name*; None: the default frame.

        Raises:
            FrameUnknown: The policy has no such frame; the message names those that exist.
        """
        name = self.default_frame if name is None else name
        frame = self._frames_by_name.get(name) if isinstance(name, str) else None
        if frame is None:
            known = tuple(self._frames_by_name)
            raise FrameUnknown(
                f"no frame is called {name!r}; the policy has {', '.join(known)}", frames=known
            )
        return frame
