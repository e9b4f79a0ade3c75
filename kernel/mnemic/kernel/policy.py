"""Every tunable number of mnemic, as one immutable value.

A policy is adopted by an event that holds its canonical bytes, and its id is the digest of those
bytes. A field that a later release adds reads as its value in ``LEGACY``, or else as its default
here, when old bytes are parsed, so an old decision replays under the numbers it was made with:
what it reads as, once released, is frozen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import attrs
from attrs import field, frozen

from mnemic.kernel import identity
from mnemic.kernel.arithmetic import MICROS_PER_HOUR, NANO, nano, share
from mnemic.kernel.errors import FrameUnknown, PolicyRefused
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.identity import PolicyId
from mnemic.kernel.ranges import count, each, one_of, pairs, truth, unit, within, word, words

CONSTITUTIONAL = "self/constitutional"
OWN = "self/"
"""What tags begin with that say who the agent is."""
INFLUENCED = ("usefulness", "confidence", "frequency", "centrality", "reinforcement")
"""Signals that whoever may write can pump: they are said, or grow by use."""
SUM_TOLERANCE = 1e-9
HOURS = within(1e-6, 1e6)
"""Of a clock in whole microseconds that fit into 64 bits."""


def _sums_to_one(owner: str, weights: Mapping[str, float]) -> None:
    total = sum(weights.values())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise PolicyRefused(
            f"the weights of {owner} must sum to 1, they sum to {total!r}",
            weights=dict(weights),
        )


@frozen(kw_only=True)
class Frame:
    """One way of looking at memory: which signals count, who may enter, how much fits."""

    name: str = field(validator=word)
    relevance: float = field(default=0.0, validator=unit)
    recency: float = field(default=0.0, validator=unit)
    usefulness: float = field(default=0.0, validator=unit)
    confidence: float = field(default=0.0, validator=unit)
    frequency: float = field(default=0.0, validator=unit)
    centrality: float = field(default=0.0, validator=unit)
    reinforcement: float = field(default=0.0, validator=unit)
    recency_clock: str = field(default="created", validator=one_of("created", "active"))
    """``created``: age in days since created_at. ``active``: active hours since last reinforced."""
    token_budget: int = field(default=2000, validator=count())
    only_tags: tuple[str, ...] = field(default=(), converter=words)
    """A block enters when one of its tags is one of these, or starts with one that ends in /."""
    never_tags: tuple[str, ...] = field(default=(), converter=words)
    always_tags: tuple[str, ...] = field(default=(), converter=words)
    """Blocks with such a tag are guaranteed, whatever their age and score."""
    scope: str = field(default="space", validator=one_of("space", "session"))
    """``space``, or ``session``: blocks of the open session, else of the latest."""

    def __attrs_post_init__(self) -> None:
        _sums_to_one(f"frame {self.name}", {name: getattr(self, name) for name in SIGNALS})

    def weights(self, *, asked: bool = True) -> tuple[int, ...]:
        """Return the weight of each of ``SIGNALS`` in nano-units.

        Args:
            asked: Whether there is a query. Without one relevance is dropped and the others
                are rescaled to 1.

        Source: DOMAIN section 6.
        """
        return self._asked if asked else self._unasked

    @cached_property
    def _asked(self) -> tuple[int, ...]:
        return tuple(nano(getattr(self, name)) for name in SIGNALS)

    @cached_property
    def _unasked(self) -> tuple[int, ...]:
        weights = (0, *self._asked[1:])
        return tuple(share(weight, sum(weights)) for weight in weights)


_LIKE_ATTENTION = {
    "relevance": 0.40,
    "recency": 0.25,
    "usefulness": 0.20,
    "confidence": 0.10,
    "frequency": 0.05,
}

FRAMES = (
    Frame(name="attention", **_LIKE_ATTENTION),  # type: ignore[arg-type]
    Frame(
        name="self",
        relevance=0.10,
        usefulness=0.30,
        recency=0.05,
        centrality=0.25,
        reinforcement=0.30,
        recency_clock="active",
        token_budget=600,
        only_tags=("self/",),
        always_tags=(CONSTITUTIONAL,),
    ),
    Frame(
        name="task",
        relevance=0.20,
        usefulness=0.20,
        recency=0.20,
        centrality=0.20,
        reinforcement=0.20,
        recency_clock="active",
        token_budget=800,
    ),
    Frame(name="short_term", scope="session", **_LIKE_ATTENTION),  # type: ignore[arg-type]
    Frame(name="world", never_tags=("self/",), **_LIKE_ATTENTION),  # type: ignore[arg-type]
)

RELATION_WEIGHTS = (
    ("similar", 0.65),
    ("co_occurs", 0.55),
    ("elaborates", 0.70),
    ("supports", 0.75),
    ("contradicts", 0.60),
    ("outcome", 0.80),
)

ZONES = (
    ("agent", "trusted"),
    ("api", "trusted"),
    ("cli", "trusted"),
    ("user", "trusted"),
    ("ingest", "imported"),
    ("tool", "external"),
    ("web", "external"),
)

ZONE_CEILINGS = (
    ("trusted", 1.0),
    ("vetted", 0.9),
    ("imported", 0.6),
    ("external", 0.4),
    ("untrusted", 0.2),
    ("quarantined", 0.0),
)

ZONE_PLACES = (
    ("trusted", 1.0),
    ("vetted", 1.0),
    ("imported", 0.8),
    ("external", 0.6),
    ("untrusted", 0.4),
    ("quarantined", 0.0),
)

LEGACY: Mapping[str, Any] = MappingProxyType(
    {"zone_places": (), "zone_discounted": (), "privilege_from": 0.0, "zones_apart": False}
)
"""What a policy was before these fields were: every zone is as good as any other."""


def _signals(value: Any) -> tuple[str, ...]:
    found = words(value)
    if unknown := sorted({*found} - {*INFLUENCED}):
        raise PolicyRefused(
            f"zone_discounted names {', '.join(unknown)}",
            recovery=f"Name some of {', '.join(INFLUENCED)}.",
            field="zone_discounted",
        )
    return found


def _frames(value: Any) -> tuple[Frame, ...]:
    try:
        return tuple(entry if isinstance(entry, Frame) else Frame(**entry) for entry in value)
    except TypeError as error:
        raise PolicyRefused(f"not a list of frames: {error}") from error


@frozen(kw_only=True, slots=False)
class Policy:
    """All numbers. Defaults are the seeds'; each group names the section of DOMAIN it serves.

    Raises:
        PolicyRefused: A number is out of range, or weights do not sum to 1 within 1e-9.
    """

    name: str = field(default="mnemic-1", validator=word)

    # Limits and the clock: sections 2 and 3.
    content_length_max: int = field(default=32_768, validator=count())
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
    near_duplicate: float = field(default=0.95, validator=unit)
    """Cosine from which the newer block supersedes the older."""
    near_duplicate_noted: float = field(default=0.90, validator=unit)
    """Cosine from which the pair is recorded."""
    near_duplicate_exempt: tuple[str, ...] = field(default=("message",), converter=words)

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
    """An explicit weight further than this from its default earns a warning."""

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
    """Reinforcements from which an edge decays at half its rate."""

    # Curate: section 7.
    archive_below: float = field(default=0.05, validator=unit)
    edge_prune_below: float = field(default=0.10, validator=unit)
    curate_reinforced: int = field(default=5, validator=count())

    # Outcome: section 6.
    outcome_prior: float = field(default=0.5, validator=within(1e-3, 1e3))
    """Both parameters of the Beta prior."""
    outcome_reinforces_above: float = field(default=0.5, validator=unit)
    outcome_penalises_below: float = field(default=0.20, validator=unit)
    outcome_edge_weight: float = field(default=0.80, validator=unit)
    penalty_factor: float = field(default=2.0, validator=within(0.0, 1e3))
    penalty_ceiling: float = field(default=0.050, validator=unit)

    # Recall: section 6.
    frames: tuple[Frame, ...] = field(default=FRAMES, converter=_frames)
    top_k: int = field(default=5, validator=count())
    candidates: int = field(default=64, validator=count())
    """Best blocks taken from each of the lexical and the vector search."""
    expansions: int = field(default=32, validator=count())
    """Most neighbours that one hop of the graph may add."""
    lexical_share: float = field(default=0.6, validator=unit)
    """Part of relevance that is lexical by recipe recall-1; the rest is cosine."""
    lexical_gain: float = field(default=1.9, validator=within(1e-3, 8.0))
    """What a lexical strength is multiplied with, up to 1: only repetition reaches the rest."""
    relevance_lexical: float = field(default=0.40, validator=unit)
    """Part of the match strength by recipe recall-2; the five sum to 1, see
    ``mnemic.projections.recipes.context``."""
    relevance_cosine: float = field(default=0.17, validator=unit)
    relevance_author: float = field(default=0.12, validator=unit)
    relevance_date: float = field(default=0.16, validator=unit)
    relevance_rarity: float = field(default=0.15, validator=unit)
    relevance_rank: int = field(default=12, validator=count(low=1))
    """Relevance is 1/2 at the strength of the block at this rank; in a small memory at a tenth of
    its blocks, from the third."""
    relevance_floor: float = field(default=0.15, validator=unit)
    """Strength that is 1/2 at least, however weak the others match."""
    relevance_width: float = field(default=0.017, validator=within(1e-4, 10.0))
    """How steep relevance rises with strength; smaller is steeper."""
    recency_rate_days: float = field(default=0.05, validator=unit)
    recency_unknown: float = field(default=0.5, validator=unit)
    frequency_cap: int = field(default=50, validator=count())
    runners_up: int = field(default=20, validator=count())
    centrality_count_bonus: float = field(default=0.10, validator=unit)
    co_retrieval_sessions: int = field(default=3, validator=count())
    co_retrieval_weight: float = field(default=0.55, validator=unit)
    staging_pairs_max: int = field(default=10_000, validator=count())
    suggest_cosine: float = field(default=0.80, validator=unit)
    """Cosine above which two blocks without an edge are worth a suggestion."""
    suggestions_max: int = field(default=3, validator=count(high=1000))

    # Frontier: section 8. Mode ``classic`` has numbers of its own.
    zone_ceilings: tuple[tuple[str, float], ...] = field(
        default=ZONE_CEILINGS, converter=pairs, validator=each(unit)
    )
    """The most that anything with a member of a zone can score; 0 keeps it out. Any other zone
    reads as ``untrusted``."""
    zone_places: tuple[tuple[str, float], ...] = field(
        default=ZONE_PLACES, converter=pairs, validator=each(unit)
    )
    """The largest share of an answer, its places and its tokens, that blocks of a zone and of those
    below it may take from others: where nothing else was found they may have all, but for a share
    of 0, which keeps a zone out. Blocks of a share of 1 are ranked as though there were no others.
    Any other zone reads as ``untrusted``."""
    zone_discounted: tuple[str, ...] = field(default=INFLUENCED, converter=_signals)
    """Signals that count as far as a block's zone is trusted: times its ceiling."""
    privilege_from: float = field(default=1.0, validator=unit)
    """The ceiling that a zone needs for its blocks to have what tags grant: a place guaranteed, a
    slower decay, a say in who the agent is."""
    zones_apart: bool = field(default=True, validator=truth)
    """Whether a block supersedes its like in its own zone only, and an edge displaces none between
    blocks of higher zones."""
    frontier_floor: float = field(default=0.8, validator=within(0.0, 10.0))
    """What a pair has to reach before outcomes are counted."""
    frontier_term: float = field(default=1.0, validator=within(0.0, 10.0))
    """What the rarest tie by shared terms adds."""
    frontier_tag: float = field(default=1.0, validator=within(0.0, 10.0))
    frontier_path: float = field(default=1.0, validator=within(0.0, 10.0))
    """The same for blocks that both are tied to by typed edges."""
    frontier_form: float = field(default=0.5, validator=within(0.0, 10.0))
    """The same for forms: one typed relation, or two in a row, that both stand in alike."""
    frontier_edge: float = field(default=0.5, validator=within(0.0, 10.0))
    """The same for a typed edge between the two."""
    frontier_meaning: float = field(default=1.5, validator=within(0.0, 10.0))
    """The same for a near meaning: a cosine in the band."""
    frontier_anchor_max: float = field(default=3.0, validator=within(0.0, 10.0))
    """What these six add up to at most."""
    frontier_band_from: float = field(default=0.45, validator=unit)
    frontier_band_to: float = field(default=0.85, validator=unit)
    """A cosine from which two blocks say the same, and are no candidates."""
    frontier_bridge: float = field(default=0.25, validator=within(0.0, 10.0))
    frontier_novelty: float = field(default=0.5, validator=within(0.0, 10.0))
    frontier_trust: float = field(default=1.0, validator=within(0.0, 10.0))
    frontier_gain: float = field(default=0.5, validator=unit)
    """The most that good outcomes add."""
    frontier_loss: float = field(default=0.8, validator=unit)
    """The most that bad outcomes take."""
    frontier_half_life_days: float = field(default=90.0, validator=within(1e-3, 1e5))
    """Active days (of 24 hours) after which a label counts half."""
    frontier_prior: float = field(default=1.0, validator=within(1e-3, 1e3))
    """Both parameters of the Beta prior over outcomes of compositions."""
    frontier_postings: int = field(default=64, validator=count(low=2, high=1000))
    """A term, tag or block that ties more blocks than this ties none of them to each other."""
    frontier_marginal: float = field(default=0.15, validator=unit)
    """Part of what a member of a set of three or more brings that no other member does."""
    frontier_synergy: float = field(default=0.25, validator=unit)
    """What members that bring only their own add to the score of a set, as a share of it."""
    frontier_beam: int = field(default=64, validator=count(low=1, high=1000))
    """Sets that are kept while sets grow."""

    def __attrs_post_init__(self) -> None:
        edge = {n: getattr(self, n) for n in EDGE_WEIGHTS}
        _sums_to_one("the edge score", edge)
        _sums_to_one("relevance", {n: getattr(self, n) for n in RELEVANCE_WEIGHTS})
        if self.near_duplicate_noted > self.near_duplicate:
            raise PolicyRefused("near_duplicate_noted must not exceed near_duplicate")
        if self.frontier_band_from > self.frontier_band_to:
            raise PolicyRefused("frontier_band_from must not exceed frontier_band_to")
        names = [frame.name for frame in self.frames]
        if len(set(names)) != len(names):
            raise PolicyRefused("two frames share one name", frames=names)
        if "attention" not in names or "self" not in names:
            raise PolicyRefused("a policy needs the frames attention and self", frames=names)

    @cached_property
    def body(self) -> str:
        """Canonical JSON: sorted keys, no white space."""
        return json.dumps(attrs.asdict(self), sort_keys=True, separators=(",", ":"))

    @cached_property
    def id(self) -> PolicyId:
        """Digest of the bytes as adopted."""
        return PolicyId(identity.digest(self.body.encode()))

    @classmethod
    def parse(cls, body: str) -> Policy:
        """Return the policy that was adopted as *body*; what it does not name reads as it did then.

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

    @classmethod
    def drafted(cls, given: object) -> Policy:
        """Return the policy that somebody wrote down; fields that they left out are the defaults.

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

    @cached_property
    def relevance_weights(self) -> tuple[int, ...]:
        """What each part of relevance counts, nano-units, in the order of their names below."""
        return tuple(nano(getattr(self, name)) for name in RELEVANCE_WEIGHTS)

    @cached_property
    def prior(self) -> int:
        """Both parameters of the Beta prior, nano-units."""
        return nano(self.outcome_prior)

    @cached_property
    def _relations(self) -> dict[str, int]:
        return {name: nano(weight) for name, weight in self.relation_weights}

    def relation_weight(self, relation: str) -> int:
        """Return the default weight of *relation* in nano-units; a custom one reads as similar."""
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
        """Return the most that anything with a member of *zone* can score, in nano-units."""
        return self._ceilings.get(zone, self._ceilings.get("untrusted", 0))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {zone: nano(share) for zone, share in self.zone_places}

    def places(self, zone: str) -> int:
        """Return the share of an answer that blocks of *zone* may take, in nano-units."""
        return self._places.get(zone, self._places.get("untrusted", NANO))

    def privileges(self, zone: str) -> bool:
        """Whether blocks of *zone* have what their tags grant."""
        return self.ceiling(zone) >= nano(self.privilege_from)

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def frame(self, name: str) -> Frame:
        """Return the frame called *name*.

        Raises:
            FrameUnknown: Naming those that exist.
        """
        frame = self._frames_by_name.get(name) if isinstance(name, str) else None
        if frame is None:
            known = tuple(self._frames_by_name)
            raise FrameUnknown(
                f"no frame is called {name!r}; the policy has {', '.join(known)}", frames=known
            )
        return frame


