"""Argument values as remote callers write them. They describe documents; operations check values.

Fields and defaults are those of the kernel's own values (a test compares them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NewType

from attrs import frozen

from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Receipt

Instant = NewType("Instant", str)
"""ISO 8601; without an offset it is UTC."""
PolicyBody = Policy
"""The fields of a policy; those left out have their defaults."""
Signed = Receipt
"""A receipt as ``receipt`` returned it."""


@frozen(kw_only=True)
class Lesson:
    """A text to learn, with its attributes. See ``learn``."""

    content: str
    tags: Sequence[str] = ()
    category: str = "knowledge"
    source: str = "api"
    author: str | None = None
    thread: str | None = None
    confidence: float = 0.8
    created_at: Instant | None = None
    zone: str | None = None
    metadata: Mapping[str, Any] | None = None
    expires_at: Instant | None = None
    scope: Mapping[str, str] | None = None
    role: str | None = None
    valid_from: Instant | None = None
    valid_until: Instant | None = None
    key: str | None = None


@frozen(kw_only=True)
class Assertion:
    """An edge to assert. See ``connect``."""

    source: str
    target: str
    relation: str | None = None
    weight: float | None = None
    note: str | None = None
    if_exists: str = "reinforce"


@frozen(kw_only=True)
class Member:
    """A member of a composition."""

    block_id: str
    role: str = "supporting"
    rank: int | None = None
    """None: its position in the list."""
    trust: float | None = None
    score: float | None = None
    preview: str | None = None
    """None: the beginning of the block's text."""
    metadata: Mapping[str, Any] | None = None
    """The block's current ``tags`` are added, unless given."""


@frozen(kw_only=True)
class Filter:
    """Which blocks a recall may consider.

    Every given condition must hold; listed values are alternatives.
    """

    tags: str | Sequence[str] | None = None
    """All of these; one that ends in ``/`` matches every tag below it."""
    category: str | Sequence[str] | None = None
    """In one of these categories."""
    author: str | Sequence[str] | None = None
    """By one of these authors."""
    thread: str | Sequence[str] | None = None
    """In one of these threads."""
    key: str | Sequence[str] | None = None
    """Learned with one of these keys; one that ends in ``/`` matches every key below it."""
    zone: str | Sequence[str] | None = None
    """In one of these trust zones."""
    metadata: Mapping[str, Any] | None = None
    """With these values under these keys."""
    user: str | Sequence[str] | None = None
    """Of one of these users, by the scope that they were learned in."""
    agent: str | Sequence[str] | None = None
    """Of one of these agents."""
    run: str | Sequence[str] | None = None
    """Of one of these runs."""
    since: Instant | None = None
    """Created at or after; blocks of unknown age do not match."""
    until: Instant | None = None
    """Created at or before."""
    valid_at: Instant | None = None
    """With a fact that holds at this moment."""
    range: Mapping[str, Any] | None = None
    """Of `confidence`, or of keys of `metadata`: `{from, to}`, both included."""
    any: Sequence[Filter] | None = None
    """At least one of these filters holds."""
    all: Sequence[Filter] | None = None
    """All of these filters hold."""
    not_: Filter | None = None
    """This filter does not hold."""


@frozen(kw_only=True)
class Selector:
    """Which writes: by at least one of source, actor and block.

    Every given condition must hold; listed values are alternatives.
    """

    source: str | Sequence[str] | None = None
    """Texts from one of these sources."""
    actor: str | Sequence[str] | None = None
    """Events of one of these actors, as the log names them."""
    block: str | Sequence[str] | None = None
    """The texts of these blocks."""
    since: Instant | None = None
    """Recorded at or after."""
    until: Instant | None = None
    """Recorded before or at."""
