"""Paths as hosts give them, checked before the system sees them."""

from __future__ import annotations

import os
from pathlib import Path

from mnemic.kernel.errors import FieldRefused


def checked_path(path: str | Path, field: str = "path") -> Path:
    """Return *path* if a file could have it.

    Args:
        path: As given.
        field: The name of the argument, for the error.

    Raises:
        FieldRefused: It contains a NUL character, or one that no file name has.
    """
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise FieldRefused(
            f"{field} is not the path of a file: {str(path)!r:.200}",
            recovery="Give a path without NUL and other characters that no file name has.",
            field=field,
        )
    return Path(path)
