"""Files that appear as a whole or not at all, and what the system says about them as our errors."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

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


def checked_new(path: Path) -> None:
    """Refuse a file that is there, or whose folder is not.

    Raises:
        FieldRefused: It exists.
        StoreFailed: There is no such folder.
    """
    if path.exists():
        raise FieldRefused(
            f"{path} exists",
            recovery="Name a file that does not exist yet; nothing is overwritten.",
            field="path",
        )
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )


@contextmanager
def appearing(path: Path) -> Generator[IO[bytes]]:
    """Write a file aside, for a ``with`` block; it stands at *path* once that ends well.

    Only its owner may read it: an export holds words, and the keys that vouch for them.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "w+b") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        settle(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def settle(aside: Path, path: Path) -> None:
    """Move a finished file into its place, for good."""
    aside.replace(path)
    with suppress(OSError):  # not every system lets a folder be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
