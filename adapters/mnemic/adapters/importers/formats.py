"""Detection of a file's format: by its name if possible, otherwise by its beginning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Literal

from attrs import frozen

from mnemic.adapters.importers.chat_logs import is_chatlog
from mnemic.adapters.importers.lines import Line, read_lines
from mnemic.adapters.importers.messages import is_transcript
from mnemic.adapters.importers.parsed_items import InputRefused

Format = Literal["lines", "conversations", "messages", "chatlog", "markdown", "text"]
"""JSON lines of memories, conversation JSON, messages in JSON, and three kinds of text."""

MARKDOWN_SUFFIXES: Final = frozenset({".markdown", ".md"})

_OBJECTS: Final = 'Write {"content": "…"}, one per line or in a list.'
_SAMPLE: Final = 5
"""Lines of which one has to be JSON: a broken one at the beginning proves nothing."""


@frozen
class File:
    """The bytes of a file, and their format."""

    name: str
    data: bytes
    """Without a byte order mark."""
    suffix: str = ""
    """In lower case, with the leading dot."""

    def format(self) -> Format:
        """Return the format of the file.

        Raises:
            InputRefused: The file is named as JSON, but is not.
        """
        if self.suffix in MARKDOWN_SUFFIXES:
            return "markdown"
        found = _json_format(self._beginning())
        if found is not None:
            return found
        if self.suffix == ".jsonl":
            return "lines"
        if self.suffix == ".json":
            self.document()  # raises an error with the position
            raise InputRefused(f"{self.name} holds no object", recovery=_OBJECTS)
        return "chatlog" if is_chatlog(self.data.decode(errors="replace")) else "text"

    def text(self) -> str:
        """Return the file as text, with line feeds only.

        Raises:
            InputRefused: It is not UTF-8.
        """
        try:
            text = self.data.decode()
        except UnicodeDecodeError as error:
            raise InputRefused(
                f"{self.name} is not UTF-8: byte {error.start + 1} is "
                f"0x{self.data[error.start]:02x}",
                recovery="Convert the file to UTF-8.",
            ) from error
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def document(self) -> Any:
        """Return the file as one JSON document.

        Raises:
            InputRefused: It is not one JSON document.
        """
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError) as error:
            raise InputRefused(
                f"{self.name} is not JSON: {error}",
                recovery="Correct the file, or give its --format.",
            ) from error

    def documents(self) -> Iterator[Line]:
        """Yield the parsed lines, or the one list or document that the lines make up."""
        by_line = isinstance(_json(self._first_lines(1)[0]), dict)
        whole = None if by_line else _json(self.data)
        if whole is None:
            yield from read_lines(self.name, self.data)
        else:
            yield Line(self.name, whole)

    def _beginning(self) -> Any:
        """Return the first object or list of the file, as JSON; None if it does not begin with one.

        Only a file whose first line is not a complete object is read as a whole: JSON lines may
        be far longer than a conversation.
        """
        given = [_json(line) for line in self._first_lines(_SAMPLE)]
        if isinstance(given[0], dict | list):
            return given[0]
        if self.data.lstrip()[:1] in {b"{", b"["} and (whole := _json(self.data)) is not None:
            return whole
        return next((each for each in given if isinstance(each, dict)), None)

    def _first_lines(self, count: int) -> list[bytes]:
        return self.data.lstrip().split(b"\n", count)[:count]


def _json_format(beginning: Any) -> Format | None:
    match beginning:
        case {"conversations": _}:
            return "conversations"
        case [*members] if any(map(is_transcript, members)):
            return "messages"
        case dict() | [{}, *_]:
            return "messages" if is_transcript(beginning) else "lines"
        case _:
            return None


def _json(data: bytes) -> Any:
    """Return *data* parsed as JSON; None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
