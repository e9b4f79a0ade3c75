"""JSON lines: one memory per line, in UTF-8; or a list of memories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from attrs import frozen

from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    InputRefused,
    Item,
    Labels,
    Sitting,
    item,
)


@frozen
class Line:
    """One non-empty line of a file, or the whole file."""

    place: str
    """File, and line number if it is one line."""
    given: Any
    """The parsed JSON, or the refusal of a line that is not JSON."""


def sitting(
    name: str, documents: Iterable[Line], labels: Labels = NO_LABELS, *, size: int
) -> Sitting:
    """Return the memories of a file as one sitting.

    Args:
        name: The name of the file in places.
        documents: Its lines, or its one list.
        labels: Values for the whole file.
        size: Upper limit of the number of memories.
    """
    return Sitting(name=name, items=_items(documents, labels), size=size)


def read_lines(name: str, data: bytes) -> Iterator[Line]:
    """Yield the lines of a file that are not empty.

    Args:
        name: The name of the file in places.
        data: Its bytes, without a byte order mark.
    """
    for number, line in enumerate(BytesIO(data), start=1):
        if line.strip():
            yield Line(f"{name}:{number}", _given(line))


def _items(documents: Iterable[Line], labels: Labels) -> Iterator[Item]:
    for line in documents:
        match line.given:
            case InputRefused() as refusal:
                yield Item(place=line.place, refusal=refusal)
            case [{}, *_] as members:
                for number, member in enumerate(members, start=1):
                    yield item(f"{line.place}: {number}", member, labels)
            case given:
                yield item(line.place, given, labels)


def _given(line: bytes) -> Any:
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        return InputRefused(
            f"not UTF-8: byte {error.start + 1} of the line",
            recovery="Convert the file to UTF-8.",
        )
    except json.JSONDecodeError as error:  # whose own text counts lines from this one
        return InputRefused(f"not JSON: {error.msg} at character {error.pos + 1} of the line")
    except (ValueError, RecursionError) as error:
        return InputRefused(f"not JSON: {error}")