RELEVANCE_WEIGHTS = (
    "relevance_lexical",
    "relevance_cosine",
    "relevance_author",
    "relevance_date",
    "relevance_rarity",
)

EDGE_WEIGHTS = ("edge_cosine", "edge_tags", "edge_category", "edge_temporal")

DEFAULT = Policy()

ELFMEM = Policy(
    **LEGACY,
    name="elfmem-0.20",
    cosine_guard=0.50,
    edge_threshold=0.45,
    degree_cap=5,
    frames=(
        Frame(
            name="attention",
            relevance=0.35,
            confidence=0.15,
            recency=0.25,
            centrality=0.15,
            reinforcement=0.10,
            recency_clock="active",
        ),
        Frame(
            name="self",
            relevance=0.10,
            confidence=0.30,
            recency=0.05,
            centrality=0.25,
            reinforcement=0.30,
            recency_clock="active",
            token_budget=600,
            only_tags=("self/",),
            always_tags=(CONSTITUTIONAL,),
        ),
        Frame(
            name="task",
            relevance=0.20,
            confidence=0.20,
            recency=0.20,
            centrality=0.20,
            reinforcement=0.20,
            recency_clock="active",
            token_budget=800,
        ),
    ),
)
"""The published numbers of elfmem 0.20.0, for comparisons; not its MMR or rank fusion."""

POLICIES = {policy.name: policy for policy in (DEFAULT, ELFMEM)}
