"""JSON files and JSON lines, read item by item, so that memory does not grow with the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.extras import pip_install
from mnemic.adapters.importers.parsed_items import InputRefused, InputUnreadable

LINE_MAX: Final = 64 * 2**20
"""Bytes of one line."""


def missing(package: str) -> InputRefused:
    """Return the refusal of a source that needs a package of the extra ``importers``."""
    return InputRefused(
        f"this kind of source needs the package {package}",
        recovery=f"Install it: {pip_install('importers')}.",
    )


def json_items(path: Path, prefix: str = "item") -> Iterator[tuple[str, Any]]:
    """Yield the items of a list in a JSON file, each with its place.

    Args:
        path: The file.
        prefix: Where the list is, as ijson names it: ``item``, ``results.item``.

    Raises:
        InputUnreadable: The file cannot be read.
        InputRefused: It is not JSON, or is cut off; the items before were yielded. Or ijson is not
            installed.
    """
    try:
        import ijson
    except ImportError as error:
        raise missing("ijson") from error
    count = 0
    try:
        with path.open("rb") as file:
            for count, each in enumerate(ijson.items(file, prefix, use_float=True), start=1):
                yield f"{path.name}: {prefix.removesuffix('.item')} {count}", each
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    except (ijson.JSONError, UnicodeDecodeError, ValueError) as error:
        raise InputRefused(
            f"{path} is not JSON after item {count}: {error}",
            recovery="The file is cut off or damaged: get the export again.",
        ) from error


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the lines of a file as JSON, each with its place; a refusal for one that is not JSON.

    Raises:
        InputUnreadable: The file cannot be read.
        InputRefused: A line is too long for a line.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LINE_MAX + 1):
                number += 1
                place = f"{path.name}:{number}"
                if len(line) > LINE_MAX:
                    raise InputRefused(
                        f"{place} has more than {LINE_MAX} bytes",
                        recovery="Name a file of JSON lines: one object per line.",
                    )
                if line.strip():
                    yield place, _parsed(line)
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:  # whose own text counts lines from this one
        return InputRefused(f"not JSON: {error.msg} at character {error.pos + 1} of the line")
    except (ValueError, RecursionError) as error:
        return InputRefused(f"not JSON: {error}")
