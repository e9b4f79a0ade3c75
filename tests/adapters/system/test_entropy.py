from __future__ import annotations

from mnemic.adapters.system.entropy import SeededEntropy, SystemEntropy
from mnemic.kernel.ports import Entropy


def test_system_entropy_has_the_requested_size_and_never_repeats() -> None:
    entropy: Entropy = SystemEntropy()
    assert [len(entropy.token(size)) for size in (0, 1, 16, 100)] == [0, 1, 16, 100]
    assert entropy.token(16) != entropy.token(16)


def test_one_seed_gives_the_same_bytes_in_the_same_order() -> None:
    first: Entropy = SeededEntropy("lamp")
    second: Entropy = SeededEntropy("lamp")
    assert [first.token(n) for n in (16, 16, 70)] == [second.token(n) for n in (16, 16, 70)]


def test_no_two_calls_and_no_two_seeds_share_bytes() -> None:
    entropy = SeededEntropy("lamp")
    tokens = [entropy.token(16), entropy.token(16), SeededEntropy("oil").token(16)]
    assert len(set(tokens)) == 3


def test_seeded_bytes_never_change() -> None:
    entropy = SeededEntropy("lamp")
    assert [entropy.token(4).hex(), entropy.token(40)[-4:].hex()] == ["54876ce2", "9b946fda"]
