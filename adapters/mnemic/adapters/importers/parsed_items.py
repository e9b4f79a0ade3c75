"""The contents of a file: sittings of items, each a lesson or a refusal, with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from attrs import fields, frozen

from mnemic.kernel.decisions.learning import UNDATED, Lesson
from mnemic.kernel.errors import FieldRefused, Refused, Unavailable
from mnemic.kernel.timestamps import instant

KEYS = tuple(sorted(field.name for field in fields(Lesson)))
"""The keys allowed in an object: the arguments of ``learn``."""
SOURCE = "ingest"
"""The default source of a lesson; decides its trust zone."""


class InputRefused(Refused):
    """A line or a turn of a file cannot be learned."""

    code = "input-refused"
    default_recovery = 'Write one object per line, like {"content": "…", "tags": ["…"]}.'


class InputUnreadable(Unavailable):
    """A file to read does not exist, or cannot be read."""

    code = "input-unreadable"
    default_recovery = "Name files that exist and that you may read, or - for standard input."


@frozen(kw_only=True)
class Item:
    """One lesson of a file, or the refusal in its place."""

    place: str
    """File and line, or file and turn."""
    lesson: Mapping[str, Any] | None = None
    """Arguments of ``learn``."""
    undated: bool = False
    """Whether its date could not be read, so that the age counts as unknown."""
    refusal: Refused | None = None


@frozen(kw_only=True)
class Sitting:
    """Items to be learned in one session, in order."""

    name: str
    items: Iterable[Item]
    """Can be iterated once; read from the file lazily."""
    size: int
    """Upper limit of the number of items, for a progress bar."""


@frozen(kw_only=True)
class Source:
    """A file, with the names used in places and threads."""

    name: str
    thread: str | None = None
    """The short name; None for standard input."""

    def at(self, line: int) -> str:
        """Return the place of a line, from 1."""
        return f"{self.name}:{line}"


@frozen(kw_only=True)
class Labels:
    """Values that the user gives for a whole file. Values in the file itself take precedence."""

    thread: str | None = None
    author: str | None = None
    category: str | None = None
    created_at: str | None = None
    tags: tuple[str, ...] = ()
    """Added to the item's own."""

    def applied(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Return *said*, with these values for keys that it does not have."""
        whole = {
            "thread": self.thread,
            "author": self.author,
            "category": self.category,
            "created_at": self.created_at,
        }
        labelled = {key: value for key, value in whole.items() if value is not None} | dict(said)
        own = said.get("tags", ())
        if self.tags and isinstance(own, list | tuple):  # anything else is for `learn` to refuse
            labelled["tags"] = [*own, *(tag for tag in self.tags if tag not in own)]
        return labelled


NO_LABELS = Labels()


def item(
    place: str,
    given: object,
    labels: Labels = NO_LABELS,
    *,
    derived: Mapping[str, Any] | None = None,
) -> Item:
    """Return the item for one object of a file.

    Args:
        place: The place of the object.
        given: The parsed object.
        labels: Values for the whole file.
        derived: Defaults if neither the object nor a label has a value.
    """
    if not isinstance(given, dict):
        return Item(
            place=place, refusal=InputRefused(f"expected an object, got {type(given).__name__}")
        )
    unknown = sorted(set(given) - set(KEYS))
    if unknown:
        return Item(
            place=place,
            refusal=InputRefused(
                f"unknown {', '.join(map(repr, unknown))}",
                recovery=f"Use the keys {', '.join(KEYS)}.",
            ),
        )
    if "content" not in given:
        return Item(place=place, refusal=InputRefused("the object has no 'content'"))
    said = {key: value for key, value in given.items() if value is not None or key == "content"}
    assumed = {key: value for key, value in (derived or {}).items() if value is not None}
    lesson = {"source": SOURCE, **assumed, **labels.applied(said)}
    undated = "created_at" in lesson and not _is_date(lesson["created_at"])
    if undated:
        lesson["created_at"] = UNDATED
    return Item(place=place, lesson=lesson, undated=undated)


def _is_date(given: object) -> bool:
    """Whether ``learn`` can read a date; Source: DOMAIN section 3."""
    if given == UNDATED:
        return True
    if not isinstance(given, str | datetime):
        return False
    try:
        instant("created_at", given)
    except FieldRefused:
        return False
    return True
