"""Files that appear as a whole or not at all, and what the system says about them as our errors."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mnemic.adapters.exchange.asides import aside
from mnemic.adapters.folders import BINARY, NO_ROOM, PRIVATE, sync
from mnemic.adapters.stores.sqlite.heads import forget
from mnemic.kernel.errors import FieldRefused, StoreFailed, StoreFull

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY


@contextmanager
def named(path: Path) -> Generator[None]:
    """Turn what the system raises about *path* into errors of mnemic.

    Raises:
        StoreFull: There is no room.
        StoreFailed: Anything else.
    """
    try:
        yield
    except OSError as error:
        kind = StoreFull if error.errno in NO_ROOM else StoreFailed
        raise kind(f"{path}: {error.strerror or error}", path=str(path)) from error


def stands(path: Path) -> bool:
    """Return whether there is such a file or folder.

    Raises:
        StoreFailed: No file can be called that.
    """
    with named(path):
        return path.exists()


def checked_new(path: Path) -> None:
    """Refuse a file that is there, or whose folder is not.

    Raises:
        FieldRefused: It exists.
        StoreFailed: There is no such folder, or no file can be called that.
    """
    if stands(path):
        raise exists(path)
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )


@contextmanager
def appearing(*paths: Path) -> Generator[list[IO[bytes]]]:
    """Write files aside, for a ``with`` block; they stand at *paths* once that ends well.

    The last one comes first, and either all of them or none. Only their owner may read them: an
    export holds words, and the keys that vouch for them.

    Raises:
        FieldRefused: Somebody else made one of them meanwhile.
    """
    with aside(paths[0]) as folder:
        drafts = [folder / path.name for path in paths]
        with ExitStack() as stack:
            outs = [stack.enter_context(_new(draft)) for draft in drafts]
            yield outs
            for out in outs:
                out.flush()
                os.fsync(out.fileno())
        settle_all(drafts, paths)


def settle_all(drafts: Sequence[Path], paths: Sequence[Path]) -> None:
    """Move finished files into their places, the last one first: all of them, or none.

    Raises:
        FieldRefused: Somebody else made one of them meanwhile.
    """
    settled: list[Path] = []
    try:
        for draft, path in reversed(list(zip(drafts, paths, strict=True))):
            try:
                settle(draft, path)
            except FileExistsError as error:
                raise exists(path) from error
            settled.append(path)
    except BaseException:
        for path in settled:
            path.unlink(missing_ok=True)
        raise


def _new(draft: Path) -> IO[bytes]:
    return os.fdopen(os.open(draft, _NEW, PRIVATE), "w+b")


def settle(aside: Path, path: Path) -> None:
    """Move a finished file into its place, for good.

    A store that was removed from there leaves a file beside it that says how far it went. That is
    no word about this one.

    Raises:
        FileExistsError: Another one stands there; it stays.
    """
    if not path.exists():
        forget(path)
    try:
        path.hardlink_to(aside)  # the only move that never overwrites
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        if path.exists():
            raise FileExistsError(errno.EEXIST, "File exists", str(path)) from None
        aside.replace(path)
    aside.unlink(missing_ok=True)
    with suppress(OSError):  # not every system lets a folder be opened
        sync(path.parent)


def exists(path: Path) -> FieldRefused:
    """Return the refusal of a file that is there."""
    return FieldRefused(
        f"{path} exists",
        recovery="Name a file that does not exist yet; nothing is overwritten.",
        field="path",
    )
