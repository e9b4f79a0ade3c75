"""The ledger as lanes: recently composed, closed, needing work.

Source: reference composed-graph 1.4; specs/ledger.toml, rule "bounty-mode".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from attrs import field, frozen

from mnemic.kernel.model.texts import CompositionText, MemberText
from mnemic.kernel.values import Value
from mnemic.projections.frontier.outcomes import CLOSED_DOORS, DUPLICATE, NEEDS_POC
from mnemic.projections.frontier.terms import passes
from mnemic.projections.ledger.ledger import Composed
from mnemic.projections.view import View

SCANNED_MAX: Final = 1000
"""Maximum number of compositions that are scanned, the latest."""


@frozen(kw_only=True)
class Lanes(Value):
    """Compositions by outcome, the latest first; one may occur in several."""

    composed: list[Composed] = field(factory=list)
    closed: list[Composed] = field(factory=list)
    duplicate: list[Composed] = field(factory=list)
    needs_poc: list[Composed] = field(factory=list)


def lanes(view: View, *, tags: Sequence[str], limit: int) -> Lanes:
    """Return the latest compositions of each lane.

    The filter is applied before the limit, and each lane is limited separately, so that neither
    newer compositions that do not match nor a full lane hide compositions of another lane.

    Args:
        view: The view to read.
        tags: A composition passes by its own tags, or by the tags of a member, then or now.
        limit: Maximum number of compositions in a lane.
    """
    found = Lanes()
    every = (found.composed, found.closed, found.duplicate, found.needs_poc)
    for composed in islice(view.compositions(), SCANNED_MAX):
        if all(len(lane) >= limit for lane in every):
            break
        if not tags or passes(_tags(view, composed), tags):
            labels = {label.event.label for label in view.labels_of(composed)}
            belongs = (True, labels & CLOSED_DOORS, labels & DUPLICATE, NEEDS_POC in labels)
            for lane, here in zip(every, belongs, strict=True):
                if here and len(lane) < limit:
                    lane.append(composed)
    return found


def _tags(view: View, composed: Composed) -> Iterator[str]:
    """Yield the tags associated with a composition, possibly with repetitions."""
    event = composed.event
    if isinstance(event.text, CompositionText):
        yield from _named(event.text.metadata)
    for member in event.members:
        if isinstance(member.text, MemberText):
            yield from _named(member.text.metadata)
    yield from chain.from_iterable(map(view.tags, composed.members))


def _named(metadata: str | None) -> Iterator[str]:
    """Yield the texts under ``tags`` in metadata; anything else in it is ignored."""
    tags = json.loads(metadata).get("tags") if metadata else None
    return (tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else iter(())
