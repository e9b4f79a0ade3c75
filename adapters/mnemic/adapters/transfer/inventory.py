"""The manifest of a backup: which spaces are in the file, where each ends, and its digest.

It is JSON and holds no text of the memory. Its own digest is in it, so that damage to either file
can be told from damage to the other; anyone who can write both can forge both. Keep the digests of
the heads elsewhere where that matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from attrs import asdict, fields, frozen

from mnemic.adapters.files import atomic_files
from mnemic.adapters.transfer.results import SpaceKept
from mnemic.kernel.errors import BackupDamaged

KIND = "mnemic.backup.1"
ENDING = ".manifest.json"
BYTES_MAX = 2**26
"""Longer than any manifest: half a million spaces."""


@frozen(kw_only=True)
class Inventory:
    """Description of a backup."""

    at: str
    """When it was made, ISO 8601."""
    release: str
    """The release that made it."""
    spaces: tuple[SpaceKept, ...]
    sha256: str
    """Of the file, hex."""
    bytes: int
    """Length of the file."""


def document(inventory: Inventory) -> bytes:
    """Return a manifest as it is written, with its digest."""
    data = {"kind": KIND, **asdict(inventory)}
    digest = sha256(orjson.dumps(data)).hexdigest()
    return orjson.dumps({**data, "digest": digest}, option=orjson.OPT_INDENT_2) + b"\n"


def inventory_path(backup: Path) -> Path:
    """Return the path of the manifest of a backup."""
    return backup.with_name(f"{backup.name}{ENDING}")


def inventory_of(backup: Path) -> Inventory:
    """Return the manifest of a backup.

    Raises:
        BackupDamaged: There is none, or it is not what was written.
        StoreFailed: It cannot be read.
    """
    path = inventory_path(backup)
    if not atomic_files.stands(path):
        raise BackupDamaged(
            f"there is no {path}",
            recovery="Name a file that `mnemic backup` wrote, with its manifest beside it.",
            path=str(path),
        )
    with atomic_files.named(path), path.open("rb") as source:
        written = source.read(BYTES_MAX)
    try:
        found = _read(orjson.loads(written))
    except (ValueError, TypeError, LookupError) as error:
        raise BackupDamaged(f"{path} is not the manifest of a backup", path=str(path)) from error
    if document(found) != written:
        raise BackupDamaged(f"{path} is not as it was written", path=str(path))
    return found


def _read(data: Mapping[str, Any]) -> Inventory:
    if data["kind"] != KIND:
        raise ValueError(data["kind"])
    given = {each.name: data[each.name] for each in fields(Inventory)}
    spaces = tuple(SpaceKept(**each) for each in given.pop("spaces"))
    return Inventory(**given, spaces=spaces)
