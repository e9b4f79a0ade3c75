"""Ports for time and for random bytes."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Source of the wall-clock time."""

    def now_us(self) -> int:
        """Return microseconds since the epoch, UTC. It may step back, repeat and jump."""
        ...


class Entropy(Protocol):
    """Source of cryptographically random bytes for salts, nonces, payload keys and ids."""

    def token(self, size: int) -> bytes:
        """Return *size* fresh bytes."""
        ...
