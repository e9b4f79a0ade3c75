"""The rules by which cattrs converts events and payloads to JSON values and back.

cattrs generates the functions, from the annotations of the kernel's classes, each when it is first
needed: a process that opens a memory reads few kinds of events. Its configuration:
fields equal to their default are left out; an unknown field is an error; a text is a text and a
number a number, nothing is coerced; payloads pass through unchanged, since marks replace them in a
body (``payload_positions``); most numbers of a recall are packed (``packing``).
"""

from __future__ import annotations

from collections.abc import Callable
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
Read = Callable[[Any, Any], Any]
Write = Callable[[Any], dict[str, Json]]


def new_converter() -> Converter:
    """Return a converter for every event and every payload of text."""
    made = Converter(detailed_validation=False, forbid_extra_keys=True, omit_if_default=True)
    for plain in (str, int, bool):
        made.register_structure_hook(plain, _exactly(plain))
    made.register_structure_hook_factory(_is_tuple, _tuple_hook)
    made.register_structure_hook_func(_is_payload, _payload)
    made.register_unstructure_hook_func(_is_payload, _same)
    made.register_unstructure_hook_factory(_is_worded, _worded_writer)
    made.register_structure_hook_factory(_is_worded, _worded_reader)
    made.register_unstructure_hook_factory(_is_recall, _recall_writer)
    made.register_structure_hook_factory(_is_recall, _recall_reader)
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


# Owners are stored next to a payload's bytes, not in them.


def _is_worded(annotation: Any) -> bool:
    return annotation in WORDED


def _worded_writer(worded: type[Payload], made: Converter) -> Write:
    return make_dict_unstructure_fn(worded, made, True, of=override(omit=True))  # noqa: FBT003


def _worded_reader(worded: type[Payload], made: Converter) -> Read:
    return make_dict_structure_fn(worded, made, of=override(struct_hook=_same))


# --- recalls ------------------------------------------------------------------------------------


def _is_recall(annotation: object) -> bool:
    return annotation is RecallRecorded


def _recall_writer(_: object, made: Converter) -> Write:
    aside: Any = {name: override(omit=True) for name in PACKED}
    write_rest = make_dict_unstructure_fn(RecallRecorded, made, True, **aside)  # noqa: FBT003

    def write(recall: RecallRecorded) -> dict[str, Json]:
        return {**write_rest(recall), NUMBERS: pack(recall)}

    return write


def _recall_reader(_: object, made: Converter) -> Read:
    ready: Any = {name: override(struct_hook=_same) for name in PACKED}
    read_all = make_dict_structure_fn(RecallRecorded, made, **ready)

    def read(raw: dict[str, Json], _: object) -> RecallRecorded:
        rest = dict(raw)
        numbers = unpack(rest.pop(NUMBERS))
        if not numbers.keys().isdisjoint(rest):
            raise ValueError(
                f"{sorted(rest.keys() & numbers.keys())} are given besides the numbers"
            )
        return read_all({**rest, **numbers}, RecallRecorded)

    return read
