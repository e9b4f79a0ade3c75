"""The array file: what a manifest names stays as it is, whatever is written behind it."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.adapters.checkpoints import array_file
from mnemic.adapters.checkpoints.array_file import STRETCH, Contents, Torn
from mnemic.adapters.checkpoints.file_locks import (
    MAPS,
    is_being_made,
    opened_to_map,
    opened_to_write,
)
from mnemic.adapters.checkpoints.files import Folder, destroy
from mnemic.projections.storage import mapped_arrays
from mnemic.projections.storage.mapped_arrays import claimed_room

posix = pytest.mark.skipif(not MAPS, reason="files are mapped on POSIX")

PARTS: dict[str, NDArray[Any]] = {
    "words/bytes": np.frombuffer("déjà vu".encode(), dtype=np.uint8),
    "weights": np.array([[1.5, -2.0], [0.25, 3.0]], dtype=np.float32),
    "alone": np.array(41, dtype=np.int64),
    "nothing": np.zeros((0, 3), dtype=np.int16),
    "flags": np.array([True, False, True]),
}


class Killed(Exception):
    """The process is gone."""


def never() -> None:
    pass


def after(writes: int) -> Callable[[], None]:
    """Return a check that ends the process after so many writes."""
    left = iter(range(writes))

    def check() -> None:
        if next(left, None) is None:
            raise Killed

    return check


def begun(file: Path, parts: Mapping[str, NDArray[Any]]) -> Contents:
    with file.open("x+b", buffering=0) as opened:
        return array_file.begun(opened.fileno(), array_file.plain(parts), check=never)


def extended(
    file: Path,
    before: Contents,
    parts: Mapping[str, NDArray[Any]],
    check: Callable[[], None] = never,
) -> Contents | None:
    with opened_to_write(file) as descriptor:
        assert descriptor is not None
        return array_file.extended(descriptor, before, array_file.plain(parts), check=check)


def read(file: Path, contents: Contents, *, in_place: bool) -> dict[str, NDArray[Any]]:
    with opened_to_map(file) as opened:
        if not in_place:
            return array_file.loaded(opened, contents)
        array_file.checked(opened, contents, threaded=True)
        return array_file.mapped(opened, contents)


def comparable(parts: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    return {name: (part.dtype.str, part.tolist()) for name, part in sorted(parts.items())}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.arrays"


ways = pytest.mark.parametrize("in_place", [False, pytest.param(True, marks=posix)])


@ways
def test_arrays_are_read_as_written(file: Path, in_place: bool) -> None:  # noqa: FBT001
    found = read(file, begun(file, PARTS), in_place=in_place)
    assert comparable(found) == comparable(PARTS)
    assert not any(part.flags.writeable for part in found.values() if part.size)


@ways
def test_a_large_array_has_many_seals(file: Path, in_place: bool) -> None:  # noqa: FBT001
    large = np.arange(3 * STRETCH, dtype=np.int32).reshape(3, -1)
    contents = begun(file, {"large": large, "small": large[0, :5]})
    assert contents.length == large.nbytes + 20
    assert np.array_equal(read(file, contents, in_place=in_place)["large"], large)
    with file.open("r+b") as stored:
        stored.seek(contents.parts[0].offset + 2 * STRETCH)
        stored.write(b"\xff")
    with pytest.raises(Torn, match="'large' is damaged"):
        read(file, contents, in_place=in_place)


def test_numbers_of_another_byte_order_and_scattered_arrays_are_written_in_order(
    file: Path,
) -> None:
    parts: dict[str, NDArray[Any]] = {
        "big": np.array([1, 2, 3], dtype=">i8"),
        "every other": np.arange(10)[::2],
        "turned": np.arange(6).reshape(2, 3).T,
    }
    found = read(file, begun(file, parts), in_place=False)
    assert comparable(found) == {name: ("<i8", part.tolist()) for name, part in parts.items()}


@pytest.mark.parametrize(
    "part", [np.array(["text"]), np.array([object()]), np.array([1j]), np.array([b"bytes"])]
)
def test_only_plain_numbers_are_written(part: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="which no checkpoint keeps"):
        array_file.plain({"odd": part})


def test_every_changed_byte_and_every_cut_is_detected(file: Path) -> None:
    contents = begun(file, PARTS)
    sound = file.read_bytes()
    for part in contents.parts:
        for place in range(part.offset, part.offset + part.length):
            for changed in {sound[place] ^ 1, sound[place] ^ 0x80, 0, 0x20} - {sound[place]}:
                file.write_bytes(sound[:place] + bytes([changed]) + sound[place + 1 :])
                with pytest.raises(Torn):
                    read(file, contents, in_place=False)
            file.write_bytes(sound[:place])
            with pytest.raises(Torn):
                read(file, contents, in_place=False)


# --- growing ----------------------------------------------------------------------------------


@posix
def test_appended_values_go_behind_the_others_and_nothing_else_is_written(file: Path) -> None:
    rows = np.arange(60_000, dtype=np.int32).reshape(-1, 3)
    first = begun(file, {"rows": rows[:15_000], "same": rows[0], "until": rows[:9, 0].copy()})
    before = file.read_bytes()
    until = rows[:9, 0].copy()
    until[4] = -1
    later = extended(file, first, {"rows": rows, "same": rows[0], "until": until})
    assert later is not None
    offsets = [[part.offset for part in each.parts] for each in (first, later)]
    assert offsets[0][:2] == offsets[1][:2]  # these are where they were
    assert offsets[1][2] == first.end  # and what changed is behind all others
    written = np.frombuffer(file.read_bytes(), dtype=np.uint8)
    old = np.frombuffer(before, dtype=np.uint8)
    changed = np.flatnonzero(written[: len(old)] != old)
    place = first.parts[0]
    assert changed.min(initial=place.offset + place.room) >= place.offset + place.length
    assert comparable(read(file, later, in_place=True)) == comparable(
        {"rows": rows, "same": rows[0], "until": until}
    )


@posix
def test_a_file_that_is_mostly_obsolete_is_not_extended(file: Path) -> None:
    first = begun(file, {"all": np.full(1000, 1)})
    second = extended(file, first, {"all": np.full(1000, 2)})
    assert second is not None
    assert extended(file, second, {"all": np.full(1000, 3)}) is None


COLUMNS = st.lists(st.integers(0, 3), max_size=40)
HISTORIES = st.lists(
    st.tuples(
        st.sampled_from(["append", "change", "replace", "drop", "widen"]),
        st.sampled_from("abc"),
        COLUMNS,
        st.one_of(st.none(), st.integers(0, 4)),
    ),
    max_size=12,
)


@posix
@given(first=COLUMNS, history=HISTORIES)
def test_every_contents_stays_readable_whatever_is_written_after_it(
    first: list[int], history: list[tuple[str, str, list[int], int | None]]
) -> None:
    """A process may be killed between any two writes: then the next one continues from before."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "some.arrays"
        parts: dict[str, NDArray[Any]] = {"a": np.array(first, dtype=np.int32)}
        known = [(begun(file, parts), comparable(parts))]
        for kind, name, values, killed in history:
            column = parts.get(name, np.zeros(0, dtype=np.int32))
            match kind:
                case "append":
                    parts[name] = np.concatenate((column, np.array(values, column.dtype)))
                case "change" if len(column):
                    parts[name] = column.copy()
                    parts[name][len(values) % len(column)] += 1
                case "replace":
                    parts[name] = np.array(values, dtype=np.int32)
                case "widen":
                    parts[name] = column.astype(np.int64)
                case _:
                    parts.pop(name, None)
            try:
                found = extended(
                    file, known[-1][0], parts, never if killed is None else after(killed)
                )
            except Killed:
                found = None
            if found is not None:
                known.append((found, comparable(parts)))
            for contents, expected in known:
                assert comparable(read(file, contents, in_place=True)) == expected


