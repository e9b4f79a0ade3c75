"""The first line of an export: its manifest, with counts and digests of everything else."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson
from attrs import asdict, evolve, fields, frozen

FORMAT = 1
"""Increased when an older release could no longer read what is written."""
TYPE = "mnemic.export.1"
SPECVERSION = "1.0"
SOURCE = "urn:mnemic:"
"""Prefix of a source; the genesis digest follows."""
JSON = "application/json"
COUNT_MAX = 2**63 - 1


class ManifestUnreadable(ValueError):
    """A first line is no manifest, or is damaged. Internal to this package."""


@frozen(kw_only=True)
class Manifest:
    """Description of an export."""

    space: str
    genesis: str
    """Chain digest of the first event, hex."""
    version: int
    """The last one exported."""
    chain: str
    """Chain digest there, hex."""
    words: bool
    """Whether the payloads are in it."""
    erased: tuple[str, ...] = ()
    """Blocks that were erased after that version: their payloads are rightly missing."""
    payloads: int = COUNT_MAX
    vectors: int = COUNT_MAX
    vectors_bytes: int = COUNT_MAX
    vectors_sha256: str = "0" * 64
    """Of the file of vectors."""
    sha256: str = "0" * 64
    """Of all lines after this one."""

    @property
    def source(self) -> str:
        """The source that every line names: the memory, under any name of its space."""
        return SOURCE + self.genesis

    def line(self) -> bytes:
        """Return the line, without its end."""
        data = {"format": FORMAT, **asdict(self)}
        return orjson.dumps(
            {
                "specversion": SPECVERSION,
                "id": self.chain,
                "source": self.source,
                "type": TYPE,
                "subject": self.space,
                "datacontenttype": JSON,
                "digest": sha256(orjson.dumps(data)).hexdigest(),
                "data": data,
            }
        )

    def room(self) -> int:
        """Return the length to reserve for the line, before everything is counted."""
        most = COUNT_MAX
        return len(evolve(self, payloads=most, vectors=most, vectors_bytes=most).line())


def read(line: bytes) -> Manifest:
    """Return the manifest in the first line of an export.

    Raises:
        ManifestUnreadable: Saying why.
    """
    try:
        data: dict[str, Any] = dict(orjson.loads(line)["data"])
        form = data.pop("format")
        if form != FORMAT:
            raise ManifestUnreadable(f"it has form {form!r:.40}, this release reads {FORMAT}")
        data["erased"] = tuple(data["erased"])
        found = Manifest(**data)
        written = found.line()
        is_whole = all(type(data[name]) is kind for name, kind in _TYPES.items())
        is_whole = is_whole and len(set(found.erased)) == len(found.erased)
    except (ValueError, TypeError, LookupError) as error:
        if isinstance(error, ManifestUnreadable):
            raise
        raise ManifestUnreadable("it is not the manifest of an export") from error
    if not is_whole or line.rstrip(b" \n") != written:
        raise ManifestUnreadable("the manifest is damaged")
    return found


_TYPES = {
    each.name: {"int": int, "str": str, "bool": bool}.get(str(each.type), tuple)
    for each in fields(Manifest)
}
