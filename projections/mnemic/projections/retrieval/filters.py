"""The ``where=`` filter and the other conditions on the blocks that a recall may consider."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.policy import OWN, Frame
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.timestamps import instant, iso
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.view import View

Ints = NDArray[np.int64]
KEYS = ("tags", "category", "author", "thread", "key", "metadata", "since", "until")
WORDS = ("tags", "category", "author", "thread", "key")
WORDS_MAX = 1000
"""Maximum number of alternatives in one condition."""


@frozen(kw_only=True)
class Where:
    """A validated filter. Every given condition must hold; listed values are alternatives."""

    tags: tuple[str, ...] = ()
    """All of these; one that ends in ``/`` matches every tag below it."""
    category: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    thread: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    """One of these; one that ends in ``/`` matches every key below it."""
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
            key=_words("key", given.get("key")),
            metadata=_metadata(given.get("metadata")),
            since_us=instant("since", given.get("since")),
            until_us=instant("until", given.get("until")),
        )

    def plain(self) -> dict[str, Any]:
        """Return the filter in the canonical form that is recorded; ``parse`` reads it."""
        words = {name: getattr(self, name) for name in WORDS}
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
    """Return conditions on metadata, each as JSON would return it."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise FieldRefused(f"where metadata must be an object, got {value!r}", field="where")
    try:
        body = json.dumps(dict(value), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldRefused(f"where metadata is not plain JSON: {error}", field="where") from error
    return tuple(json.loads(body).items())


@frozen(kw_only=True)
class Eligibility:
    """All conditions that determine which blocks a question may consider."""

    frame: Frame
    where: Where = field(factory=Where)
    session: SessionId | None = None
    """The caller's session, if it has one open."""


def eligible(view: View, eligibility: Eligibility) -> Ints:
    """Return the numbers of the blocks that a recall with *eligibility* may return, ascending."""
    numbers = unexpired(view, view.with_status(ACTIVE))
    for _, passes in _sieves(view, eligibility):
        numbers = _kept(numbers, passes(numbers))
    return numbers


def unexpired(view: View, numbers: Ints) -> Ints:
    """Return those of *numbers* that have not expired by the view's instant."""
    present = view.present
    if numbers is not present.numbers:
        return _kept(numbers, ~_expired(view, numbers))
    # The snapshot already knows which of the active blocks expire at all.
    gone = present.expiring[_expired(view, present.expiring)]
    return np.delete(numbers, places(numbers, gone)) if len(gone) else numbers


def _expired(view: View, numbers: Ints) -> NDArray[np.bool_]:
    expires = view.life.column("expires_us", numbers)
    expired: NDArray[np.bool_] = (expires != UNKNOWN) & (expires <= view.point.instant_us)
    return expired


def _kept(numbers: Ints, passing: NDArray[np.bool_]) -> Ints:
    """Return those of *numbers* that pass: the same array if all do, which is the common case.

    What a view has cached for an array is then reused.
    """
    return numbers if passing.all() else numbers[passing]


def obstacle(view: View, eligibility: Eligibility, number: int) -> str | None:
    """Return the first condition that excludes an active block; None if it is eligible.

    A condition reads ``frame scope``, ``frame only_tags``, ``frame zone``, ``frame never_tags``, or
    ``where`` and one of ``KEYS``.
    """
    one = np.array([number], dtype=np.int64)
    for name, passes in _sieves(view, eligibility):
        if not passes(one)[0]:
            return name
    return None


Sieve = Callable[[Ints], NDArray[np.bool_]]


def _sieves(view: View, eligibility: Eligibility) -> Iterator[tuple[str, Sieve]]:
    """Yield each condition that was given, cheap ones first: its name, and which blocks pass."""
    frame, where = eligibility.frame, eligibility.where
    if frame.scope == "session":
        # The caller's own, else the latest: sessions of crashed callers stay open for ever.
        wanted = eligibility.session or view.latest_session()
        known = -1 if wanted is None else view.state.catalogue.sessions.known(wanted)
        yield "frame scope", lambda numbers: view.life.column("session", numbers) == known
    if frame.only_tags:
        yield "frame only_tags", lambda numbers: _tagged(view, numbers, frame.only_tags)
        yield "frame zone", lambda numbers: _may_say(view, numbers, frame.only_tags)
    if frame.never_tags:
        yield "frame never_tags", lambda numbers: ~_tagged(view, numbers, frame.never_tags)
    if where.tags:
        yield "where tags", lambda numbers: _all_tagged(view, numbers, where.tags)
    if where.category:
        categories = [view.state.catalogue.categories.known(name) for name in where.category]
        yield (
            "where category",
            lambda numbers: np.isin(view.life.column("category", numbers), categories),
        )
    since, until = where.since_us, where.until_us
    if since is not None:
        yield "where since", lambda numbers: _dated(view, numbers, since=since)
    if until is not None:
        yield "where until", lambda numbers: _dated(view, numbers, until=until)
    for name in ("key", "author", "thread", "metadata"):
        values = getattr(where, name)
        if values:
            yield f"where {name}", partial(_saying, view, name, values)


def _tagged(view: View, numbers: Ints, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    return view.tagged(view.life.column("tags", numbers), wanted)


def _may_say(view: View, numbers: Ints, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which blocks may match: the agent's own tags count for privileged blocks only."""
    plain = tuple(tag for tag in wanted if not tag.startswith(OWN))
    if plain == wanted:
        return np.ones(len(numbers), dtype=np.bool_)
    return view.privileged(numbers) | _tagged(view, numbers, plain)


def _all_tagged(view: View, numbers: Ints, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    passing = np.ones(len(numbers), dtype=np.bool_)
    for tag in wanted:
        passing &= _tagged(view, numbers, (tag,))
    return passing


def _dated(
    view: View, numbers: Ints, *, since: int | None = None, until: int | None = None
) -> NDArray[np.bool_]:
    created = view.life.column("created_us", numbers)
    passing: NDArray[np.bool_] = created != UNKNOWN
    if since is not None:
        passing &= created >= since
    if until is not None:
        passing &= created <= until
    return passing


def _saying(view: View, name: str, wanted: tuple[Any, ...], numbers: Ints) -> NDArray[np.bool_]:
    """Return which texts meet the condition on key, author, thread or metadata."""
    if name == "key":
        return np.isin(numbers, [number for key in wanted for number in view.keyed(key)])
    passing = (_says(view.text(number), name, wanted) for number in numbers.tolist())
    return np.fromiter(passing, dtype=np.bool_, count=len(numbers))


def _says(text: BlockText | Erased, name: str, wanted: tuple[Any, ...]) -> bool:
    if not isinstance(text, BlockText):
        return False
    if name != "metadata":
        return getattr(text, name) in wanted
    metadata = json.loads(text.metadata) if text.metadata else {}
    return all(metadata.get(key) == value for key, value in wanted)
