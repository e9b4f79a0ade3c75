"""Pairs of statements that look alike: do both live where they differ, one where they do not?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from checks.figures import Check, Data, Figure, Row, share, told
from peers.port import Ability, Item
from peers.scripts import LINKS, LIST, Outcome, Script, Step, write

NOW = "2026-11-01T09:00:00+00:00"
QUICK = 40
SAME, CONTRADICTS = "SAME", "CONTRADICTS"


class Duplicates(Check):
    """Each pair in a memory of its own: the older one, the newer one, consolidation.

    The pairs are labelled SAME, DIFFERENT or CONTRADICTS. A pair is merged if one of the two is no
    longer kept as one of its own.
    """

    title = "near-duplicate pairs"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("pairs_lost", "different or contradicting pairs that lost one", "=", 0),
        Row("merge_precision", "merged pairs that say the same", ">=", 1.0),
        Row("merge_recall", "pairs that say the same and are merged", ">=", 0.909),
        Row("link_precision", "pairs linked as contradicting that do", ">=", 0.68),
        Row("link_recall", "contradicting pairs that are linked", ">=", 0.93),
    )

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self._pairs = data.part(data.pairs, QUICK)

    def scripts(self) -> list[Script]:
        """Return two for each pair, as not all memories have links."""
        return [
            script
            for pair in self._pairs
            for script in (
                _script(pair, LIST, Ability.LISTING),
                _script(pair, LINKS, Ability.LINKS),
            )
        ]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        found: dict[str, Figure | None] = {}
        kept = self._played(outcomes[::2])
        if kept:
            labels = [label for label, _ in kept]
            merged = [label for label, ids in kept if len(ids) == 1]
            lost = len(merged) - merged.count(SAME)
            found["pairs_lost"] = Figure(lost, len(labels) - labels.count(SAME))
            found["merge_precision"] = share(merged.count(SAME), len(merged))
            found["merge_recall"] = share(merged.count(SAME), labels.count(SAME))
        links = self._played(outcomes[1::2])
        if links:
            labels = [label for label, _ in links]
            linked = [label for label, pairs in links if pairs]
            found["link_precision"] = share(linked.count(CONTRADICTS), len(linked))
            found["link_recall"] = share(linked.count(CONTRADICTS), labels.count(CONTRADICTS))
        return told(found)

    def _played(self, outcomes: Sequence[Outcome]) -> list[tuple[str, Any]]:
        """Return the label of each pair that could be tried, and what the last step returned."""
        return [
            (pair["label"], outcome[-1])
            for pair, outcome in zip(self._pairs, outcomes, strict=True)
            if outcome is not None
        ]


def _script(pair: Mapping[str, Any], asked: Step, need: Ability) -> Script:
    needs = {need, Ability.USERS} if "old_metadata" in pair else {need}
    steps = [write(_item(pair, "old"), _item(pair, "new")), asked]
    return Script(steps=steps, now=NOW, needs=needs)


def _item(pair: Mapping[str, Any], which: str) -> Item:
    return Item(
        id=which,
        text=pair[which],
        author=pair.get(f"{which}_author"),
        user=pair.get(f"{which}_metadata", {}).get("user_id"),
        category="knowledge",
    )
