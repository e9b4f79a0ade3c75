"""Readers take no lock: whatever a head names can be read, though a writer is at work."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from eventsourcing import popo

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.ports import Record


def test_whatever_the_head_of_a_log_in_memory_names_can_be_read_at_any_moment() -> None:
    log = MemoryStore().log("default")
    seen: list[tuple[int, int]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        # In the middle of an append: this is what another thread would see just then.
        if frame.f_code.co_filename == popo.__file__ and event in {"call", "return"}:
            seen.append((log.head().version, len(list(log.read())) - 1))

    sys.setprofile(look)
    try:
        log.append([Record(version, "note.1", b"body") for version in range(3)], ())
        log.append([Record(3, "note.1", b"body")], ())
    finally:
        sys.setprofile(None)
    assert [head for head, _ in seen] == [last for _, last in seen]
    assert {-1, 2} <= {head for head, _ in seen}
