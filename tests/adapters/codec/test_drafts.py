from __future__ import annotations

from typing import Any

import attrs
import pytest
from attrs import Factory, field, frozen
from attrs.exceptions import FrozenInstanceError
from attrs.validators import instance_of

from mnemic.adapters.codec.fast_construction import draft
from mnemic.kernel.events import EdgeConnected, Recorded
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText

VALUE = EdgeConnected(
    source=BlockId("a"), target=BlockId("b"), relation="supports", weight=1, action="created"
)


def staged(cls: type, **fields: object) -> Any:
    value = draft(cls)()
    for name, each in fields.items():
        setattr(value, name, each)
    value.__class__ = cls
    return value


def test_a_draft_becomes_a_value_of_its_class() -> None:
    value = staged(EdgeConnected, **attrs.asdict(VALUE))
    assert (value, type(value), hash(value)) == (VALUE, EdgeConnected, hash(VALUE))


def test_a_draft_of_a_payload_sets_the_slots_of_its_base_too() -> None:
    text = staged(
        BlockText, of=("a",), content="x", tags=(), author=None, thread=None, metadata=None
    )
    assert text == BlockText(content="x", of=("a",))


def test_a_completed_draft_is_frozen() -> None:
    value = staged(EdgeConnected, **attrs.asdict(VALUE))
    with pytest.raises(FrozenInstanceError):
        value.weight = 2
    with pytest.raises(FrozenInstanceError):
        del value.weight


def test_drafts_of_one_class_are_of_one_class() -> None:
    assert draft(Recorded) is draft(Recorded)


@frozen
class Converted:
    size: int = field(converter=int)


@frozen
class Validated:
    size: int = field(validator=instance_of(int))


@frozen
class Derived:
    size: int = field(init=False, default=Factory(lambda: 1))


@frozen
class Finished:
    size: int

    def __attrs_post_init__(self) -> None:
        raise NotImplementedError


@frozen(slots=False)
class Roomy:
    size: int


@pytest.mark.parametrize("cls", [Converted, Validated, Derived, Finished, Roomy])
def test_a_class_with_more_than_slots_cannot_be_drafted(cls: type) -> None:
    with pytest.raises(TypeError, match=f"{cls.__name__} cannot be drafted"):
        draft(cls)
