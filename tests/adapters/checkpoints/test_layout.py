"""The bytes of a checkpoint: it is read as written, and nothing else is accepted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.layout import FormatUnknown, Origin, Torn
from tests.adapters.checkpoints.forging import forge

ORIGIN = Origin(
    space="home",
    genesis="ab" * 32,
    version=7,
    digest="cd" * 32,
    active_us=9,
    fold=1,
    release="1.2.3",
)
PARTS: dict[str, NDArray[Any]] = {
    "words/bytes": np.frombuffer("déjà vu".encode(), dtype=np.uint8),
    "weights": np.array([[1.5, -2.0], [0.25, 3.0]], dtype=np.float32),
    "alone": np.array(41, dtype=np.int64),
    "nothing": np.zeros((0, 3), dtype=np.int16),
    "flags": np.array([True, False, True]),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "small")


def written(file: Path, parts: dict[str, NDArray[Any]] = PARTS, origin: Origin = ORIGIN) -> Path:
    file.write_bytes(b"".join(layout.pieces(origin, parts)))
    return file


def told(parts: dict[str, NDArray[Any]]) -> dict[str, tuple[str, list[Any]]]:
    return {name: (part.dtype.str, part.tolist()) for name, part in parts.items()}


def test_a_checkpoint_is_read_as_written(file: Path) -> None:
    manifest, parts = layout.loaded(file)
    assert manifest == layout.described(file)
    assert manifest.origin == ORIGIN
    assert told(parts) == told(PARTS)
    assert not any(part.flags.writeable for part in parts.values())


def test_parts_are_aligned_to_cache_lines(file: Path) -> None:
    manifest = layout.described(file)
    assert [part.offset % 64 for part in manifest.parts] == [0] * len(PARTS)
    assert [part.name for part in manifest.parts] == sorted(PARTS)
    assert manifest.size == manifest.parts[-1].end == file.stat().st_size


def test_a_checkpoint_without_parts_is_valid(tmp_path: Path) -> None:
    manifest, parts = layout.loaded(written(tmp_path / "empty", {}))
    assert (manifest.parts, parts) == ((), {})


def test_a_state_large_enough_for_two_threads_is_hardly_larger_as_a_file(tmp_path: Path) -> None:
    large = np.arange(3_000_000, dtype=np.int32).reshape(1000, -1)
    file = written(tmp_path / "large", {"large": large, "small": large[0]})
    assert file.stat().st_size < 1.001 * (large.nbytes + large[0].nbytes)
    _, parts = layout.loaded(file)
    assert np.array_equal(parts["large"], large)
    with file.open("r+b") as stored:
        stored.seek(-500_000, 2)
        stored.write(b"\xff")
    with pytest.raises(Torn, match="'large' is damaged"):
        layout.loaded(file)


def test_numbers_of_another_byte_order_and_scattered_arrays_are_written_in_order(
    tmp_path: Path,
) -> None:
    parts: dict[str, NDArray[Any]] = {
        "big": np.array([1, 2, 3], dtype=">i8"),
        "every other": np.arange(10)[::2],
        "turned": np.arange(6).reshape(2, 3).T,
    }
    _, found = layout.loaded(written(tmp_path / "odd", parts))
    assert told(found) == {name: ("<i8", part.tolist()) for name, part in parts.items()}


@pytest.mark.parametrize(
    "part", [np.array(["text"]), np.array([object()]), np.array([1j]), np.array([b"bytes"])]
)
def test_only_plain_numbers_are_written(part: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="which no checkpoint keeps"):
        list(layout.pieces(ORIGIN, {"odd": part}))


@pytest.mark.parametrize("other", [b'"<c8"', b'"|O8"', b'"<U2"', b'"<M8"'])
def test_only_plain_numbers_are_read(tmp_path: Path, other: bytes) -> None:
    file = written(tmp_path / "odd", {"odd": np.array([1])})
    forge(file, lambda manifest: manifest.replace(b'"<i8"', other))
    with pytest.raises(Torn, match="no array of plain numbers"):
        layout.loaded(file)


@pytest.mark.parametrize("other", [b"[-1]", b"[true]", b'["1"]', b"[1.0]"])
def test_a_shape_is_whole_numbers(tmp_path: Path, other: bytes) -> None:
    file = written(tmp_path / "odd", {"odd": np.array([1])})
    forge(file, lambda manifest: manifest.replace(b"[1]", other))
    with pytest.raises(Torn):
        layout.loaded(file)


# --- damage -----------------------------------------------------------------------------------


def test_every_changed_byte_is_detected(file: Path) -> None:
    sound = file.read_bytes()
    with file.open("r+b", buffering=0) as stored:
        for place, byte in enumerate(sound):
            for changed in {byte ^ 1, byte ^ 0x80, byte ^ 0xFF, 0, 0x20} - {byte}:
                stored.seek(place)
                stored.write(bytes([changed]))
                with pytest.raises(Torn):
                    layout.loaded(file)
            stored.seek(place)
            stored.write(bytes([byte]))
    assert told(layout.loaded(file)[1]) == told(PARTS)


def test_every_truncation_and_extension_is_detected(file: Path) -> None:
    sound = file.read_bytes()
    for length in reversed(range(len(sound))):
        os.truncate(file, length)
        with pytest.raises(Torn):
            layout.described(file)
    for surplus in (b"\0", b"\0" * 64, sound):
        file.write_bytes(sound + surplus)
        with pytest.raises(Torn):
            layout.described(file)


@given(data=st.data())
def test_swapped_bytes_are_detected(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sound = b"".join(layout.pieces(ORIGIN, PARTS))
    place = st.integers(0, len(sound) - 1)
    one, other = data.draw(place), data.draw(place)
    damaged = bytearray(sound)
    damaged[one], damaged[other] = damaged[other], damaged[one]
    file = tmp_path_factory.getbasetemp() / "traded"
    file.write_bytes(damaged)
    if bytes(damaged) == sound:
        assert told(layout.loaded(file)[1]) == told(PARTS)
    else:
        with pytest.raises(Torn):
            layout.loaded(file)


def test_another_format_is_distinguished_from_damage(file: Path) -> None:
    forge(file, lambda manifest: manifest, layout_format=2)
    with pytest.raises(FormatUnknown, match="format 2"):
        layout.described(file)


def test_equal_states_are_equal_files(tmp_path: Path) -> None:
    turned = dict(reversed(PARTS.items()))
    files = [written(tmp_path / "one"), written(tmp_path / "other", turned)]
    assert files[0].read_bytes() == files[1].read_bytes()
    later = written(tmp_path / "next", PARTS, evolve(ORIGIN, version=8))
    assert later.read_bytes() != files[0].read_bytes()
