"""Logs that mix the events of two forks under one valid chain: damage by name, never a bug.

Releases before digests were compared could write such logs. Opening, catching up, verifying and
backing up agree about them: a log is sound for all four, or damaged at one version for all four.
"""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.cli.doctor.spaces import space as examined
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.transfer.backup import backup
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Head, PayloadRow, Record, Store
from tests.agreement.two_histories import SPACE, copied, memory

Rows = list[tuple[Record, tuple[PayloadRow, ...]]]


def lived() -> tuple[Rows, Rows, int]:
    """Return the logs of two forks in which most kinds of event happened, and what they share."""
    clock, first = ManualClock(), MemoryStore()
    with memory(first, clock, seed="common") as begun:
        begun.learn("the harbour gate opens at six", tags=["gate"])
        begun.learn("the crane needs oil")
        begun.consolidate()
    shared = first.log(SPACE).head().version + 1
    second = copied(first, events=shared)
    for store, name in ((first, "Ann"), (second, "Ben")):
        with memory(store, clock, seed=name, actor=name) as fork:
            live(fork, name, clock)
    return list(first.log(SPACE).read()), list(second.log(SPACE).read()), shared


def live(fork: SyncMemory, name: str, clock: ManualClock) -> None:
    """Let most kinds of event happen."""
    gate = fork.blocks().items[0].id
    fork.start_session()
    late = fork.learn(f"{name} closes the harbour gate at nine", author=name).block_id
    ferry = fork.learn(f"the night ferry waits for {name}").block_id
    fork.consolidate()
    fork.connect(gate, late, "elaborates", note="hours")
    decision = fork.recall(f"when does {name} close the harbour gate").decision_id
    clock.advance(minutes=50)
    fork.outcome(decision_id=decision, signal=0.9)
    fork.compose([gate, late])
    fork.revise(late, f"{name} closes the harbour gate at ten")
    fork.quarantine({"block": ferry}, reason="untrue")
    fork.disconnect(gate, late)
    fork.end_session()
    fork.curate()
    fork.erase(ferry)


ONE, TWO, SHARED = lived()


def mixed(chance: random.Random) -> Rows:
    """Return a mixture of both forks, each in its own order as far as it is taken."""
    rows, rests = ONE[:SHARED], [ONE[SHARED:], TWO[SHARED:]]
    skipped = chance.random() / 2
    while any(rests):
        rest = chance.choice([each for each in rests if each])
        for _ in range(min(chance.randint(1, 6), len(rest))):
            row = rest.pop(0)
            if chance.random() > skipped:
                rows = [*rows, row]
    return rows


def append(store: Store, rows: Rows, after: Head) -> Head:
    """Append *rows* in this order, under a chain and versions of their own."""
    first = after.version + 1
    records = [Record(version, row.topic, row.body) for version, (row, _) in enumerate(rows, first)]
    payloads = [
        each._replace(version=version)
        for version, (_, given) in enumerate(rows, first)
        for each in given
    ]
    return store.log(SPACE).append(records, payloads, after=after)


def bad_version(store: Store) -> int | None:
    """Return the version at which opening says the log is damaged; None: it opens."""
    try:
        memory(store, ManualClock(), seed="next").close()
    except LogCorrupt as error:
        version = error.facts["version"]
        assert isinstance(version, int)
        return version
    return None


@given(chance=st.randoms(use_true_random=False))
def test_opening_catching_up_verifying_and_backing_up_agree(chance: random.Random) -> None:
    rows, store, grown = mixed(chance), MemoryStore(), MemoryStore()
    append(store, rows, EMPTY)
    bad = bad_version(store)
    with memory(store, ManualClock(), seed="reader", read_only=True) as reader:
        found = reader.verify()
        assert (found.sound, found.first_bad_version) == (bad is None, bad)
        reader.status()
        reader.recall("harbour gate", record=False)
    assert any(each.state == "problem" for each in examined(store, SPACE, lambda *_: None)) is (
        bad is not None
    )
    with TemporaryDirectory() as folder:
        assert backed_up(store, Path(folder) / "backup.db") is (bad is None)
    head = append(grown, rows[:SHARED], EMPTY)
    with memory(grown, ManualClock(), seed="open") as opened:
        place, reported = SHARED, None
        while place < len(rows) and reported is None:
            count = chance.randint(1, 9)
            head = append(grown, rows[place : place + count], head)
            place += count
            try:
                opened.blocks()
            except LogCorrupt as error:
                reported = error.facts["version"]
        assert reported == bad


def backed_up(store: Store, path: Path) -> bool:
    """Return whether a backup was written; if so, it opens."""
    try:
        backup(store, path)
    except LogCorrupt:
        assert not path.exists()
        return False
    with SyncMemory.open(path, embedder=HashEmbedder(16)) as opened:
        assert opened.verify().sound
    return True
