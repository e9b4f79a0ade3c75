"""What a store keeps when nobody says goodbye: kills, open handles, several writers at once."""

# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

import os
import select
import signal
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar

import pytest

from mnemic.kernel.errors import VersionConflict
from mnemic.kernel.ports import Log, Store
from mnemic.specs.contracts.entries import answered, contents, payload, records

ACKNOWLEDGED_MIN = 12
"""Appends of a writer before it is killed."""
WRITERS = 4
SHARE = 10
"""Appends of each of several writers."""
PATIENCE_S = 20.0
"""Longer than any store takes for a dozen appends, and the end of one that hangs."""


class Durability(ABC):
    """The part of `StoreContract` that is about handles, processes and their ends."""

    persists: ClassVar[bool] = True
    """Whether a second call of ``store`` sees what the first one wrote."""

    @abstractmethod
    def store(self, tmp_path: Path) -> Store:
        """Return a handle on the one store that is kept in *tmp_path*."""

    @pytest.fixture
    def kept(self, tmp_path: Path) -> Path:
        """Return the folder of a store that outlives its handles."""
        if not self.persists:
            pytest.skip("this store lives as long as its object")
        return tmp_path

    def test_a_store_opened_again_is_as_it_was(self, kept: Path) -> None:
        with closing(self.store(kept)) as store:
            head = store.log("home").append(
                records(0, 3), [payload(1, 0, "a")], command=answered(2)
            )
        with closing(self.store(kept)) as store:
            log = store.log("home", create=False)
            assert (store.spaces(), log.head()) == (("home",), head)
            assert log.command("command 2") == answered(2)
            assert [parcels for _, parcels in log.read()] == [(), (payload(1, 0, "a"),), ()]
            assert log.append(records(3, 1), ()).version == 3

    def test_what_was_acknowledged_does_not_wait_for_a_close(self, kept: Path) -> None:
        with closing(self.store(kept)) as writing, closing(self.store(kept)) as reading:
            head = writing.log("home").append(records(0, 2), [payload(0)], command=answered(0))
            log = reading.log("home", create=False)
            assert (log.head(), log.command("command 0")) == (head, answered(0))
            assert contents(log) == [(records(0, 1)[0], (payload(0),)), (records(1, 1)[0], ())]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="a writer is forked to be killed")
    def test_what_was_acknowledged_survives_a_kill_whole(self, kept: Path) -> None:
        """Each append of the writer has two records, a payload and a command: all or nothing."""
        acknowledged = self._killed(kept)
        with closing(self.store(kept)) as store:
            log = store.log("home", create=False)
            version = log.head().version
            assert version >= acknowledged >= 2 * ACKNOWLEDGED_MIN - 1
            assert version % 2 == 1
            assert contents(log) == [
                (record, (payload(record.version),) if record.version % 2 else ())
                for record in records(0, version + 1)
            ]
            lasts = range(1, version + 3, 2)
            assert [log.command(f"command {last}") for last in lasts] == [
                *map(answered, lasts[:-1]),
                None,
            ]
            assert log.append(records(version + 1, 1), ()).version == version + 1

    def test_no_append_of_several_writers_is_lost_or_doubled(self, tmp_path: Path) -> None:
        def try_until_written(log: Log, author: str) -> int:
            while True:
                version = log.head().version + 1
                with suppress(VersionConflict):
                    return log.append(records(version, 1, author=author), ()).version

        self._require_shares(tmp_path, try_until_written)

    def test_whoever_has_the_turn_meets_no_other_writer(self, tmp_path: Path) -> None:
        def write_in_turn(log: Log, author: str) -> int:
            with log.writing():
                version = log.head().version + 1
                return log.append(records(version, 1, author=author), ()).version

        self._require_shares(tmp_path, write_in_turn)

    # --- writers --------------------------------------------------------------------------------

    def _require_shares(self, tmp_path: Path, write: Callable[[Log, str], int]) -> None:
        """Let several writers append their shares at once, and require each append to stand."""
        with closing(self.store(tmp_path)) as shared, ThreadPoolExecutor(WRITERS) as pool:
            log = shared.log("home")

            def write_share(author: str) -> list[int]:
                store = self.store(tmp_path) if self.persists else shared
                own = store.log("home")
                written = [write(own, author) for _ in range(SHARE)]
                if store is not shared:
                    store.close()
                return written

            authors = [f"writer {number}" for number in range(WRITERS)]
            written = {
                version: author
                for author, versions in zip(authors, pool.map(write_share, authors), strict=True)
                for version in versions
            }
            assert [record for record, _ in log.read()] == [
                records(version, 1, author=written[version])[0] for version in sorted(written)
            ]
            assert sorted(written) == list(range(WRITERS * SHARE))

    def _killed(self, tmp_path: Path) -> int:
        """Let a process append until it is killed; return the last version it told of."""
        told, tells = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
            child = os.fork()
        if child == 0:
            self._append_for_ever(tmp_path, tells)
        os.close(tells)
        heard = b""
        try:
            while heard.count(b"\n") < ACKNOWLEDGED_MIN and (more := _heard(told)):
                heard += more
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        while more := _heard(told):
            heard += more
        os.close(told)
        lasts = heard.split()
        assert len(lasts) >= ACKNOWLEDGED_MIN, "the writer ended or hung before it was killed"
        return int(lasts[-1])

    def _append_for_ever(self, tmp_path: Path, tells: int) -> None:
        """Append and tell of it; never return, not even by an error."""
        try:
            log: Log = self.store(tmp_path).log("home")
            version = 1
            while True:
                log.append(records(version - 1, 2), [payload(version)], command=answered(version))
                os.write(tells, b"%d\n" % version)
                version += 2
        finally:
            os._exit(1)


def _heard(pipe: int) -> bytes:
    """Return what comes out of *pipe* next; nothing at its end, or when nothing comes for long."""
    return os.read(pipe, 4096) if select.select([pipe], [], [], PATIENCE_S)[0] else b""
