"""JSON lines: one memory per line, in UTF-8."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO

from mnemic.adapters.ingestion.items import InputRefused, Item, Sitting, item


def sitting(name: str, data: bytes) -> Sitting:
    """Return the lines of a file as one sitting.

    Args:
        name: What to call the file.
        data: Its bytes, without a byte order mark.
    """
    return Sitting(name=name, items=_items(name, data), size=data.count(b"\n") + 1)


def _items(name: str, data: bytes) -> Iterator[Item]:
    for number, line in enumerate(BytesIO(data), start=1):
        if line.strip():
            yield _item(f"{name}:{number}", line)


def _item(place: str, line: bytes) -> Item:
    try:
        given = json.loads(line.decode())
    except UnicodeDecodeError as error:
        refusal = InputRefused(
            f"not UTF-8: byte {error.start + 1} of the line",
            recovery="Convert the file to UTF-8.",
        )
        return Item(place=place, refusal=refusal)
    except (ValueError, RecursionError) as error:
        return Item(place=place, refusal=InputRefused(f"not JSON: {error}"))
    return item(place, given)
