"""Durability watermarks, slot by slot."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.stores.sqlite import watermark
from mnemic.adapters.stores.sqlite.watermark import (
    SLOT_BYTES,
    DurabilityWatermark,
    Origin,
    Watermarks,
)
from mnemic.kernel.ports import Head

ORIGIN = Origin(genesis=b"g" * 32, inode=9)
KNOWN = DurabilityWatermark(space=2, head=Head(7, bytes(range(32))), origin=ORIGIN)
OTHER = evolve(KNOWN, space=5, head=Head(0, b"d" * 32))
Opener = Callable[..., Watermarks]
SEAL_BYTES = 8


def note(slots: Watermarks, known: DurabilityWatermark) -> None:
    slots.note(known.space, known.head, known.origin)


@pytest.fixture
def opened(path: Path) -> Generator[Opener]:
    """Open the watermarks of the file; closed after the test."""
    made: list[Watermarks] = []

    def opener(synchronous: str = "full", *, read_only: bool = False) -> Watermarks:
        made.append(Watermarks(path, synchronous=synchronous, read_only=read_only))  # type: ignore[arg-type]
        return made[-1]

    yield opener
    for each in made:
        each.close()


def test_a_watermark_is_visible_to_all_readers(opened: Opener) -> None:
    written = opened()
    note(written, KNOWN)
    note(written, OTHER)
    for reader in (written, opened(), opened(read_only=True)):
        assert [reader.of(space) for space in range(7)] == [
            None, None, KNOWN, None, None, OTHER, None,
        ]  # fmt: skip
        assert list(reader.behind(1)) == [KNOWN, OTHER]
        assert list(reader.behind(2)) == [OTHER]
        assert list(reader.behind(5)) == []


def test_without_a_file_there_are_no_watermarks_and_reading_makes_none(
    path: Path, opened: Opener
) -> None:
    for each in (opened(), opened(read_only=True)):
        assert each.of(2) is None
        assert list(each.behind(0)) == []
    note(opened(read_only=True), KNOWN)
    assert list(path.parent.iterdir()) == []


def test_a_reader_finds_a_file_that_is_made_later(opened: Opener) -> None:
    reader = opened(read_only=True)
    assert reader.of(2) is None
    note(opened(), KNOWN)
    assert reader.of(2) == KNOWN


def test_a_slot_is_overwritten_by_the_next_watermark(opened: Opener) -> None:
    written = opened()
    note(written, KNOWN)
    further = evolve(KNOWN, head=Head(8, b"e" * 32))
    note(written, further)
    assert opened().of(2) == further
    assert written.path.stat().st_size == 3 * SLOT_BYTES


@given(
    place=st.integers(0, SLOT_BYTES - 1), mask=st.integers(1, 255), size=st.integers(0, SLOT_BYTES)
)
def test_a_torn_or_changed_slot_is_ignored(
    tmp_path_factory: pytest.TempPathFactory, place: int, mask: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("slots") / "agent.db"
    with closing(Watermarks(path, synchronous="full", read_only=False)) as written:
        note(written, evolve(KNOWN, space=1))
        whole = bytearray(written.path.read_bytes())
        whole[SLOT_BYTES + place] ^= mask
        written.path.write_bytes(whole)
        assert written.of(1) in {None, evolve(KNOWN, space=1)}  # the last bytes mean nothing
        assert written.of(1) is None or place >= SLOT_BYTES - 16
        os.truncate(written.path, SLOT_BYTES + size)
        assert (written.of(1) is None) or size == SLOT_BYTES


def test_a_slot_at_the_wrong_position_is_ignored(opened: Opener) -> None:
    written = opened()
    note(written, KNOWN)
    data = written.path.read_bytes()
    written.path.write_bytes(data + data[-SLOT_BYTES:])
    assert [written.of(space) for space in (2, 3)] == [KNOWN, None]


def test_a_watermark_valid_until_reboot_is_ignored_after_it(opened: Opener) -> None:
    written = opened("normal")
    note(written, KNOWN)
    start = watermark.this_start()
    assert written.of(2) == (None if start is None else KNOWN)
    if start is not None:
        body = written.path.read_bytes()[-SLOT_BYTES + SEAL_BYTES :].replace(start, start[::-1])
        sealed = watermark.MAGIC + crc32(body).to_bytes(4, "little") + body
        written.path.write_bytes(bytes(2 * SLOT_BYTES) + sealed)
    assert written.of(2) is None


@pytest.mark.parametrize("space", [-1, 0, watermark.SPACES_MAX, 2**62])
def test_a_space_number_beyond_the_limit_has_no_slot(opened: Opener, space: int) -> None:
    written = opened()
    note(written, evolve(KNOWN, space=space))
    assert written.of(space) is None
    assert not written.path.exists()


def test_an_unwritable_file_is_abandoned(opened: Opener) -> None:
    written = opened()
    written.path.mkdir()  # stands in the way
    note(written, KNOWN)
    assert written.of(2) is None
    assert list(written.behind(0)) == []


def test_nothing_is_written_after_close(opened: Opener) -> None:
    written = opened()
    note(written, KNOWN)
    written.close()
    written.close()
    note(written, OTHER)
    assert [opened().of(space) for space in (2, 5)] == [KNOWN, None]


def test_held_watermarks_ignore_later_writes(opened: Opener) -> None:
    written, held = opened(), opened(read_only=True)
    note(written, KNOWN)
    held.hold()
    note(written, OTHER)
    note(written, evolve(KNOWN, head=Head(8, b"e" * 32)))
    assert (held.of(2), held.of(5), list(held.behind(0))) == (KNOWN, None, [KNOWN])


def test_forgotten_watermarks_are_recorded_again_by_the_next_append(
    path: Path, opened: Opener
) -> None:
    written = opened()
    note(written, KNOWN)
    note(written, OTHER)
    watermark.forget(path)
    assert list(written.behind(0)) == []
    note(written, KNOWN)
    assert list(opened().behind(0)) == [KNOWN]


def test_concurrent_writes_leave_whole_slots(opened: Opener) -> None:
    written = opened()

    def write(space: int) -> None:
        for version in range(200):
            note(written, evolve(KNOWN, space=space, head=Head(version, bytes([space] * 32))))

    threads = [threading.Thread(target=write, args=(space,)) for space in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.head for each in opened().behind(0)] == [
        Head(199, bytes([space] * 32)) for space in range(1, 5)
    ]
