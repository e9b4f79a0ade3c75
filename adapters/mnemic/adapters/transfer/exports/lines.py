"""An event and its payloads as lines of an export: CloudEvents 1.0 in JSON, one to a line.

An event's own line carries its body as bytes (``data_base64``), so that the chain can be checked
byte for byte. What CloudEvents call extensions: ``version``, ``previous`` (the digest that it
builds on; its own is its ``id``), ``payloads`` (how many lines with payloads follow) and, of a
command that may be repeated, ``request`` and ``last``. A payload's line names the event's
``version``; that of a vector gives its position in the file of vectors instead of its bytes.

Each line has exactly one valid form: a reader writes it again and compares.

Source: github.com/cloudevents/spec, v1.0.2, spec.md and formats/json-format.md.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from attrs import define, evolve, field, frozen

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.transfer.exports.manifest import JSON, SPECVERSION, Manifest
from mnemic.kernel.ports import CommandRow, PayloadRow, Record
from mnemic.kernel.timestamps import iso

PAYLOAD = "mnemic.payload.1"


class Place(NamedTuple):
    """Position of a vector in the file of vectors."""

    at: int
    size: int


@frozen(kw_only=True)
class Written:
    """Content of the line of one event."""

    record: Record
    previous: bytes
    payloads: int
    recorded_us: int
    command: CommandRow | None

    @property
    def digest(self) -> bytes:
        """The chain digest of the record."""
        return chain.digest(self.previous, *self.record)


@define
class Counts:
    """What a manifest says of the rest of an export, counted as it is written or read."""

    payloads: int = 0
    vectors: int = 0
    vectors_bytes: int = 0
    _lines: Any = field(factory=sha256, init=False)
    _vectors: Any = field(factory=sha256, init=False)

    def add_line(self, line: bytes) -> None:
        """Count a line after the first, with its end."""
        self._lines.update(line)

    def add_vector(self, data: bytes) -> None:
        """Count a vector in the file of vectors."""
        self._vectors.update(data)
        self.vectors += 1
        self.vectors_bytes += len(data)

    def added_to(self, manifest: Manifest) -> Manifest:
        """Return *manifest* with all counts."""
        return evolve(
            manifest,
            payloads=self.payloads,
            vectors=self.vectors,
            vectors_bytes=self.vectors_bytes,
            vectors_sha256=self._vectors.hexdigest(),
            sha256=self._lines.hexdigest(),
        )


@frozen
class Lines:
    """Writes and reads the lines of one export."""

    manifest: Manifest

    def event(self, written: Written) -> bytes:
        """Return the line of an event, without its end."""
        record, command = written.record, written.command
        line = self._around(written.digest.hex(), record.topic)
        line["time"] = iso(written.recorded_us)
        line["datacontenttype"] = JSON
        line["version"] = record.version
        line["previous"] = written.previous.hex()
        line["payloads"] = written.payloads
        if command is not None:
            line["request"] = command.request.hex()
            line["last"] = command.last
        line["data_base64"] = b64encode(record.body).decode()
        return orjson.dumps(line)

    def payload(self, row: PayloadRow, place: Place | None) -> bytes:
        """Return the line of a payload, without its end; *place* if it is in the other file."""
        line = self._around(row.id, PAYLOAD)
        line["datacontenttype"] = JSON
        line["version"] = row.version
        line["data"] = {
            "slot": row.slot,
            "key": b64encode(row.key).decode(),
            "owners": row.owners,
            **({"data": b64encode(row.data).decode()} if place is None else place._asdict()),
        }
        return orjson.dumps(line)

    def _around(self, own: str, kind: str) -> dict[str, Any]:
        return {
            "specversion": SPECVERSION,
            "id": own,
            "source": self.manifest.source,
            "type": kind,
            "subject": self.manifest.space,
        }


def parsed(line: bytes) -> dict[str, Any]:
    """Return a line as a dict.

    Raises:
        ValueError: It is no JSON object.
    """
    found = orjson.loads(line)
    if type(found) is not dict:
        raise ValueError("no JSON object")
    return found


def record_of(found: dict[str, Any]) -> Record:
    """Return the record in an event's line.

    Raises:
        ValueError, TypeError, LookupError: It holds none.
    """
    version, topic = found["version"], found["type"]
    if type(version) is not int or type(topic) is not str:
        raise ValueError("no version or no type")
    return Record(version, topic, b64decode(found["data_base64"], validate=True))


def payload_of(found: dict[str, Any]) -> tuple[PayloadRow, Place | None]:
    """Return the payload in its line; of a vector without bytes, and their position.

    Raises:
        ValueError, TypeError, LookupError: It holds none.
    """
    held = found["data"]
    place = Place(held["at"], held["size"]) if "at" in held else None
    if place is not None and not all(type(each) is int and each >= 0 for each in place):
        raise ValueError("no place in the file of vectors")
    if type(held["slot"]) is not int:
        raise ValueError("no slot")
    data = b"" if place is not None else b64decode(held["data"], validate=True)
    key, owners = b64decode(held["key"], validate=True), tuple(held["owners"])
    return PayloadRow(found["version"], held["slot"], found["id"], key, owners, data), place


def command_of(found: dict[str, Any], command_id: str) -> CommandRow | None:
    """Return the remembered command that an event's line begins.

    Raises:
        ValueError, TypeError: It is not as it was written.
    """
    if "request" not in found:
        return None
    first, last = found["version"], found["last"]
    if type(last) is not int or last < first:
        raise ValueError("the command ends before it begins")
    return CommandRow(command_id, bytes.fromhex(found["request"]), first, last)
