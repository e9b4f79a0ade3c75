"""Damage to a log in any database, by statements that all of them understand."""

from __future__ import annotations

from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Log

LENGTH = 10
"""Records of the log that is damaged."""


def read(log: Log, after: int = -1, upto: int | None = None) -> tuple[list[int], object]:
    """Return the versions that are yielded, and the version of the damage that ends them."""
    versions: list[int] = []
    try:
        versions.extend(record.version for record, _ in log.read(after, upto))
    except LogCorrupt as error:
        return versions, error.facts["version"]
    return versions, None


def at(version: int, change: str) -> str:
    return f"UPDATE stored_events SET {change} WHERE originator_version = {version}"  # noqa: S608


def swap(one: int, two: int) -> tuple[str, ...]:
    renamed = "UPDATE stored_events SET originator_version = {1} WHERE originator_version = {0}"
    return (renamed.format(one, 99), renamed.format(two, one), renamed.format(99, two))


SET_BACK = (
    "UPDATE spaces SET version = 5, digest = (SELECT substr(state, 1, 32) "
    "FROM stored_events WHERE originator_version = 6)"
)
"""The head, with the digest that stood there then."""
EVERYWHERE: dict[str, tuple[tuple[str, ...], int]] = {
    "a topic": ((at(4, "topic = 'thing-noted.9'"),), 4),
    "a topic that is gone": ((at(4, "topic = NULL"),), 4),
    "a state that is gone": ((at(4, "state = NULL"),), 4),
    "a state cut short": ((at(4, "state = substr(state, 1, 31)"),), 4),
    "a record that is gone": (("DELETE FROM stored_events WHERE originator_version = 4",), 4),
    "a tail that is gone": (("DELETE FROM stored_events WHERE originator_version >= 7",), 7),
    "all records gone": (("DELETE FROM stored_events",), 0),
    "two records swapped": (swap(3, 6), 3),
    "a record renumbered": ((at(9, "originator_version = 10"),), 9),
    "a head that is ahead": (("UPDATE spaces SET version = 12",), 10),
    "a head that lags behind": (("UPDATE spaces SET version = 7",), 7),
    "a head that is gone": (("DELETE FROM spaces",), 0),
}
"""What is done, and the first version that is bad then."""
