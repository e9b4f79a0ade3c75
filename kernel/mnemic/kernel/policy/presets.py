"""Named policies: the default, and one for comparisons."""

from __future__ import annotations

from mnemic.kernel.policy.frames import CONSTITUTIONAL, Frame
from mnemic.kernel.policy.legacy import LEGACY
from mnemic.kernel.policy.policy import Policy

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
