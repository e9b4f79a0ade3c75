"""Durability of a store: killed processes, open handles, and several concurrent writers."""

# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

import os
import select
import signal
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar

import pytest

from mnemic.kernel.errors import VersionConflict
from mnemic.kernel.ports import Log, Store
from mnemic.specs.contracts.log_entries import (
    answered,
    contents,
    payload,
    records,
)

ACKNOWLEDGED_MIN = 12
"""Appends of a writer before it is killed."""
WRITERS = 4
SHARE = 10
"""Appends of each of several writers."""
HELD_S = 0.5
"""How long a held write lock is watched: a thread that does not have to wait for it gets it within
a thousandth of that."""
PATIENCE_S = 20.0
"""Timeout for a hung store; longer than any store needs for a dozen appends."""


class Durability(ABC):
    """The part of `StoreContract` about handles and processes, and how they end."""

    persists: ClassVar[bool] = True
    """Whether a second call of ``store`` sees what the first one wrote."""

    @abstractmethod
    def store(self, tmp_path: Path) -> Store:
        """Return a handle to the store in *tmp_path*."""

    @pytest.fixture
    def kept(self, tmp_path: Path) -> Path:
        """Return the folder of a store that outlives its handles."""
        if not self.persists:
            pytest.skip("this store is not persistent")
        return tmp_path

    def test_a_reopened_store_has_the_same_contents(self, kept: Path) -> None:
        with closing(self.store(kept)) as store:
            head = store.log("home").append(
                records(0, 3),
                [payload(1, 0, "a")],
                after=store.log("home").head(),
                commands=(answered(2),),
            )
        with closing(self.store(kept)) as store:
            log = store.log("home", create=False)
            assert (store.spaces(), log.head()) == (("home",), head)
            assert log.command("command 2") == answered(2)
            assert [transfer_records for _, transfer_records in log.read()] == [
                (),
                (payload(1, 0, "a"),),
                (),
            ]
            assert log.append(records(3, 1), (), after=log.head()).version == 3

    def test_acknowledged_appends_are_visible_before_close(self, kept: Path) -> None:
        with closing(self.store(kept)) as writing, closing(self.store(kept)) as reading:
            head = writing.log("home").append(
                records(0, 2),
                [payload(0)],
                after=writing.log("home").head(),
                commands=(answered(0),),
            )
            log = reading.log("home", create=False)
            assert (log.head(), log.command("command 0")) == (head, answered(0))
            assert contents(log) == [(records(0, 1)[0], (payload(0),)), (records(1, 1)[0], ())]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="a writer is forked to be killed")
    def test_acknowledged_appends_survive_a_kill(self, kept: Path) -> None:
        """Each append of the writer has two records, a payload and a command: all or nothing."""
        acknowledged = self._write_until_killed(kept)
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
            assert log.append(records(version + 1, 1), (), after=log.head()).version == version + 1

    def test_no_append_of_concurrent_writers_is_lost_or_duplicated(self, tmp_path: Path) -> None:
        def try_until_written(log: Log, author: str) -> int:
            while True:
                version = log.head().version + 1
                with suppress(VersionConflict):
                    return log.append(
                        records(version, 1, author=author), (), after=log.head()
                    ).version

        self._require_shares(tmp_path, try_until_written)

    def test_the_write_lock_excludes_other_writers(self, tmp_path: Path) -> None:
        def write_locked(log: Log, author: str) -> int:
            with log.write_lock():
                version = log.head().version + 1
                return log.append(records(version, 1, author=author), (), after=log.head()).version

        self._require_shares(tmp_path, write_locked)

    @pytest.mark.parametrize("through", ["the same handle", "another handle"])
    def test_a_second_thread_waits_for_the_write_lock(self, tmp_path: Path, through: str) -> None:
        with closing(self.store(tmp_path)) as store, ExitStack() as others:
            log = store.log("home")
            second = log
            if through == "another handle":
                other = others.enter_context(closing(self.store(tmp_path)))
                second = (other if self.persists else store).log("home")
            lock = log.write_lock()
            lock.__enter__()
            self._require_wait(second, lambda: lock.__exit__(None, None, None))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the holder of the lock is forked")
    def test_a_second_process_waits_for_the_write_lock(self, kept: Path) -> None:
        with closing(self.store(kept)) as store:
            store.log("home").append(records(0, 1), (), after=store.log("home").head())
        reports, report = os.pipe()
        orders, order = os.pipe()
        child = _forked()  # before this process has any open handle
        if child == 0:
            self._hold_when_ordered(kept, orders, report)
        try:
            with closing(self.store(kept)) as store:
                log = store.log("home")
                os.write(order, b"hold")
                assert _read_pipe(reports) == b"held"
                self._require_wait(log, lambda: os.write(order, b"release"))
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for each in (reports, report, orders, order):
                os.close(each)

    # --- writers --------------------------------------------------------------------------------

    @staticmethod
    def _require_wait(log: Log, release: Callable[[], object]) -> None:
        """Require that a thread gets the write lock of *log* after *release*, and not before.

        Args:
            log: A log whose write lock is held elsewhere.
            release: Releases it.
        """
        requested, acquired = Event(), Event()

        def acquire() -> None:
            requested.set()
            with log.write_lock():
                acquired.set()

        second = Thread(target=acquire, daemon=True)
        second.start()
        try:
            assert requested.wait(PATIENCE_S)
            is_excluded = not acquired.wait(HELD_S)
        finally:
            release()
        second.join(PATIENCE_S)
        assert is_excluded, "a second writer got the write lock while it was held"
        assert acquired.is_set(), "a released write lock cannot be acquired"

    def _hold_when_ordered(self, tmp_path: Path, orders: int, report: int) -> None:
        """Hold the write lock from the first order to the second; never return."""
        try:
            os.read(orders, 4)
            with self.store(tmp_path).log("home").write_lock():
                os.write(report, b"held")
                os.read(orders, 7)
        finally:
            os._exit(1)

    def _require_shares(self, tmp_path: Path, write: Callable[[Log, str], int]) -> None:
        """Run several concurrent writers, and require that every append of each is in the log."""
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

    def _write_until_killed(self, tmp_path: Path) -> int:
        """Kill a process while it appends; return the last version that it reported."""
        reads, writes = os.pipe()
        child = _forked()
        if child == 0:
            self._append_for_ever(tmp_path, writes)
        os.close(writes)
        received = b""
        try:
            while received.count(b"\n") < ACKNOWLEDGED_MIN and (more := _read_pipe(reads)):
                received += more
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        while more := _read_pipe(reads):
            received += more
        os.close(reads)
        lasts = received.split()
        assert len(lasts) >= ACKNOWLEDGED_MIN, "the writer ended or hung before it was killed"
        return int(lasts[-1])

    def _append_for_ever(self, tmp_path: Path, writes: int) -> None:
        """Append and report each version; never return, not even on an error."""
        try:
            log: Log = self.store(tmp_path).log("home")
            version = 1
            while True:
                log.append(
                    records(version - 1, 2),
                    [payload(version)],
                    after=log.head(),
                    commands=(answered(version),),
                )
                os.write(writes, b"%d\n" % version)
                version += 2
        finally:
            os._exit(1)


def _forked() -> int:
    """Fork, and return what ``os.fork`` returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
        return os.fork()


def _read_pipe(pipe: int) -> bytes:
    """Return the next bytes of *pipe*; empty at its end or on timeout."""
    return os.read(pipe, 4096) if select.select([pipe], [], [], PATIENCE_S)[0] else b""
