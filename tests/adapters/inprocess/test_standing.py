"""Seats that may not write, or only where they left the log, and where an answer was read."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.inprocess.standing import asked, version_of, version_written
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused, VersionConflict, ViewReadOnly
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.conftest import Open


def test_a_seat_to_read_only_writes_nothing(opened: Open) -> None:
    memory = opened()
    memory.learn("Ines moved the demo.")
    seat = memory.seat(actor="reader", read_only=True)
    for write in (
        partial(seat.learn, "Mine."),
        seat.consolidate,
        seat.start_session,
        seat.curate,
        seat.erase_space,
    ):
        with pytest.raises(ViewReadOnly, match="this seat"):
            write()
    assert seat.recall("demo").decision_id is None
    assert memory.status().version == 2


def test_a_seat_to_read_only_makes_no_space_beside_its_own(
    opened: Open, store: MemoryStore, path: Path
) -> None:
    seat = opened().seat(actor="reader", read_only=True)
    with pytest.raises(ViewReadOnly, match="this seat"):
        seat.fork("copy")
    assert store.spaces() == ("default",)
    assert seat.fork("copy", into=path).version == 1


def test_a_seat_on_a_memory_to_read_only_is_one_too(opened: Open, path: Path) -> None:
    opened(path).learn("Ines moved the demo.")
    seat = opened(path, read_only=True).seat(actor="ines")
    with pytest.raises(ViewReadOnly):
        seat.learn("Mine.")


def test_a_seat_writes_on_where_it_left_the_log(opened: Open) -> None:
    seat = opened().seat(actor="ines", version=1)
    seat.learn("Ines moved the demo.")
    seat.consolidate()
    seat.learn("And back.")
    assert seat.status().active == 1


def test_a_seat_writes_nothing_once_somebody_else_has(opened: Open) -> None:
    memory = opened()
    seat = memory.seat(actor="ines", version=1)
    memory.learn("Ines moved the demo.")
    for write in (partial(seat.learn, "Mine."), seat.consolidate, seat.curate):
        with pytest.raises(VersionConflict) as refusal:
            write()
        assert refusal.value.facts == {"expected": 1, "head": 2}
    assert memory.status().version == 2


def test_another_process_moves_the_log_on_too(opened: Open, path: Path) -> None:
    seat = opened(path).seat(actor="ines", version=1)
    opened(path).learn("Ines moved the demo.")
    with pytest.raises(VersionConflict):
        seat.learn("Mine.")


def test_what_is_already_so_needs_the_version_as_well(opened: Open) -> None:
    memory = opened()
    memory.learn("Ines moved the demo.")
    seat = memory.seat(actor="ines", version=1)
    with pytest.raises(VersionConflict):
        seat.learn("Ines moved the demo.")


def test_a_repeated_command_is_answered_wherever_the_log_stands(opened: Open) -> None:
    memory = opened()
    first = memory.seat(actor="ines", version=1).learn("Ines moved the demo.", command_id="a")
    memory.learn("Something else.")
    seat = memory.seat(actor="ines", version=1)
    assert seat.learn("Ines moved the demo.", command_id="a") == first
    assert version_written(seat) == 2


def test_work_that_was_cut_short_goes_on_where_it_left_the_log(opened: Open) -> None:
    memory = opened(policy=Policy(consolidate_chunk=1))
    memory.learn_many(["Ines moved the demo.", "Tea is out."])
    begun = memory.status().version

    def give_up(_done: int, _todo: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        memory.seat(actor="ines", version=begun).consolidate(command_id="a", progress=give_up)
    again = memory.seat(actor="ines", version=begun)
    assert again.consolidate(command_id="a").promoted == 2
    memory.learn("Something else.")
    with pytest.raises(VersionConflict):
        again.learn("Mine.")


def test_a_version_that_is_still_to_come_is_none(opened: Open) -> None:
    seat = opened().seat(actor="ines", version=7)
    with pytest.raises(VersionConflict, match="stands at version 1, not at 7"):
        seat.learn("Mine.")


@pytest.mark.parametrize("version", ["1", 1.0, True])
def test_a_version_is_a_whole_number(opened: Open, version: object) -> None:
    with pytest.raises(FieldRefused):
        opened().seat(actor="ines", version=version)  # type: ignore[arg-type]


def test_a_seat_knows_where_the_log_stood_when_it_was_answered(opened: Open) -> None:
    memory = opened()
    seat = memory.seat(actor="ines")
    seat.learn("Ines moved the demo.")
    memory.learn("Something else.")
    assert (version_written(seat), version_of(seat)) == (2, 3)


def test_a_question_is_answered_of_one_version(opened: Open) -> None:
    """Whoever writes while it is asked has it asked again."""
    memory = opened()
    other, writes = memory.seat(actor="other"), iter(["One.", "Two."])

    def question() -> int:
        version = memory.status().version
        for content in writes:
            other.learn(content)
            break
        return version

    assert asked(memory, question) == (3, 3)


def test_a_question_among_many_writes_keeps_them_waiting(opened: Open, path: Path) -> None:
    """Other processes do not wait, nor does the answer for them, however long they write."""
    memory, elsewhere = opened(path), opened(path)
    numbers = count()

    def question() -> tuple[int, int]:
        before = memory.status().version
        elsewhere.learn(f"Note {next(numbers)}.")
        return before, memory.status().version

    assert asked(memory, question) == ((4, 4), 4)
    assert version_of(memory) == 5


def test_a_question_that_tidies_up_first_ends_as_well(opened: Open, path: Path) -> None:
    memory, elsewhere = opened(path), opened(path)
    numbers = count()

    def question() -> int:
        elsewhere.learn(f"Note {next(numbers)}.")
        return memory.recall("note", record=False).version

    answer, version = asked(memory, question)
    assert answer == version
    assert version_of(memory) == version + 1
