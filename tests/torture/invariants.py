"""Checks what was acknowledged to killed agents against the content of their store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from attrs import define, field

from mnemic.adapters.files.temporary_folders import leftovers
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteLog, SQLiteStore
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.kernel import events as happened
from mnemic.kernel.errors import CommandIdReused, MnemicError, Refused
from mnemic.kernel.events import Event, Recorded
from tests.adapters.checkpoints.states import restored, space_of, told, told_by_log
from tests.torture.histories import (
    EMBEDDERS,
    Asked,
    Promised,
    ask,
    opened,
)

FIRST: Final[Mapping[str, tuple[type[Event], ...]]] = {
    "learn": (happened.BlockLearned, happened.BlockRestated),
    "learn_many": (happened.BlockLearned, happened.BlockRestated),
    "connect": (happened.EdgeConnected, happened.EdgeDeferred),
    "recall": (happened.RecallRecorded,),
    "outcome": (happened.OutcomeRecorded,),
    "consolidate": (happened.BlocksPromoted, happened.EmbedderAdopted),
    "curate": (happened.Curated,),
    "compose": (happened.BlocksComposed,),
    "revise": (happened.BlockLearned,),
    "erase": (happened.BlockErased,),
    "end_session": (happened.SessionEnded,),
}
"""What the first event of each command may be."""
LENGTHS: Final = {"learn": 1, "learn_many": 7, "revise": 2, "recall": 1, "erase": 1}
"""How many events a command writes, where that is certain."""
ALWAYS: Final = frozenset({"learn", "learn_many", "revise", "recall"})
"""Operations that write events unless they are refused: agents never repeat a text."""
REPLAYED_MAX: Final = 4
"""Decisions of one agent that are replayed."""


@define(kw_only=True)
class Findings:
    """Counts and failures of one file."""

    counts: Counter[str] = field(factory=Counter)
    inside: Counter[str] = field(factory=Counter)
    """Kills by the operation in progress."""
    wrong: list[str] = field(factory=list)

    def add(self, other: Findings) -> None:
        """Add the results of others."""
        self.counts.update(other.counts)
        self.inside.update(other.inside)
        self.wrong += other.wrong

    def expect(self, *, right: bool, otherwise: str) -> None:
        """Record a failure unless *right*."""
        if not right:
            self.wrong.append(otherwise)


class Warden:
    """Looks after one file between two lives.

    Args:
        path: The file.
        findings: Where to put what is found.
    """

    def __init__(self, path: Path, findings: Findings) -> None:
        self._path = path
        self._found = findings
        self._promised: list[Promised] = []
        self._parts: set[str] = set()
        """Folders of unfinished exports that have been counted."""

    def look(self, place: str, promised: list[Promised], asked: list[tuple[str, Asked]]) -> None:
        """Open the file after a kill and hold everything against it.

        Args:
            place: Names this moment in what is found to be wrong.
            promised: What the dead were promised.
            asked: What they had asked and were not answered, with who asked.
        """
        self._promised += promised
        self._count_leftovers()
        try:
            with closing(SQLiteStore(self._path)) as store, opened(store) as memory:
                self._check(memory, store.log("default"), promised)
                for actor, each in asked:
                    self._repeat(memory, actor, each)
        except (MnemicError, AssertionError) as error:
            self._found.wrong.append(f"{place}: {error!r}")

    def close(self, place: str) -> None:
        """Check everything that was ever acknowledged about the file once more."""
        with closing(SQLiteStore(self._path)) as store, opened(store) as memory:
            log, written = store.log("default"), _written(memory)
            for each in self._promised:
                self._keeps(log, written, each)
                is_written = each.first is not None
                self._found.counts["acknowledged"] += is_written
                self._found.counts["lost"] += is_written and each.asked.id not in written
            every = memory.replay_all()
            self._found.counts["decisions replayed"] += every.reproduced
            self._found.counts["decisions sealed by an erasure"] += every.sealed
            self._found.expect(
                right=every.is_exact and not every.retired, otherwise=f"{place}: {every.summary}"
            )
            memory.export(self._path.with_name("last.jsonl"))
            left = leftovers(self._path.parent)
            self._found.expect(right=not left, otherwise=f"{place}: {left} stayed")
            self._found.counts["events"] += memory.status().version + 1

    def _count_leftovers(self) -> None:
        parts = {folder.name for folder in leftovers(self._path.parent)}
        self._found.counts["unfinished exports"] += len(parts - self._parts)
        self._parts |= parts
        beside = self._path.with_name(f"{self._path.name}.checkpoints")
        self._found.counts["unfinished files beside"] += len(list(beside.glob("*.tmp")))
        self._found.counts["graphs"] += len(list(beside.glob("*.graph")))

    # --- what must hold -------------------------------------------------------------------------

    def _check(self, memory: SyncMemory, log: SQLiteLog, promised: list[Promised]) -> None:
        verified = memory.verify()
        assert verified.sound, verified.summary
        self._found.counts["opened from a checkpoint"] += restored(memory) is not None
        assert told(memory) == told_by_log(memory), "a checkpoint and the log tell two states"
        written = _written(memory)
        for each in promised:
            self._keeps(log, written, each)
        heard = [each for each in promised if each.error is None]
        decisions = [each.told for each in heard if each.asked.operation == "recall"]
        for decision in decisions[-REPLAYED_MAX:]:
            assert memory.replay(decision).outcome in {"reproduced", "sealed"}, decision
        for each in heard:
            self._stands(memory, each, written)

    def _keeps(
        self, log: SQLiteLog, written: Mapping[str, list[Recorded]], promise: Promised
    ) -> None:
        """Count an acknowledgement that does not match the log exactly."""
        if promise.first is None:
            refused = promise.error is not None
            silent = not refused or promise.asked.id not in written
            self._found.expect(right=silent, otherwise=f"{promise}: refused, and written")
            certain = not refused and promise.asked.operation in ALWAYS
            self._found.expect(right=not certain, otherwise=f"{promise}: answered, not written")
            return
        row, asked = log.command(promise.asked.id), promise.asked
        events = written.get(asked.id, [])
        kept = (
            row is not None
            and (row.first, row.last) == (promise.first, promise.last)
            and _is_whole(asked, events, row.first, row.last)
        )
        self._found.expect(right=kept, otherwise=f"{promise}: {row}, {len(events)} events")

    def _stands(
        self, memory: SyncMemory, promise: Promised, written: Mapping[str, list[Recorded]]
    ) -> None:
        """Check an acknowledgement that is not one of events under an id."""
        match promise.asked.operation:
            case "checkpoint":
                erased = any(
                    isinstance(each.event, happened.BlockErased) and each.version > promise.told
                    for events in written.values()
                    for each in events
                )
                kept = [each.version for each in memory.checkpoints() if each.state == "valid"]
                assert erased or max(kept, default=-1) >= promise.told, f"{promise}: {kept}"
            case "export":
                assert _last_of(Path(promise.asked.arguments["path"])) == promise.told, promise
            case "reembed":
                wanted = EMBEDDERS[promise.asked.arguments["size"]].identity
                assert any(
                    isinstance(each.event, happened.EmbedderAdopted)
                    and each.event.embedder == wanted
                    and each.version <= promise.told
                    for events in written.values()
                    for each in events
                ), promise
            case _:
                pass

    # --- what was not answered ------------------------------------------------------------------

    def _repeat(self, memory: SyncMemory, actor: str, asked: Asked) -> None:
        """Repeat a command without an answer: it is recorded once then, or was refused."""
        if asked.operation == "export":
            path = Path(asked.arguments["path"])
            self._found.counts["exports whole though never answered"] += path.exists()
            assert not path.exists() or _last_of(path) >= 0
            return
        if asked.operation not in FIRST:
            return
        log = space_of(memory).log
        before = log.command(asked.id)
        head = log.head()
        session_handle = memory.session_handle(actor=actor)
        gone: CommandIdReused | None = None
        try:
            ask(session_handle, asked)
        except Refused:
            assert before is None, f"{asked} was written and is refused when repeated"
        except CommandIdReused as error:
            gone = error  # the other one of two erased what it wrote
        assert gone is None or (before is not None and "erased since" in gone.message), asked
        after, events = log.command(asked.id), _written(memory).get(asked.id, [])
        self._found.counts["repeated, had been written"] += before is not None
        self._found.counts["repeated, written now"] += before is None and after is not None
        if before is not None:
            assert after == before, asked
            is_longer = log.head() != head and asked.operation != "consolidate"
            assert not is_longer, f"{asked} wrote again when repeated"
        if after is not None:
            assert _is_whole(asked, events, after.first, after.last), f"half of {asked}"
        else:
            assert not events, f"{asked} stands without being remembered"


def _written(memory: SyncMemory) -> dict[str, list[Recorded]]:
    """Return the events of every command, in order."""
    found: dict[str, list[Recorded]] = {}
    for recorded in space_of(memory).recorded(-1):
        found.setdefault(recorded.command_id, []).append(recorded)
    return found


def _is_whole(asked: Asked, events: Iterable[Recorded], first: int, last: int) -> bool:
    """Return whether these are all events of a command, once, and of its kind."""
    events = list(events)
    return (
        [each.version for each in events] == [*range(first, last + 1)]
        and isinstance(events[0].event, FIRST[asked.operation])
        and len(events) == LENGTHS.get(asked.operation, len(events))
    )


def _last_of(path: Path) -> int:
    """Walk an export from end to end, and return its last version.

    Raises:
        ExportCorrupt: It is not whole.
    """
    versions: Iterator[int] = (entry.record.version for entry in Export(path).entries())
    return max(versions)
