"""``where=``: which blocks a recall may look at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.decisions.learning import instant
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.identity import SessionId
from mnemic.kernel.policy import Frame
from mnemic.kernel.reading import ACTIVE
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.texts import BlockText
from mnemic.projections.blocks import iso
from mnemic.projections.views import View

Ints = NDArray[np.int64]
KEYS = ("tags", "category", "author", "thread", "metadata", "since", "until")
WORDS_MAX = 1000
"""Alternatives of one condition."""


@frozen(kw_only=True)
class Where:
    """A filter, checked. Every given condition must hold; listed values are alternatives."""

    tags: tuple[str, ...] = ()
    """All of these; one that ends in ``/`` stands for every tag below it."""
    category: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    thread: tuple[str, ...] = ()
    metadata: tuple[tuple[str, Any], ...] = ()
    since_us: int | None = None
    """created_at at or after; blocks of unknown age do not pass."""
    until_us: int | None = None
    """created_at before or at."""

    @classmethod
    def parse(cls, where: Mapping[str, Any] | None) -> Where:
        """Return the filter a caller wrote.

        Raises:
            FieldRefused: A key is unknown, or a value of the wrong kind.
        """
        if where is not None and not isinstance(where, Mapping):
            raise FieldRefused(f"where must be an object, got {where!r}", field="where")
        given = dict(where or {})
        unknown = [key for key in given if key not in KEYS]
        if unknown:
            raise FieldRefused(
                f"where does not know {', '.join(map(repr, unknown))}",
                recovery=f"Filter by {', '.join(KEYS)}.",
                field="where",
            )
        return cls(
            tags=_words("tags", given.get("tags")),
            category=_words("category", given.get("category")),
            author=_words("author", given.get("author")),
            thread=_words("thread", given.get("thread")),
            metadata=_metadata(given.get("metadata")),
            since_us=instant("since", given.get("since")),
            until_us=instant("until", given.get("until")),
        )

    def plain(self) -> dict[str, Any]:
        """Return the filter in the one form that is recorded; ``parse`` reads it."""
        words = {name: getattr(self, name) for name in ("tags", "category", "author", "thread")}
        found: dict[str, Any] = {name: list(given) for name, given in words.items() if given}
        if self.metadata:
            found["metadata"] = dict(self.metadata)
        for name, us in (("since", self.since_us), ("until", self.until_us)):
            if us is not None:
                found[name] = iso(us)
        return found


def _words(name: str, value: object) -> tuple[str, ...]:
    """Return one text or several, sorted: their order means nothing."""
    if value is None:
        return ()
    words = (value,) if isinstance(value, str) else value
    given = tuple(words) if isinstance(words, Iterable) else (words,)
    found = {word for word in given if isinstance(word, str)}
    if len(given) > WORDS_MAX or not all(isinstance(word, str) for word in given):
        raise FieldRefused(
            f"where {name} must be text or at most {WORDS_MAX} texts, got {value!r:.100}",
            field="where",
        )
    return tuple(sorted(found))


def _metadata(value: object) -> tuple[tuple[str, Any], ...]:
    """Return conditions on metadata, each as JSON would give it back."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise FieldRefused(f"where metadata must be an object, got {value!r}", field="where")
    try:
        body = json.dumps(dict(value), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldRefused(f"where metadata is not plain JSON: {error}", field="where") from error
    return tuple(json.loads(body).items())


def eligible(view: View, frame: Frame, where: Where, session: SessionId | None) -> Ints:
    """Return the numbers of the blocks that a recall in *frame* may return, rising.

    Args:
        view: Where to look.
        frame: What it lets in.
        where: What the caller asks for.
        session: Of the caller, if it has one open.
    """
    numbers = view.with_status(ACTIVE)
    expires = view.life.column("expires_us", numbers)
    numbers = numbers[(expires == UNKNOWN) | (expires > view.point.instant_us)]
    numbers = _in_frame(view, frame, numbers, session)
    numbers = _in_columns(view, where, numbers)
    if where.author or where.thread or where.metadata:
        passing = [number for number in numbers.tolist() if _says(view, number, where)]
        numbers = np.array(passing, dtype=np.int64)
    return numbers


def _in_frame(view: View, frame: Frame, numbers: Ints, session: SessionId | None) -> Ints:
    if frame.scope == "session":
        # The caller's own, else the latest: sessions of the dead stay open in the log for ever.
        wanted = session or view.latest_session()
        number = -1 if wanted is None else view.state.catalogue.sessions.known(wanted)
        numbers = numbers[view.life.column("session", numbers) == number]
    tag_sets = view.life.column("tags", numbers)
    passing = np.ones(len(numbers), dtype=np.bool_)
    if frame.only_tags:
        passing &= view.tagged(tag_sets, frame.only_tags)
    if frame.never_tags:
        passing &= ~view.tagged(tag_sets, frame.never_tags)
    return numbers[passing]


def _in_columns(view: View, where: Where, numbers: Ints) -> Ints:
    passing = np.ones(len(numbers), dtype=np.bool_)
    for tag in where.tags:
        passing &= view.tagged(view.life.column("tags", numbers), (tag,))
    if where.category:
        wanted = [view.state.catalogue.categories.known(name) for name in where.category]
        passing &= np.isin(view.life.column("category", numbers), wanted)
    if where.since_us is not None or where.until_us is not None:
        created = view.life.column("created_us", numbers)
        passing &= created != UNKNOWN
        if where.since_us is not None:
            passing &= created >= where.since_us
        if where.until_us is not None:
            passing &= created <= where.until_us
    return numbers[passing]


def _says(view: View, number: int, where: Where) -> bool:
    """Whether the text of a block meets the conditions on author, thread and metadata."""
    text = view.text(number)
    if not isinstance(text, BlockText):
        return False
    if where.author and text.author not in where.author:
        return False
    if where.thread and text.thread not in where.thread:
        return False
    metadata = json.loads(text.metadata) if text.metadata and where.metadata else {}
    return all(metadata.get(key) == value for key, value in where.metadata)
