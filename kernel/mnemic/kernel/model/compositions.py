"""Vocabulary of the composition ledger: roles, labels, and which pairs leave the frontier.

Source: DOMAIN section 8, reference composed-graph 1.1 and 1.2; specs/ledger.toml.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from mnemic.kernel.model.identity import CompositionId
from mnemic.kernel.values import Value

ROLES: Final = ("primary", "supporting", "contradicting", "superseded", "related")
"""Roles that a block can have in a composition."""

CONSUMES: Final = ("all", "primary_only", "none")
"""Which pairs of a composition count as composed: all, those with a primary member, or none."""

LABELS: Final = (
    "helpful",
    "dead_end",
    "submitted",
    "accepted",
    "rejected",
    "duplicate_risk",
    "needs_poc",
    "bad_severity",
    "user_promoted",
    "user_demoted",
    "closed_by_scope",
    "closed_by_duplicate",
    "closed_by_false_assumption",
    "closed_by_user",
    "expired_lane",
)
"""Outcomes that a composition can be labelled with, in the order in which clients list them."""


@frozen
class LabelFacts(Value):
    """One label of a composition as a decision sees it."""

    composition_id: CompositionId
    label: str
    counts: bool
    """False if the label was retracted."""


_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def query_hash(query: str) -> str:
    """Return the 64-bit FNV-1a digest of a question's bytes, as clients of the older tool expect.

    >>> query_hash("")
    'fnv1a64:cbf29ce484222325'
    """
    digest = _FNV_OFFSET
    for byte in query.encode():
        digest = (digest ^ byte) * _FNV_PRIME % 2**64
    return f"fnv1a64:{digest:016x}"
