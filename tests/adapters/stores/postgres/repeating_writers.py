"""Writers that repeat under its command id what was not acknowledged, while servers fail."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from attrs import define, field

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import StoreBusy, StoreFailed


@define
class RepeatingWriter:
    """Learns one fact after another, each until it is acknowledged.

    Args:
        memory: Of which it learns; another writer may use it as well.
        name: Prefix of its command ids.
    """

    memory: SyncMemory
    name: str
    versions: dict[str, int] = field(factory=dict)
    """Versions of what was acknowledged, by command id."""
    in_doubt: int = 0
    """How often a command failed because its outcome could not be found out, or took too long."""
    is_over: threading.Event = field(factory=threading.Event)

    @property
    def next_id(self) -> str:
        """The command id that it is trying, or tries next."""
        return f"{self.name}-{len(self.versions)}"

    def run(self) -> None:
        """Learn until the event ``is_over`` is set."""
        while not self.is_over.is_set():
            command_id = self.next_id
            try:
                version = learned(self.memory, command_id)
            except (StoreFailed, StoreBusy):
                self.in_doubt += 1
            else:
                self.versions[command_id] = version


def learned(memory: SyncMemory, command_id: str) -> int:
    """Return the version at which *memory* learned the fact of *command_id*, now or before."""
    return memory.learn(f"Fact {command_id} is a fact.", command_id=command_id).version


@contextmanager
def writing(pairs: Iterable[tuple[SyncMemory, str]]) -> Generator[list[RepeatingWriter]]:
    """Run a writer, with a name, of each memory for a ``with`` block."""
    writers = [RepeatingWriter(memory, name) for memory, name in pairs]
    threads = [threading.Thread(target=each.run) for each in writers]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        for each in writers:
            each.is_over.set()
        for thread in threads:
            thread.join()


def acknowledged(writers: Sequence[RepeatingWriter]) -> int:
    """Return how many commands of all *writers* were acknowledged."""
    return sum(len(each.versions) for each in writers)


def lost(memory: SyncMemory, writers: Sequence[RepeatingWriter]) -> list[str]:
    """Return what was acknowledged and is not in *memory* where it was; repeat all of it."""
    return [
        f"{command_id}, acknowledged at version {version}"
        for each in writers
        for command_id, version in each.versions.items()
        if learned(memory, command_id) != version
    ]
