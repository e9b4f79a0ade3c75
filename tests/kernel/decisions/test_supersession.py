from __future__ import annotations

from mnemic.kernel.decisions.supersession import inherited
from mnemic.kernel.policy import DEFAULT, Policy


def test_an_heir_takes_over_missing_tags() -> None:
    assert inherited(("b",), ("a", "b", "c"), DEFAULT) == ("a", "b", "c")
    assert inherited((), (), DEFAULT) == ()


def test_own_tags_come_first_if_not_all_fit() -> None:
    tight = Policy(tags_max=3)
    assert inherited(("y", "z"), ("b", "a", "z"), tight) == ("a", "y", "z")
    assert inherited(("w", "x", "y", "z"), ("a",), tight) == ("w", "x", "y", "z")
