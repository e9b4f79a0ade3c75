"""Events and payloads to JSON values and back.

cattrs generates the functions, from the annotations of the kernel's classes. Its configuration:
fields equal to their default are left out; an unknown field is an error; a text is a text and a
number a number, nothing is coerced; payloads pass through unchanged, since marks replace them in a
body (``payload_positions``); most numbers of a recall are packed (``packing``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, get_args, get_origin

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from mnemic.adapters.codec.packing import PACKED, pack, unpack
from mnemic.adapters.codec.payload_positions import payload_kind
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.model.texts import (
    AnalysisText,
    AnswerText,
    BlockText,
    CompositionText,
    LabelText,
    MemberText,
    Payload,
    Question,
    Remark,
)

WORDED: tuple[type[Payload], ...] = (
    BlockText,
    AnalysisText,
    Remark,
    Question,
    MemberText,
    CompositionText,
    LabelText,
    AnswerText,
)
"""Payloads that are stored as JSON of their fields; the others are plain bytes."""

NUMBERS = "numbers"
"""The field of a stored recall that holds all of its packed ones."""

Json = Any
"""What a body may hold: any JSON value."""


@cache
def converter() -> Converter:
    """Return the one converter for every event and every payload of text."""
    made = Converter(detailed_validation=False, forbid_extra_keys=True, omit_if_default=True)
    for plain in (str, int, bool):
        made.register_structure_hook(plain, _exactly(plain))
    made.register_structure_hook_factory(_is_tuple, _tuple_hook)
    made.register_structure_hook_func(_is_payload, _payload)
    made.register_unstructure_hook_func(_is_payload, _same)
    for worded in WORDED:
        _register_worded(made, worded)
    _register_recall(made)
    return made


def _same(value: Json, _: object = None) -> Json:
    return value


def _exactly(plain: type) -> Callable[[Json, object], Json]:
    def hook(value: Json, _: object) -> Json:
        # Not isinstance: True does not count as a number.
        if type(value) is not plain:
            raise TypeError(f"{value!r:.40} is no {plain.__name__}")
        return value

    return hook


# --- tuples: stricter and faster than the general handling of sequences in cattrs ---------------


def _is_tuple(annotation: object) -> bool:
    return get_origin(annotation) is tuple


def _tuple_hook(annotation: object, made: Converter) -> Callable[[Json, object], tuple[Json, ...]]:
    members = get_args(annotation)
    length = None if members[-1] is Ellipsis else len(members)
    (member,) = set(members) - {Ellipsis}
    structured = made.get_structure_hook(member)

    def hook(values: Json, _: object) -> tuple[Json, ...]:
        if type(values) is not list or (length is not None and len(values) != length):
            raise TypeError(f"{values!r:.40} is no list of {length or 'any'} members")
        return tuple([structured(value, member) for value in values])

    return hook


# --- payloads -----------------------------------------------------------------------------------


def _is_payload(annotation: object) -> bool:
    return payload_kind(annotation) is not None


def _payload(value: Json, annotation: Any) -> Payload | None:
    if isinstance(value, Payload) or (value is None and isinstance(None, annotation)):
        return value
    raise TypeError(f"{value!r:.40} is not a payload")


def _register_worded(made: Converter, worded: type[Payload]) -> None:
    """Owners are stored next to a payload's bytes, not in them."""
    write = make_dict_unstructure_fn(worded, made, True, of=override(omit=True))  # noqa: FBT003
    read = make_dict_structure_fn(worded, made, of=override(struct_hook=_same))
    made.register_unstructure_hook(worded, write)
    made.register_structure_hook(worded, read)


# --- recalls ------------------------------------------------------------------------------------


def _register_recall(made: Converter) -> None:
    aside: Any = {name: override(omit=True) for name in PACKED}
    ready: Any = {name: override(struct_hook=_same) for name in PACKED}
    write_rest = make_dict_unstructure_fn(RecallRecorded, made, True, **aside)  # noqa: FBT003
    read_all = make_dict_structure_fn(RecallRecorded, made, **ready)

    def write(recall: RecallRecorded) -> dict[str, Json]:
        return {**write_rest(recall), NUMBERS: pack(recall)}

    def read(raw: dict[str, Json], _: object) -> RecallRecorded:
        rest = dict(raw)
        numbers = unpack(rest.pop(NUMBERS))
        if not numbers.keys().isdisjoint(rest):
            raise ValueError(
                f"{sorted(rest.keys() & numbers.keys())} are given besides the numbers"
            )
        return read_all({**rest, **numbers}, RecallRecorded)

    made.register_unstructure_hook(RecallRecorded, write)
    made.register_structure_hook(RecallRecorded, read)
