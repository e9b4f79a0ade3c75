"""Readers of files with memories, documents or conversations, which yield lessons to learn.

A file is divided into sittings, one per session in which it should be learned, and a sitting into
items: a lesson that ``learn`` takes, or a refusal of what was found. Nothing here writes.

``lines`` and ``conversations`` read JSON made for this purpose; ``markdown`` and ``plaintext`` read
documents, divided into ``passages``; ``messages`` and ``chat_logs`` read what people and models
said to each other. ``formats`` detects the format.
"""

from __future__ import annotations

from mnemic.adapters.importers.parsed_items import (
    InputRefused,
    InputUnreadable,
    Item,
    Labels,
    Sitting,
)
from mnemic.adapters.importers.sources import Reading, files, left_out, read

__all__ = [
    "InputRefused",
    "InputUnreadable",
    "Item",
    "Labels",
    "Reading",
    "Sitting",
    "files",
    "left_out",
    "read",
]
