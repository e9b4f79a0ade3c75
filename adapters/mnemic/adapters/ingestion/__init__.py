"""Files that hold memories, read as lessons.

A file comes apart into sittings, one per session it should be learned in, and a sitting into
items: a lesson that ``learn`` takes, or the refusal of what stands there. Nothing here writes.
"""

from __future__ import annotations

from mnemic.adapters.ingestion.items import InputRefused, InputUnreadable, Item, Sitting
from mnemic.adapters.ingestion.sources import read

__all__ = ["InputRefused", "InputUnreadable", "Item", "Sitting", "read"]
