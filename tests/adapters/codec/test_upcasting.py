"""No event of the kernel has a second version yet, so the chain is shown with an event of our own.

``reading.1`` had the lamp's level in percent and no lamp; ``.2`` called it a note and named the
lamp; ``.3`` counts nano-units and calls the note a remark.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.model.identity import CommandId
from mnemic.kernel.model.texts import ERASED, Erased, Remark
from mnemic.kernel.ports import PayloadRow, Record


@frozen(kw_only=True)
class LevelRead:
    lamp: str
    level: int
    remark: Remark | Erased | None = None


def name_the_lamp(fields: dict[str, Any]) -> dict[str, Any]:
    return {"lamp": "only", **fields}


def count_in_nano_units(fields: dict[str, Any]) -> dict[str, Any]:
    renamed = {"remark": fields["note"]} if "note" in fields else {}
    return {"lamp": fields["lamp"], "level": fields["percent"] * 10_000_000, **renamed}


UPCASTERS = {("level-read", 1): name_the_lamp, ("level-read", 2): count_in_nano_units}
REGISTRY = Registry({"level-read.3": LevelRead}, UPCASTERS)

FIRST = b'{"h":1,"t":2,"c":"x","e":{"percent":40}}'
SECOND = (
    b'{"h":1,"t":2,"c":"x","e":{"lamp":"north","percent":40,'
    b'"note":"YR7BP-5b1RujANpG345r35ZhKZ341F41QHDkTg"}}'
)
THIRD = (
    b'{"h":1,"t":2,"c":"x","e":{"lamp":"north","level":400000000,'
    b'"remark":"YR7BP-5b1RujANpG345r35ZhKZ341F41QHDkTg"}}'
)
ROW = PayloadRow(
    version=9,
    slot=0,
    id="YR7BP-5b1RujANpG",
    key=bytes.fromhex("00112233445566778899aabbccddeeff"),
    owners=("e9",),
    data=b'{"text":"low"}',
)


def recorded(event: object) -> Recorded:
    made: Event = event  # type: ignore[assignment]
    return Recorded(version=9, active_us=1, recorded_us=2, command_id=CommandId("x"), event=made)


def decoded(topic: str, body: bytes, *payloads: PayloadRow) -> Recorded:
    return Codec(SeededEntropy(), REGISTRY).decode(Record(9, topic, body), payloads)


def test_the_first_version_is_read_through_both_steps() -> None:
    assert decoded("level-read.1", FIRST) == recorded(LevelRead(lamp="only", level=400_000_000))


def test_the_second_version_is_read_through_one_step_and_keeps_its_payload() -> None:
    event = LevelRead(lamp="north", level=400_000_000, remark=Remark(text="low"))
    assert decoded("level-read.2", SECOND, ROW) == recorded(event)


def test_the_current_version_is_read_unchanged() -> None:
    event = LevelRead(lamp="north", level=400_000_000, remark=Remark(text="low"))
    assert decoded("level-read.3", THIRD, ROW) == recorded(event)


def test_an_erased_payload_stays_erased_through_the_steps() -> None:
    event = LevelRead(lamp="north", level=400_000_000, remark=ERASED)
    assert decoded("level-read.2", SECOND) == recorded(event)


def test_references_of_an_old_version_are_found() -> None:
    record = Record(9, "level-read.2", SECOND)
    assert Codec(SeededEntropy(), REGISTRY).references(record) == ((0, ROW.id),)


def test_events_are_written_in_their_current_version_only() -> None:
    record, _ = Codec(SeededEntropy(), REGISTRY).encode(recorded(LevelRead(lamp="only", level=0)))
    assert record == Record(
        9, "level-read.3", b'{"h":1,"t":2,"c":"x","e":{"lamp":"only","level":0}}'
    )
