"""The leader of a space, and what a host that is not the leader answers."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from mnemic.kernel.errors import Unavailable


class LedElsewhere(Unavailable):
    """Another host leads the space, and writes to it."""

    code = "led-elsewhere"
    default_recovery = (
        "Send the request to the host in `url`, or repeat it after a moment: if that host does not "
        "answer, another takes over when its lease ends."
    )


class MovedAway(Unavailable):
    """The space is in another database now."""

    code = "moved-away"
    default_recovery = "Open the store at `address`, or ask any host of the cluster."

    @property
    def address(self) -> str:
        """Of the database, as it was given to the move."""
        return str(self.facts.get("address", ""))


@frozen(kw_only=True)
class Leader:
    """The host that leads a space."""

    epoch: int
    """Counted from 0, when no host has led the space yet."""
    host: str
    """Its id; empty: none."""
    url: str
    """Where its HTTP interface is; empty: none."""
    left_s: float
    """Seconds until its lease ends; at most 0: it has ended."""


class Leads(Protocol):
    """Knows in which epochs this process may write."""

    def epoch_of(self, space: str) -> int:
        """Return the epoch in which this process may write to *space*.

        Raises:
            LedElsewhere: Another host leads it.
        """
        ...

    def forget(self, space: str) -> None:
        """Drop what is remembered of *space*: an append in its epoch was refused."""
        ...


def moved_away(space: str, address: str) -> MovedAway:
    """Return the error for a space that is in another database now."""
    return MovedAway(f"the space {space!r} was moved", space=space, address=address)


def elsewhere(space: str, leader: Leader) -> LedElsewhere:
    """Return the error for a write to a space that another host leads."""
    return LedElsewhere(
        f"the space {space!r} is led by another host",
        space=space,
        url=leader.url,
        epoch=leader.epoch,
        lease_ends_in_s=round(max(0.0, leader.left_s), 1),
    )
