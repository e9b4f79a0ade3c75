"""Measures how well the rules tell the same statement, and what they cost, on labelled pairs.

A file of pairs is JSON, ``{"pairs": [{"old": ..., "new": ..., "label": ..., "kind": ...}]}``, with
the labels SAME (the newer may supersede the older), CONTRADICTS (both live, linked) and DIFFERENT
(both live). Pairs with other authors or metadata (``old_author``, ``new_metadata`` ...) are out of
scope of supersession. Precision of SAME should be 1: each false one archives a fact. The baseline
is equality without case and white space.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mnemic.kernel.statements import Statement, extends, relation, same

PAIRS = Path(__file__).parents[2] / "shared" / "data" / "near-duplicates-dev.json"
ROUNDS = 20
"""Repetitions of each measurement of time; the fastest counts."""

Pair = dict[str, Any]


def load(path: Path) -> list[Pair]:
    """Return the pairs in the file at *path*."""
    pairs: list[Pair] = json.loads(path.read_bytes())["pairs"]
    return pairs


def in_scope(pair: Pair) -> bool:
    """Whether author and metadata of both texts are equal."""
    return all(
        pair.get(f"old_{name}") == pair.get(f"new_{name}") for name in ("author", "metadata")
    )


def supersedes(pair: Pair) -> bool:
    """Whether the rules would archive the older text."""
    return in_scope(pair) and relation(pair["old"], pair["new"]) in {"same", "extends"}


def is_equal(pair: Pair) -> bool:
    """Whether the texts are equal without case and white space: the baseline."""
    old, new = (" ".join(pair[name].casefold().split()) for name in ("old", "new"))
    return in_scope(pair) and old == new


def contradicts(pair: Pair) -> bool:
    """Whether the rules would link the two as a contradiction."""
    return relation(pair["old"], pair["new"]) == "contradicts"


def report(name: str, label: str, said: Callable[[Pair], bool], pairs: Sequence[Pair]) -> None:
    """Print precision and recall of *said* for the pairs with *label*."""
    found = [pair for pair in pairs if said(pair)]
    wanted = sum(pair["label"] == label for pair in pairs)
    right = sum(pair["label"] == label for pair in found)
    precision = right / len(found) if found else 1.0
    recall = right / wanted if wanted else 1.0
    print(f"{name:32}{len(found):>8}{precision:>12.3f}{recall:>10.3f}{len(found) - right:>8}")


def mistakes(pairs: Sequence[Pair]) -> None:
    """Print each pair whose label the rules do not agree with."""
    for pair in pairs:
        said = "SAME" if supersedes(pair) else "CONTRADICTS" if contradicts(pair) else "DIFFERENT"
        if said != pair["label"]:
            print(f"{said}, not {pair['label']} ({pair.get('kind', '')})")
            print(f"    {pair['old']!r}\n    {pair['new']!r}")


def fastest_us(work: Callable[[], object], units: int) -> float:
    """Return the time of one unit of *work* in microseconds, in the fastest round."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times) / units


def costs(pairs: Sequence[Pair]) -> None:
    """Print the time of parsing, of the key, and of comparing parsed texts."""
    texts = [pair[name] for pair in pairs for name in ("old", "new")]
    short = [text for text in texts if len(text) <= 50] or texts  # noqa: PLR2004
    parsed = [Statement.of(text) for text in short]
    both = [(Statement.of(pair["old"]), Statement.of(pair["new"])) for pair in pairs]
    length = sum(map(len, short)) / len(short)
    plain = fastest_us(lambda: [" ".join(each.casefold().split()) for each in short], len(short))
    parsing = fastest_us(lambda: [Statement.of(text) for text in short], len(short))
    keys = fastest_us(lambda: [each.key for each in parsed], len(parsed))
    compared = fastest_us(lambda: [same(*pair) or extends(*pair) for pair in both], len(both))
    print(f"\na text of {length:.0f} characters: parsed in {parsing:.1f} µs", end="")
    print(f" ({parsing / plain:.0f} times folding its case), its key {keys:.1f} µs")
    print(f"a pair of parsed texts: {compared:.1f} µs")


def main() -> None:
    """Compare the rules with the labels of a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path, nargs="?", default=PAIRS, help="file of labelled pairs")
    parser.add_argument("--mistakes", action="store_true", help="print the pairs judged wrongly")
    options = parser.parse_args()
    if not options.pairs.is_file():
        print(f"There are no pairs in {options.pairs}: nothing is measured.")
        return
    pairs = load(options.pairs)
    print(f"{len(pairs):<32}{'said':>8}{'precision':>12}{'recall':>10}{'false':>8}")
    report("supersedes", "SAME", supersedes, pairs)
    report("equality (baseline)", "SAME", is_equal, pairs)
    report("contradicts", "CONTRADICTS", contradicts, pairs)
    costs(pairs)
    if options.mistakes:
        mistakes(pairs)


if __name__ == "__main__":
    main()
