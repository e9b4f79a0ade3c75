from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.results import Frontier
from mnemic.projections.frontier import history
from mnemic.projections.frontier.candidates import frequency_weights
from mnemic.projections.frontier.rarity import surprises
from mnemic.projections.frontier.sets import closure
from mnemic.specs.rules import Row, rows

SIZE = 32
NONE = "$none"
QUESTION = "what now?"
LIFE = {"expired": {"expires_at": "2026-02-01T00:00:00+00:00"}}


class Played:
    """A memory after all steps of a row."""

    def __init__(self, row: Row) -> None:
        given = row.given
        blocks: Mapping[str, Mapping[str, Any]] = given["blocks"]
        self.clock = ManualClock()
        self.memory = SyncMemory.open(
            ":memory:",
            embedder=_script(blocks, given.get("cosines", ())),
            policy=row.policy,
            clock=self.clock,
            entropy=SeededEntropy(row.id),
            analyst=NoAnalyst(),
        )
        self.ids: dict[str, str] = {}
        self._learn({name: each for name, each in blocks.items() if each.get("then") != "waiting"})
        self.memory.consolidate()
        for one, relation, other in given.get("edges", ()):
            self.memory.connect(self.ids[one], self.ids[other], relation=relation)
        self._learn({name: each for name, each in blocks.items() if each.get("then") == "waiting"})
        for name, each in blocks.items():
            if each.get("then") == "forgotten":
                self.memory.forget(self.ids[name])
        self.compose(given.get("composed", ()))

    def _learn(self, blocks: Mapping[str, Mapping[str, Any]]) -> None:
        for name, each in blocks.items():
            fields = {key: each[key] for key in ("tags", "category", "zone") if key in each}
            fields |= LIFE.get(each.get("then", ""), {})
            self.ids[name] = self.memory.learn(each["text"], **fields).block_id

    def compose(self, compositions: Iterable[Mapping[str, Any]]) -> None:
        for each in compositions:
            members = [self.ids[name] for name in each["members"]]
            composed = self.memory.compose(members, consume=each.get("consume", "all"))
            if "label" in each:
                self.memory.label(composed.composition_id, each["label"])

    def named(self, value: Any) -> Any:
        """Return ids by their names, sets sorted."""
        names = {block: name for name, block in self.ids.items()}
        if isinstance(value, tuple | list):
            return sorted(self.named(each) for each in value)
        return NONE if value is None else names.get(value, value)


def _script(
    blocks: Mapping[str, Mapping[str, Any]], cosines: Iterable[tuple[str, str, float]]
) -> ScriptedEmbedder:
    """Return an embedder for which only pairs with a given cosine are similar."""
    near = {other: (one, cosine) for one, other, cosine in cosines}
    vectors: dict[str, tuple[float, ...]] = {}
    for axis, (name, each) in enumerate(blocks.items()):
        own = tuple(float(place == axis) for place in range(SIZE))
        if name in near:
            one, cosine = near[name]
            own = with_cosine(vectors[blocks[one]["text"]], cosine, axis=axis)
        vectors[each["text"]] = own
    vectors[QUESTION] = (0.0,) * (SIZE - 1) + (1.0,)
    return ScriptedEmbedder(vectors, SIZE)


def check(row: Row, played: Played, frontier: Frontier) -> None:
    """Compare a frontier with a row: its sets, and fields of the first one."""
    found = [played.named(each.to_dict()["block_ids"]) for each in frontier.candidates]
    first = frontier.candidates[0].to_dict() if frontier.candidates else {}
    for path, said in row.then.items():
        match path:
            case "candidates":
                assert found == said
            case "among":
                assert sorted(found) == sorted(said)
            case "first":
                assert found[0] == said
            case "empty_because":
                assert frontier.empty_because == said
            case _:
                field, _, part = path.partition(".")
                answer = first[field][part] if part else first[field]
                if isinstance(said, float):
                    assert row.tells(path, round(answer * NANO))
                else:
                    assert played.named(answer) == said


@pytest.mark.parametrize("row", rows("frontier.tie"), ids=str)
def test_rare_common_terms_link_blocks(row: Row) -> None:
    held = row.given["held"]
    weights = frequency_weights(held, row.given["blocks"])
    assert row.tells("weight", int(weights[held]))


@pytest.mark.parametrize("row", rows("frontier.surprise"), ids=str)
def test_a_link_counts_by_its_rarity(row: Row) -> None:
    strengths = np.array(row.given["strengths"], dtype=np.int64)
    found = surprises(strengths, row.given["possible"]) / NANO
    assert [round(each, 6) for each in found.tolist()] == row.then["surprises"]


@pytest.mark.parametrize("row", rows("frontier.evidence"), ids=str)
def test_labels_are_evidence_that_accumulates_and_decays(row: Row) -> None:
    given = row.given
    members = given.get("members", 2)
    texts = [f"number {one}" for one in ("one", "two", "three")[:members]]
    blocks = {text: {"text": text} for text in texts}
    clock = ManualClock()
    memory = SyncMemory.open(":memory:", embedder=_script(blocks, ()), clock=clock)
    ids = [memory.learn(text).block_id for text in texts]
    memory.consolidate()
    composed = memory.compose(ids).composition_id
    for label, *delta in given["labels"] * given.get("times", 1):
        said = memory.label(composed, label, confidence_delta=delta[0] if delta else None)
        if given.get("retracted"):
            memory.retract_label(said.label_id)
    hour = memory.status().hour + 24 * given.get("days", 0)
    view = memory.as_of(hour=hour)._view()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    answer = history.past(view).evidence.get(0, history.Evidence())
    assert row.tells("adjustment", history.adjustment(answer.tilt(DEFAULT), DEFAULT))


@pytest.mark.parametrize("row", rows("frontier.pair"), ids=str)
def test_a_pair_scores_by_its_components(row: Row) -> None:
    played = Played(row)
    if any(each.get("then") == "expired" for each in row.given["blocks"].values()):
        played.clock.advance(hours=24 * 365)
    check(row, played, played.memory.frontier(**row.given.get("ask", {})))


@pytest.mark.parametrize("row", rows("frontier.consume"), ids=str)
def test_a_composition_consumes_the_pairs_it_names(row: Row) -> None:
    played = Played(row)
    check(row, played, played.memory.frontier())


@pytest.mark.parametrize("row", rows("frontier.zones"), ids=str)
def test_a_set_is_no_stronger_than_its_weakest_zone(row: Row) -> None:
    played = Played(row)
    check(row, played, played.memory.frontier())


@pytest.mark.parametrize("row", rows("frontier.closure"), ids=str)
def test_an_open_set_is_as_strong_as_the_harmonic_mean(row: Row) -> None:
    assert row.tells("closure", closure([nano(weight) for weight in row.given["weights"]]))


@pytest.mark.parametrize("row", rows("frontier.sets"), ids=str)
def test_larger_sets_are_classified_as_open_wedge_or_cold(row: Row) -> None:
    played = Played(row)
    check(row, played, played.memory.frontier(**row.given["ask"]))


@pytest.mark.parametrize("row", rows("frontier.calibration"), ids=str)
def test_calibration_is_reported_separately(row: Row) -> None:
    played = Played(row)
    decision = played.memory.recall(QUESTION).decision_id
    before = played.memory.frontier(decision=decision)
    played.compose(row.given["later"])
    after = played.memory.frontier(decision=decision)
    assert after.candidates == before.candidates
    assert [played.named(each.block_ids) for each in after.calibration] == row.then["calibration"]
    assert [each.rank or 0 for each in after.calibration] == row.then["ranks"]
