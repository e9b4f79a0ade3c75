"""Giving back is for the system to notice: nothing changes for who holds something."""

from __future__ import annotations

from mnemic.adapters.heap import give_back


def test_what_is_held_stays_when_the_rest_is_given_back() -> None:
    held = [bytes([number % 256]) * 100_000 for number in range(300)]
    del held[::2]
    give_back()
    assert held == [bytes([number % 256]) * 100_000 for number in range(1, 300, 2)]
