"""Files of formats that are not read: named, with what to convert them with."""

from __future__ import annotations

from typing import Final

from mnemic.adapters.importers.parsed_items import InputRefused

PANDOC: Final = "Convert it first, for example: pandoc FILE -t gfm -o FILE.md"
PDFTOTEXT: Final = "Convert it first, for example: pdftotext -layout FILE FILE.txt"
BY_SUFFIX: Final = {
    ".docx": ("a Word document", PANDOC),
    ".epub": ("an EPUB book", PANDOC),
    ".htm": ("HTML", PANDOC),
    ".html": ("HTML", PANDOC),
    ".odt": ("an OpenDocument text", PANDOC),
    ".pdf": ("PDF", PDFTOTEXT),
    ".rtf": ("RTF", PANDOC),
    ".xhtml": ("HTML", PANDOC),
}
"""Documents by the suffix of their names: what they are, and the remedy."""
BY_BEGINNING: Final = {
    b"%pdf-": ("PDF", PDFTOTEXT),
    b"{\\rtf": ("RTF", PANDOC),
    b"<!doctype html": ("HTML", PANDOC),
    b"<html": ("HTML", PANDOC),
}
"""The same by their first bytes, in lower case."""
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks."""
_LOOKED_AT: Final = 64


def check_is_read(name: str, data: bytes, suffix: str) -> None:
    """Refuse a file that is neither text nor JSON.

    Args:
        name: Of the file, for the message.
        data: Its bytes.
        suffix: In lower case, with the leading dot.

    Raises:
        InputRefused: It is a document of another format, or binary.
    """
    beginning = data[:_LOOKED_AT].lstrip().lower()
    found = BY_SUFFIX.get(suffix) or next(
        (what for first, what in BY_BEGINNING.items() if beginning.startswith(first)), None
    )
    if found is not None:
        what, recovery = found
        raise InputRefused(f"{name} is {what}, which mnemic does not read", recovery=recovery)
    if data.startswith(UTF_16):
        raise InputRefused(f"{name} is not UTF-8 but UTF-16", recovery="Convert the file to UTF-8.")
    if b"\0" in data:
        raise InputRefused(
            f"{name} is binary: byte {data.index(0) + 1} is 0x00",
            recovery="Name files of text, Markdown or JSON.",
        )
