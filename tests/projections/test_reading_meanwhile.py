"""Readers of a published version look at the state between any two steps of its writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from mnemic.kernel.errors import PointOutOfRange
from mnemic.projections.blocks.threads import NONE
from mnemic.projections.storage.columns import VersionedTable
from mnemic.projections.view import publish
from tests.projections.scripted_state import Talk


class ReadOnceWritten(VersionedTable):
    """A table of which each row is written at once, and then seen by a reader."""

    reader: Callable[[], object] | None = None

    def put(self, key: int, version: int, values: Sequence[int]) -> None:
        super().put(key, version, values)
        if self.reader is not None:
            self.reader()


def read_once_written(table: VersionedTable) -> ReadOnceWritten:
    """Return *table* as one whose rows are written at once."""
    other = ReadOnceWritten(**{name: table.column(name).dtype.type for name in table.names})
    for key, row in enumerate(table.head.tolist()):
        other.put(key, int(table.since(row)[0]), table.row_values(row))
    return other


class Watched(dict[int, Any]):
    """A dict that calls a reader after each change."""

    def __init__(self, reader: Callable[[], object]) -> None:
        super().__init__()
        self._reader = reader

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        self._reader()


def linked(links: Iterable[list[int]]) -> list[list[int]]:
    return [[each for each in row if each != NONE] for row in links]


def test_a_text_is_there_before_the_row_that_names_it() -> None:
    talk = Talk()
    life = talk.state.catalogue.life = read_once_written(talk.state.catalogue.life)
    life.reader = talk.state.sequence.settle
    for place in range(3):
        talk.say(f"text {place}", author=f"author {place}", is_promoted=False)
    assert talk.state.sequence.author.tolist() == [0, 1, 2]
    assert linked(talk.state.sequence.links.tolist()) == [[1, 2], [0, 2], [1, 0]]


def test_the_context_of_an_erased_block_is_known_when_its_erasure_is() -> None:
    talk = Talk()
    for place in range(3):
        talk.say(f"text {place}")
    timeline = talk.state.timeline
    known: list[bool] = []
    timeline.erased_blocks = Watched(
        lambda: known.append(timeline.erased_context.keys() >= timeline.erased_blocks.keys())
    )
    talk.record_erasure(0, context=(1,))
    talk.record_erasure(2, context=None)
    assert known == [True, True]


def test_a_point_of_the_past_is_not_behind_the_snapshot() -> None:
    talk = Talk()
    talk.say("what is published")
    snapshot, timeline = publish(talk.state), talk.state.timeline
    talk.say("what is not")  # later, in the same hour and at the same instant
    published = snapshot.version
    assert timeline.version_at_hour(0, head=published) == published
    now_us = int(timeline.recorded_us.values[-1])
    assert timeline.version_at_instant(now_us, head=published) == published
    with pytest.raises(PointOutOfRange, match=f"ends at version {published}"):
        timeline.checked_version(published + 1, head=published)