# --- erasing ----------------------------------------------------------------------------------


@posix
def test_a_file_is_overwritten_when_it_is_destroyed(file: Path, tmp_path: Path) -> None:
    begun(file, {"words": np.full(300_000, 7, dtype=np.uint8)})
    os.link(file, tmp_path / "other name")
    assert destroy(file)
    assert set((tmp_path / "other name").read_bytes()) == {0}


@posix
def test_a_mapped_file_is_overwritten_when_it_is_let_go(file: Path, tmp_path: Path) -> None:
    words = np.full(300_000, 7, dtype=np.uint8)
    contents = begun(file, {"words": words})
    os.link(file, tmp_path / "other name")
    found = read(file, contents, in_place=True)
    assert destroy(file)
    assert not file.exists()
    assert np.array_equal(found["words"], words)  # zeros must not appear under a reader
    with pytest.raises(Torn, match="erased"):
        read(tmp_path / "other name", contents, in_place=True)
    del found
    gc.collect()
    assert set((tmp_path / "other name").read_bytes()) == {0}


@posix
def test_a_mapped_array_grows_in_private_and_its_room_goes_with_the_mapping(file: Path) -> None:
    contents = begun(file, {"rows": np.arange(6, dtype=np.int32).reshape(-1, 2)})
    before = file.read_bytes()
    rows = read(file, contents, in_place=True)["rows"]
    room = claimed_room(rows)
    assert room is not None
    assert (room.shape, room[:3].tolist()) == ((8, 2), rows.tolist())
    room[3] = 7
    assert rows.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (file.read_bytes(), claimed_room(rows)) == (before, None)
    again = read(file, contents, in_place=True)["rows"]
    address = again.ctypes.data
    assert address in mapped_arrays._rooms  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    del again
    gc.collect()
    assert address not in mapped_arrays._rooms  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


@posix
def test_a_file_that_is_being_made_is_known(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "kept", space="home", genesis=bytes(32))
    with folder.new_array_file() as (place, descriptor):
        assert is_being_made(place)
        array_file.begun(descriptor, {}, check=never)
    assert not is_being_made(place)
    assert folder.array_files() == [place]
    with pytest.raises(Killed), folder.new_array_file():
        raise Killed
    assert folder.array_files() == [place]


@posix
def test_two_processes_never_extend_one_checkpoint(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "kept", space="home", genesis=bytes(32))
    with folder.newest() as none:
        assert none is None
    file = folder.write(3, [b"x"])
    with folder.newest() as one, folder.newest() as other:
        assert (one, other) == (file, None)
    with folder.newest() as one:
        assert one == file
