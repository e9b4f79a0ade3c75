"""The query ``descent``: what descends from a selection, as of a view."""

from __future__ import annotations

from collections import Counter

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.blocks import ARCHIVED
from mnemic.kernel.model.identity import label_version
from mnemic.kernel.results import Descendant, Descent
from mnemic.projections.descent.lineage import Key, Lineage
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find

LIMIT_MAX = 1000
"""Maximum number of descendants of one page, except that those of one event stay together."""


def check_page(limit: object, after: object) -> None:
    """Refuse the arguments of a page that are not valid.

    Raises:
        FieldRefused: The limit is out of range, or *after* is not a version.
    """
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")
    if after is not None and type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")


def listed(view: View, lineage: Lineage, *, after: int | None, limit: int) -> Descent:
    """Return a page of what descends from the selection of *lineage*.

    Args:
        view: The view that the lineage was followed up to.
        lineage: The lineage.
        after: Continue after this version; None: from the first.
        limit: Maximum number of descendants.
    """
    order = sorted(lineage.found, key=lambda key: (lineage.found[key].version, key))
    counted = Counter(kind for kind, _ in order)
    rest = [key for key in order if after is None or lineage.found[key].version > after]
    page = rest[:limit]
    last = lineage.found[page[-1]].version if page else -1
    page += [key for key in rest[limit:] if lineage.found[key].version == last]
    return Descent(
        selector=lineage.selection.plain(),
        version=view.point.version,
        totals=dict(sorted(counted.items())),
        items=tuple(
            Descendant(
                kind=key[0],
                id=key[1],
                version=lineage.found[key].version,
                path=lineage.path(key),
                current=_is_current(view, key),
            )
            for key in page
        ),
        next_after=last if len(rest) > len(page) else None,
    )


def _is_current(view: View, key: Key) -> bool:
    """Whether something is in force at a view; what is history always is."""
    kind, name = key
    if kind == "block":
        return view.status(find(view, name)) != ARCHIVED
    if kind == "edge":
        source, target = (find(view, end) for end in name.split("--"))
        return view.is_linked(source, target) or view.is_pending(source, target)
    if kind == "policy":
        return view.policy.id == name
    if kind == "label":
        version = label_version(name)
        label = None if version is None else view.label(version)
        return label is not None and label.counts
    return True
