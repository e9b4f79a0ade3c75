"""Files that hold memories, documents or conversations, read as lessons.

A file comes apart into sittings, one per session it should be learned in, and a sitting into
items: a lesson that ``learn`` takes, or the refusal of what stands there. Nothing here writes.

``lines`` and ``conversations`` read JSON made for this; ``markdown`` and ``plaintext`` documents,
in ``passages``; ``transcripts`` what people and models said to each other. ``formats`` tells them
apart.
"""

from __future__ import annotations

from mnemic.adapters.ingestion.items import InputRefused, InputUnreadable, Item, Labels, Sitting
from mnemic.adapters.ingestion.sources import Reading, files, read

__all__ = [
    "InputRefused",
    "InputUnreadable",
    "Item",
    "Labels",
    "Reading",
    "Sitting",
    "files",
    "read",
]
