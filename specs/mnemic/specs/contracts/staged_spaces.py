"""The part of ``StoreContract`` about stores that can create a space atomically."""

# ruff: noqa: PT012 - these tests need a block that fails at its end

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mnemic.kernel.errors import HistoryReplaced, SpaceExists, VersionConflict
from mnemic.kernel.ports import CommandRow, StagingStore
from mnemic.specs.contracts.durability import Durability
from mnemic.specs.contracts.log_entries import (
    bare,
    contents,
    payload,
    records,
)


class StagedSpaces(Durability):
    """The guarantees of ``StagingStore``, for copies that take many appends."""

    @pytest.fixture
    def staging_stores(self, tmp_path: Path) -> Generator[Callable[[], StagingStore]]:
        """Open handles of a store that supports staging, and close them after the test."""
        with ExitStack() as stack:

            def opened() -> StagingStore:
                store = stack.enter_context(closing(self.store(tmp_path)))
                if not isinstance(store, StagingStore):
                    pytest.skip("this store does not support staged spaces")
                return store

            yield opened

    def test_a_staged_space_becomes_visible_when_complete(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        store = staging_stores()
        others = staging_stores() if self.persists else store
        with store.draft("home") as log:
            log.append(
                records(0, 2),
                [payload(0)],
                after=log.head(),
                commands=(CommandRow("c", b"x", 0, 1),),
            )
            log.append(records(2, 1), (), after=log.head())
            assert (log.name, store.spaces(), others.spaces()) == ("home", (), ())
        for each in (store, others):
            found = each.log("home", create=False)
            assert each.spaces() == ("home",)
            assert [record for record, _ in found.read()] == list(records(0, 3))
            assert [rows for _, rows in found.read()] == [(payload(0),), (), ()]
            assert found.command("c") == CommandRow("c", b"x", 0, 1)

    def test_a_staged_space_continues_as_an_ordinary_log(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        store = staging_stores()
        with store.draft("home") as log:
            log.append(records(0, 2), (), after=log.head())
        with store.log("home").write_lock():
            store.log("home").append(records(2, 1), (), after=store.log("home").head())
        assert contents(store.log("home")) == bare(records(0, 3))

    def test_a_failed_staged_space_leaves_nothing(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        store = staging_stores()
        with pytest.raises(ZeroDivisionError), store.draft("home") as log:
            log.append(
                records(0, 2),
                [payload(0)],
                after=log.head(),
                commands=(CommandRow("c", b"x", 0, 1),),
            )
            raise ZeroDivisionError
        assert store.spaces() == ()
        with store.draft("home") as log:
            assert (log.head().version, log.command("c")) == (-1, None)
            log.append(records(0, 1), (), after=log.head())
        assert contents(store.log("home", create=False)) == bare(records(0, 1))

    def test_a_space_with_events_is_not_created_again(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        store = staging_stores()
        store.log("home").append(records(0, 2), (), after=store.log("home").head())
        with pytest.raises(SpaceExists), store.draft("home"):
            pytest.fail("the space must not be created")
        assert contents(store.log("home")) == bare(records(0, 2))

    def test_an_existing_empty_space_is_filled(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        store = staging_stores()
        held = store.log("home")
        with store.draft("home") as log:
            log.append(records(0, 2), (), after=log.head())
        assert contents(held) == bare(records(0, 2))

    def test_a_space_created_in_the_meantime_wins(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        store = staging_stores()
        with pytest.raises(SpaceExists), store.draft("home") as log:
            log.append(records(0, 2), (), after=log.head())
            store.log("home").append(
                records(0, 1, author="somebody"), (), after=store.log("home").head()
            )
        assert contents(store.log("home")) == bare(records(0, 1, author="somebody"))

    def test_leftovers_of_a_killed_writer_are_removed_by_the_next_one(
        self, staging_stores: Callable[[], StagingStore]
    ) -> None:
        if not self.persists:
            pytest.skip("this store is not persistent")
        slow, fast = staging_stores(), staging_stores()
        with pytest.raises(VersionConflict), slow.draft("home") as left:
            head = left.append(records(0, 2, author="slow"), [payload(0)], after=left.head())
            with fast.draft("home") as log:
                log.append(records(0, 1, author="fast"), (), after=log.head())
                with pytest.raises(HistoryReplaced):
                    left.append(records(2, 1, author="slow"), (), after=head)
            assert fast.spaces() == ("home",)
        assert contents(fast.log("home")) == bare(records(0, 1, author="fast"))
