"""Reader of JSON lines files, for commands that take many items at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from attrs import frozen

from mnemic.adapters.cli.invocation.context import STANDARD_INPUT
from mnemic.kernel.values import Value


@frozen
class Line(Value):
    """One line of a file."""

    number: int
    """From 1."""
    text: str

    def parsed(self) -> Any:
        """Return the value of the line parsed as JSON.

        Raises:
            ValueError: It is not JSON.
        """
        try:
            return json.loads(self.text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def lines(path: Path) -> list[Line]:
    """Return the lines of a file that are not empty; ``-`` is standard input.

    Raises:
        InputUnreadable: The file does not exist, or cannot be read.
    """
    from mnemic.adapters.importers import InputUnreadable

    try:
        text = sys.stdin.read() if str(path) == STANDARD_INPUT else path.read_text("utf-8-sig")
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputUnreadable(
            f"{path} is not UTF-8: byte {error.start + 1}", recovery="Convert the file to UTF-8."
        ) from error
    numbered = enumerate(text.split("\n"), start=1)
    return [Line(number, line.strip()) for number, line in numbered if line.strip()]
