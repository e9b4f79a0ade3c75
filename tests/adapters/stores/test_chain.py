from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain as concatenation
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import staged
from mnemic.adapters.stores.logs.chain import Row
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import GENESIS_DIGEST, Head, Record
from mnemic.specs.contracts.log_entries import records

SIZES = st.integers(1, 8)


def written(entries: Sequence[Record]) -> tuple[list[Row], Head]:
    entry = staged("1", chain.EMPTY, entries, payloads=(), commands=(), erase=(), erase_all=False)
    rows: list[Row] = [(s.originator_version, s.topic, s.state) for s in entry.stored]
    return rows, entry.after


def checked(
    rows: Sequence[Row], head: Head, *, after: int = -1, upto: int | None = None
) -> tuple[list[Record], object]:
    """Return what is yielded, and the version of the damage that ends it."""
    end = head.version if upto is None else upto
    wanted = [row for row in rows if max(after, 0) <= row[0] <= end + 2]
    sound: list[Record] = []
    try:
        sound.extend(chain.verified(wanted, after=after, upto=end, head=head))
    except LogCorrupt as error:
        return sound, error.facts["version"]
    return sound, None


def flipped(data: object, at: int) -> bytes:
    assert isinstance(data, bytes)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_record_is_stored_behind_the_digest_of_its_predecessor() -> None:
    rows, head = written([Record(0, "thing-noted.1", b"{0}"), Record(1, "thing-noted.2", b"{1}")])
    zero = sha256(bytes(32) + bytes(8) + b"thing-noted.1" + b"{0}").digest()
    one = sha256(zero + bytes(7) + b"\x01" + b"thing-noted.2" + b"{1}").digest()
    assert rows == [
        (0, "thing-noted.1", GENESIS_DIGEST + b"{0}"),
        (1, "thing-noted.2", zero + b"{1}"),
    ]
    assert head == Head(1, one)


@given(SIZES, st.data())
def test_any_range_of_a_sound_log_is_yielded(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    after = data.draw(st.integers(-1, size - 2))
    upto = data.draw(st.integers(after + 1, size - 1))
    assert checked(rows, head, after=after, upto=upto) == (
        list(records(after + 1, upto - after)),
        None,
    )


@given(SIZES, st.data())
def test_a_flipped_byte_is_found_in_its_own_record(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    bad = data.draw(st.integers(0, size - 1))
    version, topic, state = rows[bad]
    at = data.draw(st.integers(0, 35))
    rows[bad] = (version, topic, flipped(state, at))
    assert checked(rows, head) == (list(records(0, bad)), bad)


@given(SIZES, st.data())
def test_a_changed_topic_is_found_in_its_own_record(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    bad = data.draw(st.integers(0, size - 1))
    topic = data.draw(st.sampled_from(["thing-noted.3", "", None, b"thing-noted.1", 7]))
    rows[bad] = (bad, topic, rows[bad][2])
    assert checked(rows, head) == (list(records(0, bad)), bad)


@given(SIZES, st.data())
def test_a_missing_record_is_named(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    bad = data.draw(st.integers(0, size - 1))
    del rows[bad]
    assert checked(rows, head) == (list(records(0, bad)), bad)


@given(SIZES, st.data())
def test_a_cut_tail_is_found_by_the_head(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    left = data.draw(st.integers(0, size - 1))
    assert checked(rows[:left], head) == (list(records(0, left)), left)


@given(st.integers(2, 8), st.data())
def test_two_swapped_records_are_found_at_the_first(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    one, two = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=2, max_size=2)))
    rows[one], rows[two] = (one, *rows[two][1:]), (two, *rows[one][1:])
    assert checked(rows, head) == (list(records(0, one)), one)


@given(SIZES, st.data())
def test_a_consistent_forgery_is_found_by_the_head_alone(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size - 1))
    forged = [*records(0, start), *records(start, size - start, author="forger")]
    _, head = written(records(0, size))
    rows, _ = written(forged)
    assert checked(rows, head) == (forged[:-1], size - 1)


@given(SIZES, st.data())
def test_damage_beyond_the_requested_range_is_not_reported(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size + 1))
    bad = data.draw(st.integers(1, size))
    rows[bad] = (bad, "thing-noted.3", rows[bad][2])
    assert checked(rows, head, upto=bad - 1) == (list(records(0, bad)), None)


@given(SIZES, st.data())
def test_reading_after_a_damaged_record_names_it(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size + 1))
    bad = data.draw(st.integers(0, size - 1))
    rows[bad] = (bad, "thing-noted.3", rows[bad][2])
    assert checked(rows, head, after=bad) == ([], bad)


# --- together -----------------------------------------------------------------------------------


def changes(row: Row) -> st.SearchStrategy[list[Row]]:
    """Return rows that may replace a sound one."""
    version, topic, state = row
    assert isinstance(state, bytes)
    return st.sampled_from(
        [
            [],
            [row, row],
            [(version + 1, topic, state)],
            [(version, "thing-noted.3", state)],
            [(version, b"thing-noted.1", state)],
            [(version, None, state)],
            [(version, topic, state[:31])],
            [(version, topic, "text")],
            [(version, topic, flipped(state, 3))],
            [(version, topic, flipped(state, 34))],
        ]
    )


def cut(rows: Sequence[Row], data: st.DataObject) -> list[Sequence[Row]]:
    """Return *rows* in batches of any length, empty ones included."""
    places = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    return [rows[start:stop] for start, stop in pairwise([0, *places, len(rows)])]


@given(SIZES, st.data())
def test_batch_verification_equals_row_by_row_verification(size: int, data: st.DataObject) -> None:
    rows, head = written(records(0, size))
    for bad in sorted(data.draw(st.sets(st.integers(0, size - 1), max_size=2)), reverse=True):
        rows[bad : bad + 1] = data.draw(changes(rows[bad]))
    if data.draw(st.booleans()):
        head = Head(head.version, bytes(32))
    after = data.draw(st.integers(-1, size - 2))
    upto = data.draw(st.integers(after + 1, size - 1))
    wanted = [row for row in rows if max(after, 0) <= row[0] <= upto + 2]
    together = chain.verified_together(cut(wanted, data), after=after, upto=upto, head=head)
    one_by_one = chain.verified(wanted, after=after, upto=upto, head=head)
    assert told(concatenation.from_iterable(together)) == told(one_by_one)


def told(found: Iterator[Record]) -> tuple[list[Record], object]:
    """Return what is yielded, and how it ends."""
    sound: list[Record] = []
    try:
        sound.extend(found)
    except LogCorrupt as error:
        return sound, (error.message, error.facts)
    return sound, None
