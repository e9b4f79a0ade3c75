"""The folder of checkpoints, their permissions, and failed removals."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mnemic.adapters.checkpoints.writer import TAIL_MIN
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.folders import PRIVATE
from mnemic.kernel.errors import StoreFailed
from tests.adapters.checkpoints.conftest import Open
from tests.adapters.checkpoints.states import checkpoint_writer_of

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")


def permissions(path: Path) -> str:
    return stat.filemode(path.stat().st_mode)


@posix
def test_an_erasure_finds_checkpoints_made_through_a_link(
    opened: Open, tmp_path: Path, path: Path, folder: Path
) -> None:
    with opened() as memory:
        block = memory.learn("the zanzibar gate").block_id
        link = tmp_path / "elsewhere" / "link.db"
        link.parent.mkdir()
        link.symlink_to(path)
        with opened(link) as other:
            name = other.checkpoint().name
        assert [each.name for each in memory.checkpoints()] == [name]
        memory.erase(block)
    assert list(folder.iterdir()) == []
    assert list(link.parent.iterdir()) == [link]


def test_changing_the_working_directory_does_not_move_checkpoints(
    opened: Open, path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, elsewhere = (path.with_name(name) for name in ("named", "elsewhere"))
    elsewhere.mkdir()
    monkeypatch.chdir(path.parent)
    with (
        opened(Path(path.name)) as memory,
        opened(Path(path.name), space="b", checkpoints=named.name) as other,
    ):
        monkeypatch.chdir(elsewhere)
        made = [folder / memory.checkpoint().name, named / other.checkpoint().name]
        memory.learn("the gate")
    assert [file.exists() for file in made] == [True, True]
    assert list(elsewhere.iterdir()) == []


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_checkpoint_has_the_permissions_of_the_file(
    opened: Open, path: Path, folder: Path, mode: int
) -> None:
    with opened() as memory:
        path.chmod(mode)
        made = folder / memory.checkpoint().name
    assert permissions(made) == permissions(path)
    assert stat.S_IMODE(folder.stat().st_mode) == mode | (mode & 0o444) >> 2


@posix
def test_a_checkpoint_of_a_store_without_a_file_is_private(opened: Open, tmp_path: Path) -> None:
    with opened(MemoryStore(), checkpoints=tmp_path / "named") as memory:
        made = tmp_path / "named" / memory.checkpoint().name
    assert stat.S_IMODE(made.stat().st_mode) == PRIVATE


@posix
def test_a_link_in_place_of_a_checkpoint_is_removed_without_its_target(
    opened: Open, tmp_path: Path, folder: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("not ours")
    with opened() as memory:
        block = memory.learn("the zanzibar gate").block_id
        made = folder / memory.checkpoint().name
        made.unlink()
        made.symlink_to(precious)
        memory.erase(block)
    assert (precious.read_text(), list(folder.iterdir())) == ("not ours", [])


def in_the_way(memory_folder: Path, name: str) -> Path:
    """Put something in the place of a checkpoint that ``unlink`` cannot remove."""
    place = memory_folder / name
    place.unlink()
    place.mkdir()
    return place


def test_files_an_erasure_could_not_remove_are_reported_until_gone(
    opened: Open, folder: Path
) -> None:
    with opened() as memory:
        block = memory.learn("the zanzibar gate").block_id
        place = in_the_way(folder, memory.checkpoint().name)
        receipt = memory.erase(block)
        assert receipt.left == (place.name,)
        assert str(receipt).endswith(
            f"But {place.name} could not be removed and may hold its text: remove it by hand."
        )
        memory.learn("the crane")
        assert memory.checkpoint().state == "valid"
        (alert,) = memory.status().alerts
        assert alert.startswith(f"{place.name} could not be removed")
        place.rmdir()
        assert (memory.status().alerts, memory.erase(block).left) == ((), ())


def test_an_alert_about_erased_text_outlives_one_about_a_checkpoint(
    opened: Open, folder: Path
) -> None:
    with opened() as memory:
        block = memory.learn("the zanzibar gate").block_id
        place = in_the_way(folder, memory.checkpoint().name)
        memory.erase(block)
        memory.learn_many([f"thing {number}" for number in range(TAIL_MIN + 1)])
        checkpoint_writer_of(memory).close()  # writes one, and all went well
        assert [alert.split()[0] for alert in memory.status().alerts] == [place.name]


def test_dropping_reports_what_it_could_not_remove(opened: Open, folder: Path) -> None:
    with opened() as memory:
        name = in_the_way(folder, memory.checkpoint().name).name
        with pytest.raises(StoreFailed, match=f"{name} could not be removed"):
            memory.drop_checkpoints()
