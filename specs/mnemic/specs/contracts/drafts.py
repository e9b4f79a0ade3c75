"""Spaces that appear whole, for stores that offer that: a part of ``StoreContract``."""

# ruff: noqa: PT012 - a block that fails at its end is what these are about

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mnemic.kernel.errors import SpaceExists, VersionConflict
from mnemic.kernel.ports import CommandRow, DraftingStore
from mnemic.specs.contracts.durability import Durability
from mnemic.specs.contracts.entries import bare, contents, payload, records


class Drafts(Durability):
    """What a copy relies on that takes many appends."""

    @pytest.fixture
    def drafting(self, tmp_path: Path) -> Generator[Callable[[], DraftingStore]]:
        """Hand out handles of a store that offers drafts, and close them afterwards."""
        with ExitStack() as stack:

            def opened() -> DraftingStore:
                store = stack.enter_context(closing(self.store(tmp_path)))
                if not isinstance(store, DraftingStore):
                    pytest.skip("this store offers no drafts")
                return store

            yield opened

    def test_a_draft_is_seen_once_it_is_whole(self, drafting: Callable[[], DraftingStore]) -> None:
        store = drafting()
        others = drafting() if self.persists else store
        with store.draft("home") as log:
            log.append(records(0, 2), [payload(0)], command=CommandRow("c", b"x", 0, 1))
            log.append(records(2, 1), ())
            assert (log.name, store.spaces(), others.spaces()) == ("home", (), ())
        for each in (store, others):
            found = each.log("home", create=False)
            assert each.spaces() == ("home",)
            assert [record for record, _ in found.read()] == list(records(0, 3))
            assert [rows for _, rows in found.read()] == [(payload(0),), (), ()]
            assert found.command("c") == CommandRow("c", b"x", 0, 1)

    def test_a_draft_goes_on_as_any_log(self, drafting: Callable[[], DraftingStore]) -> None:
        store = drafting()
        with store.draft("home") as log:
            log.append(records(0, 2), ())
        with store.log("home").writing():
            store.log("home").append(records(2, 1), ())
        assert contents(store.log("home")) == bare(records(0, 3))

    def test_a_draft_that_fails_leaves_nothing(self, drafting: Callable[[], DraftingStore]) -> None:
        store = drafting()
        with pytest.raises(ZeroDivisionError), store.draft("home") as log:
            log.append(records(0, 2), [payload(0)], command=CommandRow("c", b"x", 0, 1))
            raise ZeroDivisionError
        assert store.spaces() == ()
        with store.draft("home") as log:
            assert (log.head().version, log.command("c")) == (-1, None)
            log.append(records(0, 1), ())
        assert contents(store.log("home", create=False)) == bare(records(0, 1))

    def test_a_space_with_events_is_not_made_again(
        self, drafting: Callable[[], DraftingStore]
    ) -> None:
        store = drafting()
        store.log("home").append(records(0, 2), ())
        with pytest.raises(SpaceExists), store.draft("home"):
            pytest.fail("nothing is to be made")
        assert contents(store.log("home")) == bare(records(0, 2))

    def test_a_space_that_is_there_and_empty_is_filled(
        self, drafting: Callable[[], DraftingStore]
    ) -> None:
        store = drafting()
        held = store.log("home")
        with store.draft("home") as log:
            log.append(records(0, 2), ())
        assert contents(held) == bare(records(0, 2))

    def test_whoever_makes_the_space_meanwhile_has_made_it(
        self, drafting: Callable[[], DraftingStore]
    ) -> None:
        store = drafting()
        with pytest.raises(SpaceExists), store.draft("home") as log:
            log.append(records(0, 2), ())
            store.log("home").append(records(0, 1, author="somebody"), ())
        assert contents(store.log("home")) == bare(records(0, 1, author="somebody"))

    def test_what_a_maker_left_is_cleared_away_by_the_next_and_it_gets_no_further(
        self, drafting: Callable[[], DraftingStore]
    ) -> None:
        if not self.persists:
            pytest.skip("nothing outlives its maker")
        slow, fast = drafting(), drafting()
        with pytest.raises(VersionConflict), slow.draft("home") as left:
            left.append(records(0, 2, author="slow"), [payload(0)])
            with fast.draft("home") as log:
                log.append(records(0, 1, author="fast"), ())
                with pytest.raises(VersionConflict):
                    left.append(records(2, 1, author="slow"), ())
            assert fast.spaces() == ("home",)
        assert contents(fast.log("home")) == bare(records(0, 1, author="fast"))
