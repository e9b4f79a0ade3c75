"""Versioned maps of pairs: the pairs of one block, at the head and after a checkpoint."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.storage.versioned_maps import Coding, Ends, Paired

BLOCKS = range(4)
_BY_PAIR: Coding[str] = Coding(
    lambda ends, value: (*ends, value), lambda plain: ((plain[0], plain[1]), plain[2])
)

pairs = st.sampled_from([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
steps = st.lists(st.tuples(st.sampled_from(("put", "drop")), pairs), max_size=12)


def played(paired: Paired[str], happened: list[tuple[str, Ends]], first: int) -> Paired[str]:
    for version, (act, ends) in enumerate(happened, start=first):
        if act == "put":
            paired.put(ends, version, f"of {version}")
        else:
            paired.drop(ends, version)
    return paired


@given(before=steps, after=steps)
def test_pairs_of_a_block_are_found_before_and_after_thawing(
    before: list[tuple[str, Ends]], after: list[tuple[str, Ends]]
) -> None:
    whole = played(Paired(_BY_PAIR), before, first=0)
    thawed = Paired.thawed(whole.frozen(), _BY_PAIR)
    for paired in (whole, thawed):
        played(paired, after, first=len(before))
        for block in BLOCKS:
            assert sorted(paired.of(block)) == sorted(
                ends for ends in paired.current if block in ends
            )
    assert list(whole.current.items()) == list(thawed.current.items())
