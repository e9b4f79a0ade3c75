"""The manifest of a checkpoint: it is read as written, and nothing else is accepted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.array_file import Contents, Part, Torn
from mnemic.adapters.checkpoints.layout import FormatUnknown, Manifest, Origin
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
PARTS = (
    Part(name="alone", dtype="<i8", shape=(), offset=64, room=64, seals=b"abcd"),
    Part(name="nothing", dtype="<i2", shape=(0, 3), offset=128, room=0, seals=b""),
)
MANIFEST = Manifest(origin=ORIGIN, arrays="some.arrays", contents=Contents(parts=PARTS, end=128))


def bytes_of(manifest: Manifest = MANIFEST) -> bytes:
    return b"".join(layout.pieces(manifest))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "some.arrays").touch()
    file = tmp_path / "small"
    file.write_bytes(bytes_of())
    return file


def test_a_manifest_is_read_as_written(file: Path) -> None:
    assert layout.described(file) == MANIFEST
    file.write_bytes(bytes_of(evolve(MANIFEST, contents=Contents(parts=(), end=64))))
    assert layout.described(file).contents.parts == ()


def test_a_checkpoint_without_its_array_file_is_torn(file: Path) -> None:
    file.with_name("some.arrays").unlink()
    with pytest.raises(Torn, match=r"some\.arrays is missing"):
        layout.described(file)


@pytest.mark.parametrize(
    "other",
    [
        (b'"<i8"', b'"<c8"'),
        (b'"<i8"', b'"|O8"'),
        (b'"<i8"', b'"<U2"'),
        (b"[0,3]", b"[-1]"),
        (b"[0,3]", b"[true]"),
        (b"[0,3]", b'["1"]'),
        (b"[0,3]", b"[1.0]"),
        (b'"offset":64', b'"offset":-64'),
        (b'"61626364"', b'"6162636461626364"'),
        (b'"end"', b'"ends"'),
    ],
    ids=lambda pair: pair[1].decode(),
)
def test_only_arrays_of_plain_numbers_are_read(file: Path, other: tuple[bytes, bytes]) -> None:
    forge(file, lambda manifest: manifest.replace(*other))
    with pytest.raises(Torn, match="not valid"):
        layout.described(file)


def test_an_array_file_is_only_looked_for_in_the_folder_itself(file: Path) -> None:
    forge(file, lambda manifest: manifest.replace(b"some.arrays", b"../some.arrays"))
    assert layout.described(file).arrays == "some.arrays"


# --- damage -----------------------------------------------------------------------------------


def test_every_changed_byte_is_detected(file: Path) -> None:
    sound = file.read_bytes()
    with file.open("r+b", buffering=0) as stored:
        for place, byte in enumerate(sound):
            for changed in {byte ^ 1, byte ^ 0x80, byte ^ 0xFF, 0, 0x20} - {byte}:
                stored.seek(place)
                stored.write(bytes([changed]))
                with pytest.raises(Torn):
                    layout.described(file)
            stored.seek(place)
            stored.write(bytes([byte]))
    assert layout.described(file) == MANIFEST


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
    sound = bytes_of()
    place = st.integers(0, len(sound) - 1)
    one, other = data.draw(place), data.draw(place)
    damaged = bytearray(sound)
    damaged[one], damaged[other] = damaged[other], damaged[one]
    folder = tmp_path_factory.getbasetemp()
    (folder / "some.arrays").touch()
    file = folder / "traded"
    file.write_bytes(damaged)
    if bytes(damaged) == sound:
        assert layout.described(file) == MANIFEST
    else:
        with pytest.raises(Torn):
            layout.described(file)


@pytest.mark.parametrize("other", [1, 3])
def test_another_format_is_distinguished_from_damage(file: Path, other: int) -> None:
    forge(file, lambda manifest: manifest, layout_format=other)
    with pytest.raises(FormatUnknown, match=f"format {other}"):
        layout.described(file)
