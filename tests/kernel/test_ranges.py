"""List fields of a policy accept lists only, never a text or an object."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.policy.ranges import Count, OneOf, Within, count, one_of, within


@pytest.mark.parametrize("value", ["", "ab", {}, {"ab": 1}, None, 7, ["ab"], [{"a": 1}], [["a"]]])
def test_pairs_are_a_list_of_lists_of_two(value: Any) -> None:
    with pytest.raises(PolicyRefused, match="not a list of pairs"):
        Policy(zones=value)


@pytest.mark.parametrize("value", ["", "ab", {}, {"ab": 1}, None, 7, [1], [""]])
def test_words_are_a_list_of_texts(value: Any) -> None:
    with pytest.raises(PolicyRefused, match="not a list of short texts"):
        Policy(durable_tags=value)


def test_parsed_json_makes_the_same_policy() -> None:
    zones: Any = [["web", "external"]]
    assert Policy(zones=zones).zones == (("web", "external"),)
    assert Policy.parse(DEFAULT.body) == DEFAULT


def test_validators_expose_their_bounds() -> None:
    assert (within(0.0, 2.0), count(high=9), one_of("a", "b")) == (
        Within(0.0, 2.0),
        Count(0, 9),
        OneOf(("a", "b")),
    )
