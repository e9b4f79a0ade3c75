"""Readers take no lock: everything up to a head can be read while a writer is at work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from eventsourcing import popo

from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.logs.staged_spaces import hidden
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import Record
from mnemic.specs.contracts.log_entries import answered, records


def test_everything_up_to_the_head_in_memory_is_readable_at_any_moment() -> None:
    log = MemoryStore().log("default")
    seen: list[tuple[int, int]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        # In the middle of an append: this is what another thread would see just then.
        if frame.f_code.co_filename == popo.__file__ and event in {"call", "return"}:
            seen.append((log.head().version, len(list(log.read())) - 1))

    sys.setprofile(look)
    try:
        head = log.append(
            [Record(version, "note.1", b"body") for version in range(3)], (), after=EMPTY
        )
        log.append([Record(3, "note.1", b"body")], (), after=head)
    finally:
        sys.setprofile(None)
    assert [head for head, _ in seen] == [last for _, last in seen]
    assert {-1, 2} <= {head for head, _ in seen}


# --- between two statements ---------------------------------------------------------------------


@contextmanager
def before(reader: SQLiteStore, statement: str, then: Callable[[], object]) -> Generator[None]:
    """Call a hook just before *reader* runs a statement, for a ``with`` block."""

    def trace(said: str) -> None:
        if statement in said:
            happened.append(then())

    happened: list[object] = []
    with reader.recorder.datastore.reading() as cursor:
        connection = cursor.connection
    connection.set_trace_callback(trace)  # it came back last, so it is lent next
    yield
    connection.set_trace_callback(None)
    assert len(happened) == 1


def test_a_command_written_during_a_check_is_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(SQLiteStore(path)) as writer, closing(SQLiteStore(path)) as reader:
        log, seen = writer.log("home"), reader.log("home")

        def write() -> None:
            log.append(records(0, 1), (), after=EMPTY, commands=(answered(0),))

        with before(reader, "INDEXED BY commands_again", write):
            assert seen.command(answered(0).id) is None
        assert seen.command(answered(0).id) == answered(0)


def test_a_space_made_during_a_check_is_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(SQLiteStore(path)) as writer, closing(SQLiteStore(path)) as reader:
        with before(reader, "spaces NOT INDEXED WHERE name", lambda: writer.log("home")):
            assert reader.recorder.space("home") is None
        assert reader.recorder.space("home") == 1


def test_a_space_renamed_during_a_check_is_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(SQLiteStore(path)) as writer, closing(SQLiteStore(path)) as reader:
        with writer.draft("home") as log:
            log.append(records(0, 1), (), after=EMPTY)
            names, head = (hidden("home"), "home"), log.head()
            with before(reader, "SELECT name FROM", lambda: writer.recorder.rename(1, names, head)):
                assert reader.recorder.space(hidden("home")) == 1
        assert reader.recorder.space("home") == 1
