"""Folders that keep derived files of spaces: whose a file is by its name, and how names last."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

SLUG_MAX = 24
MARK_BYTES = 6

_PLAIN = re.compile(r"[^a-z0-9]+")


def own_name(space: str, genesis: bytes) -> str:
    """Return how the names of a space's files begin, so that spaces and stores can share a folder.

    It is the space's name made safe, and a mark of that name and of the log's first event.

    Args:
        space: The space's name.
        genesis: Chain digest of the log's first event.
    """
    slug = _PLAIN.sub("-", space.lower()).strip("-")[:SLUG_MAX] or "space"
    named = space.encode("utf-8", "surrogatepass") + genesis
    return f"{slug}-{blake2b(named, digest_size=MARK_BYTES).hexdigest()}"


def sync(folder: Path) -> None:
    """Make new names last through a power cut, where folders can be synchronised."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
