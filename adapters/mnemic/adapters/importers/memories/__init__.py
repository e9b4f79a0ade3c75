"""Import of other memory systems with their history: readers, and the pipeline that they share.

A reader (``readers``) turns a file into ``changes``: what was learned, revised, forgotten and
connected, and when. ``ordered_changes`` orders them by time on disk, so that bad input is found
before anything is written; ``importing`` carries them out. ``kinds`` lists and recognises the
kinds.
"""

from __future__ import annotations

from mnemic.adapters.importers.memories.importing import ImportReport, import_changes
from mnemic.adapters.importers.memories.kinds import KINDS, Kind, kind_named, recognised
from mnemic.adapters.importers.memories.ordered_changes import OrderedChanges

__all__ = [
    "KINDS",
    "ImportReport",
    "Kind",
    "OrderedChanges",
    "import_changes",
    "kind_named",
    "recognised",
]
