"""Files that appear as a whole or not at all, and what the system says about them as our errors."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mnemic.adapters.folders import sync
from mnemic.kernel.errors import FieldRefused, StoreFailed, StoreFull

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


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
        kind = StoreFull if error.errno in _FULL else StoreFailed
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
        raise _exists(path)
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
    made: list[Path] = []
    try:
        with ExitStack() as stack:
            outs: list[IO[bytes]] = []
            for path in paths:
                handle, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
                made.append(Path(name))
                outs.append(stack.enter_context(os.fdopen(handle, "w+b")))
            yield outs
            for out in outs:
                out.flush()
                os.fsync(out.fileno())
        for aside, path in reversed(list(zip(tuple(made), paths, strict=True))):
            try:
                settle(aside, path)
            except FileExistsError as error:
                raise _exists(path) from error
            made.append(path)
    except BaseException:
        for each in made:
            each.unlink(missing_ok=True)
        raise


def settle(aside: Path, path: Path) -> None:
    """Move a finished file into its place, for good.

    Raises:
        FileExistsError: Another one stands there; it stays.
    """
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


def _exists(path: Path) -> FieldRefused:
    return FieldRefused(
        f"{path} exists",
        recovery="Name a file that does not exist yet; nothing is overwritten.",
        field="path",
    )
