"""Files that are written atomically, and errors of the file system as errors of mnemic."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mnemic.adapters.files.temporary_folders import aside
from mnemic.adapters.stores.sqlite.remains import check_no_write_ahead
from mnemic.adapters.stores.sqlite.watermark import forget
from mnemic.adapters.system.folders import (
    BINARY,
    NO_ROOM,
    PRIVATE,
    sync,
)
from mnemic.adapters.system.paths import checked_path
from mnemic.kernel.errors import FieldRefused, StoreFailed, StoreFull

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY


@contextmanager
def named(path: Path) -> Generator[None]:
    """Convert what the system raises about *path* to errors of mnemic.

    Raises:
        StoreFull: The disk is full.
        StoreFailed: Anything else.
    """
    try:
        yield
    except OSError as error:
        kind = StoreFull if error.errno in NO_ROOM else StoreFailed
        raise kind(f"{path}: {error.strerror or error}", path=str(path)) from error


def stands(path: Path) -> bool:
    """Return whether the file or folder exists.

    Raises:
        FieldRefused, StoreFailed: The path is not a possible file name.
    """
    with named(checked_path(path)):
        return path.exists()


def checked_new(path: Path) -> None:
    """Refuse a path that exists, or whose folder does not.

    Raises:
        FieldRefused: It exists.
        StoreMissing: It was a database, whose write-ahead log is left.
        StoreFailed: There is no such folder, or the path is not a possible file name.
    """
    if stands(path):
        raise exists(path)
    check_no_write_ahead(path)
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )


@contextmanager
def appearing(*paths: Path) -> Generator[list[IO[bytes]]]:
    """Write temporary files for a ``with`` block; they are moved to *paths* once it has succeeded.

    The last one is moved first, and either all of them or none. Only their owner may read them: an
    export holds text, and the keys that authenticate it.

    Raises:
        FieldRefused: Another process made one of them meanwhile.
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
    """Move finished files to their paths, the last one first: all of them, or none.

    Raises:
        FieldRefused: Another process made one of them meanwhile.
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
    """Move a finished file to its path, durably.

    A store that was removed from there leaves its watermarks behind, a file that says how far it
    went. They do not apply to this one.

    Raises:
        FileExistsError: Another file exists there; it stays.
    """
    if not path.exists():
        forget(path)
    try:
        path.hardlink_to(aside)  # the only move that never overwrites
    except FileExistsError:
        raise
    except OSError:  # some file systems have no links
        if path.exists():
            raise FileExistsError(errno.EEXIST, "File exists", str(path)) from None
        aside.replace(path)
    aside.unlink(missing_ok=True)
    with suppress(OSError):  # some systems do not let a folder be opened
        sync(path.parent)


def exists(path: Path) -> FieldRefused:
    """Return the error for a file that exists."""
    return FieldRefused(
        f"{path} exists",
        recovery="Name a file that does not exist yet; nothing is overwritten.",
        field="path",
    )
