"""``StoreContract``: a store keeps logs, each a hash chain of records with their payloads."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mnemic.kernel.errors import (
    Conflict,
    FieldRefused,
    HistoryReplaced,
    SpaceNotFound,
    VersionConflict,
)
from mnemic.kernel.ports import GENESIS_DIGEST, CommandRow, Head, Log, PayloadRow, Record, Store
from mnemic.specs.contracts.log_entries import (
    EMPTY,
    bare,
    chained,
    contents,
    payload,
    records,
)
from mnemic.specs.contracts.staged_spaces import StagedSpaces


class StoreContract(StagedSpaces):
    """The guarantees of a store.

    Implement ``store``; set ``persists = False`` if the data is lost with the object.
    """

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Generator[Callable[[], Store]]:
        """Open handles, and close them after the test."""
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(self.store(tmp_path)))

    @pytest.fixture
    def log(self, open_store: Callable[[], Store]) -> Log:
        """Return the log of a new space."""
        return open_store().log("home")

    # --- spaces ---

    def test_a_new_log_is_empty(self, log: Log) -> None:
        assert (log.name, log.head(), contents(log)) == ("home", Head(-1, GENESIS_DIGEST), [])

    def test_spaces_are_named_in_order(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        names = ("b", "a", "Ä: any text, 'quoted'")
        logs = [store.log(name) for name in names]
        assert store.spaces() == tuple(sorted(names))
        assert [log.name for log in logs] == list(names)

    def test_a_space_is_not_created_without_create(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        with pytest.raises(SpaceNotFound):
            store.log("home", create=False)
        assert store.spaces() == ()

    def test_a_space_that_exists_is_found(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        store.log("home").append(records(0, 2), (), after=store.log("home").head())
        assert contents(store.log("home", create=False)) == bare(records(0, 2))

    def test_spaces_are_independent(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        one, two = store.log("one"), store.log("two")
        one.append(
            records(0, 2, author="x"),
            [payload(0)],
            after=one.head(),
            commands=(CommandRow("c", b"x", 0, 1),),
        )
        two.append(records(0, 1, author="y"), [payload(0, 1)], after=two.head())
        two.append((), (), after=two.head(), erase_all=True)
        assert contents(one) == [
            (records(0, 2, author="x")[0], (payload(0),)),
            (records(0, 2, author="x")[1], ()),
        ]
        assert contents(two) == bare(records(0, 1, author="y"))
        assert (two.command("c"), two.head().version) == (None, 0)

    def test_equal_records_make_equal_digests_in_any_space(
        self, open_store: Callable[[], Store]
    ) -> None:
        store = open_store()
        heads = [
            store.log(name).append(records(0, 3), (), after=store.log(name).head())
            for name in ("one", "two")
        ]
        assert heads[0] == heads[1]
        assert (
            heads[0].digest
            != store.log("three")
            .append(records(0, 3, author="z"), (), after=store.log("three").head())
            .digest
        )

    # --- appending ---

    def test_records_are_read_in_order(self, log: Log) -> None:
        first = log.append(records(0, 1), (), after=log.head())
        last = log.append(records(1, 4), (), after=log.head())
        assert (first.version, last.version) == (0, 4)
        assert log.head() == last
        assert contents(log) == bare(records(0, 5))

    def test_the_head_is_the_digest_of_everything_before(self, log: Log) -> None:
        heads = [
            log.append(records(version, 2), (), after=log.head()) for version in range(0, 6, 2)
        ]
        assert [head.digest for head in heads] == [
            chained(records(0, count)) for count in range(2, 8, 2)
        ]

    def test_the_digest_at_a_version_is_what_its_successor_names(self, log: Log) -> None:
        heads = [log.append(records(version, 1), (), after=log.head()) for version in range(5)]
        found = [log.digest_at(version) for version in range(-1, 6)]
        assert found == [None, *(head.digest for head in heads), None]

    def test_bytes_are_returned_unchanged(self, log: Log) -> None:
        every = b"{" + bytes(range(256))
        long = Record(1, "thing-noted.1", b"[" + bytes(2**20))
        kept = payload(1)._replace(data=every, id="Ä 'quoted'", key=every[:32], owners=("ä", '"'))
        log.append([Record(0, "thing-noted.1", every), long], [kept], after=log.head())
        assert contents(log) == [(Record(0, "thing-noted.1", every), ()), (long, (kept,))]

    def test_grouping_of_appends_is_not_visible(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        together, apart = store.log("together"), store.log("apart")
        together.append(records(0, 3), (), after=together.head())
        for version in range(3):
            apart.append(records(version, 1), (), after=apart.head())
        assert together.head() == apart.head()

    def test_the_second_writer_of_a_version_conflicts_and_writes_nothing(self, log: Log) -> None:
        head = log.append(records(0, 2), [payload(0)], after=log.head())
        with pytest.raises(VersionConflict):
            log.append(
                records(1, 3, author="late"),
                [payload(2)],
                after=log.head(),
                commands=(CommandRow("late", b"", 1, 3),),
                erase_all=True,
            )
        assert (log.head(), log.command("late")) == (head, None)
        assert contents(log) == [(records(0, 1)[0], (payload(0),)), (records(1, 1)[0], ())]

    @pytest.mark.parametrize(
        "misfits",
        [records(3, 1), records(2, 1) + records(4, 1), records(2, 1) * 2],
        ids=["gap before", "gap within", "twice"],
    )
    def test_a_gap_is_refused(self, log: Log, misfits: tuple[Record, ...]) -> None:
        head = log.append(records(0, 2), (), after=log.head())
        with pytest.raises(FieldRefused):
            log.append(misfits, (), after=log.head())
        assert (log.head(), contents(log)) == (head, bare(records(0, 2)))

    def test_appends_continue_after_a_refusal(self, log: Log) -> None:
        log.append(records(0, 1), (), after=log.head())
        with pytest.raises(VersionConflict):
            log.append(records(0, 1), (), after=log.head())
        with pytest.raises(FieldRefused):
            log.append(records(5, 1), (), after=log.head())
        assert log.append(records(1, 1), (), after=log.head()).version == 1

    def test_an_append_after_another_head_is_refused_and_writes_nothing(
        self, open_store: Callable[[], Store]
    ) -> None:
        store = open_store()
        log, other = store.log("home"), store.log("other")
        head = log.append(records(0, 2), [payload(0)], after=EMPTY)
        longer = other.append(records(0, 3, author="b"), (), after=EMPTY)
        same = store.log("third").append(records(0, 2, author="b"), (), after=EMPTY)
        for known in (same, longer):
            with pytest.raises(HistoryReplaced):
                log.append(
                    records(known.version + 1, 1),
                    [payload(known.version + 1)],
                    after=known,
                    commands=(CommandRow("late", b"", known.version + 1, known.version + 1),),
                    erase_all=True,
                )
        with pytest.raises(HistoryReplaced):
            log.append(
                (), (), after=same, commands=(CommandRow("late", b"", 1, 1),), erase_all=True
            )
        assert (log.head(), log.command("late")) == (head, None)
        assert contents(log) == [(records(0, 1)[0], (payload(0),)), (records(1, 1)[0], ())]
        assert log.append(records(2, 1), (), after=head).version == head.version + 1

    def test_an_append_is_refused_although_this_handle_has_seen_the_head_move(
        self, open_store: Callable[[], Store]
    ) -> None:
        """What counts is what the records were decided on, not what the handle read last."""
        store = open_store()
        log = store.log("home")
        decided_on = log.append(records(0, 1), (), after=EMPTY)
        log.append(records(1, 1), (), after=decided_on)
        assert log.head().version == 1
        with pytest.raises(VersionConflict):
            log.append(records(1, 1, author="late"), (), after=decided_on)

    def test_appending_under_the_write_lock_does_not_deadlock(self, log: Log) -> None:
        for version in range(3):
            with log.write_lock():
                assert (
                    log.append(records(log.head().version + 1, 1), (), after=log.head()).version
                    == version
                )

    def test_the_write_lock_is_released_after_an_error(self, log: Log) -> None:
        log.append(records(0, 1), (), after=log.head())
        with pytest.raises(VersionConflict), log.write_lock():
            log.append(records(0, 1), (), after=log.head())
        with log.write_lock():
            assert log.append(records(1, 1), (), after=log.head()).version == 1

    # --- payloads ---

    def test_payloads_come_with_their_records_by_slot(self, log: Log) -> None:
        log.append(
            records(0, 3),
            [payload(2, 1, "b", "c"), payload(0, 0, "a"), payload(2, 0)],
            after=log.head(),
        )
        log.append(records(3, 1), [payload(3, 7, "a")], after=log.head())
        assert [transfer_records for _, transfer_records in log.read()] == [
            (payload(0, 0, "a"),),
            (),
            (payload(2, 0), payload(2, 1, "b", "c")),
            (payload(3, 7, "a"),),
        ]

    @pytest.mark.parametrize(
        "strays",
        [[payload(0)], [payload(2)], [payload(1), payload(1)]],
        ids=["of an older record", "of no record", "in one slot"],
    )
    def test_a_payload_without_a_valid_slot_is_refused(
        self, log: Log, strays: list[PayloadRow]
    ) -> None:
        log.append(records(0, 1), (), after=log.head())
        with pytest.raises(FieldRefused):
            log.append(records(1, 1), strays, after=log.head())
        assert contents(log) == bare(records(0, 1))

    def test_erasing_an_owner_destroys_shared_payloads(self, log: Log) -> None:
        log.append(
            records(0, 3),
            [payload(0, 0, "a"), payload(1, 0, "b"), payload(1, 1, "b", "a"), payload(2, 0, "c")],
            after=log.head(),
        )
        head = log.append(
            records(3, 1), [payload(3, 0, "d")], after=log.head(), erase=["a", "c", "nobody"]
        )
        assert [transfer_records for _, transfer_records in log.read()] == [
            (),
            (payload(1, 0, "b"),),
            (),
            (payload(3, 0, "d"),),
        ]
        assert log.head() == head

    def test_erase_all_includes_the_new_payloads(self, log: Log) -> None:
        log.append(records(0, 2), [payload(0, 0, "a"), payload(1)], after=log.head())
        log.append(records(2, 1), [payload(2, 0, "b")], after=log.head(), erase_all=True)
        assert contents(log) == bare(records(0, 3))

    def test_appends_continue_after_an_erasure(self, log: Log) -> None:
        log.append(records(0, 1), [payload(0, 0, "a")], after=log.head())
        log.append(records(1, 1), (), after=log.head(), erase=["a"])
        log.append(records(2, 1), [payload(2, 0, "a")], after=log.head())
        assert [transfer_records for _, transfer_records in log.read()] == [
            (),
            (),
            (payload(2, 0, "a"),),
        ]

    def test_erased_bytes_are_in_no_file_of_the_store(self, tmp_path: Path) -> None:
        with closing(self.store(tmp_path)) as store:
            log = store.log("home")
            log.append(records(0, 2), [payload(0, 0, "a"), payload(1, 0, "b")], after=log.head())
            log.append(records(2, 1), [payload(2, 0, "a")], after=log.head(), erase=["a"])
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        for gone in (payload(0), payload(2)):
            assert gone.data not in stored
            assert gone.key not in stored

    # --- commands ---

    def test_a_command_is_stored_with_its_records(self, log: Log) -> None:
        row = CommandRow("learn-1", b"request", 0, 1)
        log.append(records(0, 2), (), after=log.head(), commands=(row,))
        assert (log.command("learn-1"), log.command("learn-2")) == (row, None)

    def test_a_command_id_is_stored_once(self, log: Log) -> None:
        row = CommandRow("learn-1", b"request", 0, 0)
        head = log.append(records(0, 1), (), after=log.head(), commands=(row,))
        with pytest.raises(Conflict):
            log.append(
                records(1, 1),
                [payload(1)],
                after=log.head(),
                commands=(CommandRow("learn-1", b"other", 1, 1),),
            )
        assert (log.command("learn-1"), log.head()) == (row, head)
        assert contents(log) == bare(records(0, 1))

    # --- reading ---

    @pytest.mark.parametrize(
        ("after", "upto", "versions"),
        [
            (-1, None, range(6)),
            (-9, 99, range(6)),
            (-1, 0, range(1)),
            (-1, 4, range(5)),
            (2, None, range(3, 6)),
            (2, 3, range(3, 4)),
            (2, 5, range(3, 6)),
            (4, 5, range(5, 6)),
            (3, 3, range(0)),
            (4, 2, range(0)),
            (5, None, range(0)),
            (77, None, range(0)),
        ],
    )
    def test_a_range_is_read_from_after_up_to(
        self, log: Log, after: int, upto: int | None, versions: range
    ) -> None:
        log.append(records(0, 6), [payload(version) for version in range(6)], after=log.head())
        assert list(log.read(after, upto)) == [
            (record, (payload(record.version),))
            for record in records(versions.start, len(versions))
        ]

    def test_a_long_log_is_read_whole(self, log: Log) -> None:
        log.append(
            records(0, 3000), [payload(version) for version in range(0, 3000, 3)], after=log.head()
        )
        assert contents(log) == [
            (record, () if record.version % 3 else (payload(record.version),))
            for record in records(0, 3000)
        ]

    def test_reading_in_parts_equals_reading_at_once(self, log: Log) -> None:
        for version in range(7):
            log.append(records(version, 1), [payload(version)], after=log.head())
        parts = [entry for after in range(-1, 7, 2) for entry in log.read(after, after + 2)]
        assert parts == contents(log)

    def test_a_reader_does_not_see_concurrent_appends(self, log: Log) -> None:
        log.append(records(0, 2), (), after=log.head())
        reader = log.read()
        seen = [next(reader)]
        log.append(records(2, 2), (), after=log.head())
        assert [*seen, *reader] == bare(records(0, 2))

    @pytest.mark.parametrize(("after", "versions"), [(-1, 4), (0, 3), (2, 1), (3, 0)])
    def test_reading_after_a_head_that_the_log_holds(
        self, log: Log, after: int, versions: int
    ) -> None:
        heads = [EMPTY]
        for version in range(4):
            heads.append(log.append(records(version, 1), (), after=heads[-1]))
        read = list(log.read(heads[after + 1], heads[-1]))
        assert read == bare(records(after + 1, versions))
        assert list(log.read(heads[after + 1])) == read

    @pytest.mark.parametrize("version", range(6))
    def test_reading_after_a_head_of_another_history_is_refused(
        self, open_store: Callable[[], Store], version: int
    ) -> None:
        """Where it would end, before that, and beyond: whether or not there is more to read."""
        store = open_store()
        log = store.log("home")
        log.append(records(0, 4), (), after=EMPTY)
        known = store.log("other").append(records(0, version + 1, author="b"), (), after=EMPTY)
        with pytest.raises(HistoryReplaced):
            list(log.read(known))
        with pytest.raises(HistoryReplaced):
            list(log.read(-1, known))

    def test_a_prefix_is_read_up_to_a_head_that_the_log_has_passed(self, log: Log) -> None:
        head = log.append(records(0, 2), (), after=EMPTY)
        log.append(records(2, 2), (), after=head)
        assert list(log.read(-1, head)) == bare(records(0, 2))

    # --- handles ---

    def test_two_handles_see_each_others_records(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        one = store.log("home")
        two = (open_store() if self.persists else store).log("home")
        one.append(records(0, 1), [payload(0, 0, "a")], after=one.head())
        two.append(records(1, 1), (), after=two.head())
        with pytest.raises(VersionConflict):
            one.append(records(1, 1, author="late"), (), after=one.head())
        head = one.append(records(2, 1), (), after=one.head(), erase=["a"])
        assert two.head() == one.head() == head
        assert contents(one) == contents(two) == bare(records(0, 3))

    def test_closing_twice_is_allowed(self, tmp_path: Path) -> None:
        store = self.store(tmp_path)
        log = store.log("home")
        for _ in range(2):
            log.close()
            store.close()
