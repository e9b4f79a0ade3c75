"""Read-only handles, handles bound to a version, and the version that an answer was read from."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.inprocess.operations.answer_version import asked, version_of, version_written
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused, VersionConflict, ViewReadOnly
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.conftest import Open


def test_a_read_only_session_handle_writes_nothing(opened: Open) -> None:
    memory = opened()
    memory.learn("Ines moved the demo.")
    session_handle = memory.session_handle(actor="reader", read_only=True)
    for write in (
        partial(session_handle.learn, "Mine."),
        session_handle.consolidate,
        session_handle.start_session,
        session_handle.curate,
        partial(session_handle.erase_space, "default"),
    ):
        with pytest.raises(ViewReadOnly, match="this session handle"):
            write()
    assert session_handle.recall("demo").decision_id is None
    assert memory.status().version == 2


def test_a_read_only_session_handle_creates_no_other_space(
    opened: Open, store: MemoryStore, path: Path
) -> None:
    session_handle = opened().session_handle(actor="reader", read_only=True)
    with pytest.raises(ViewReadOnly, match="this session handle"):
        session_handle.fork("copy")
    assert store.spaces() == ("default",)
    assert session_handle.fork("copy", into=path).version == 1


def test_a_session_handle_on_a_read_only_memory_is_read_only(opened: Open, path: Path) -> None:
    opened(path).learn("Ines moved the demo.")
    session_handle = opened(path, read_only=True).session_handle(actor="ines")
    with pytest.raises(ViewReadOnly):
        session_handle.learn("Mine.")


def test_a_session_handle_continues_at_the_version_it_wrote(opened: Open) -> None:
    session_handle = opened().session_handle(actor="ines", version=1)
    session_handle.learn("Ines moved the demo.")
    session_handle.consolidate()
    session_handle.learn("And back.")
    assert session_handle.status().active == 1


def test_a_session_handle_writes_nothing_after_another_writer(opened: Open) -> None:
    memory = opened()
    session_handle = memory.session_handle(actor="ines", version=1)
    memory.learn("Ines moved the demo.")
    for write in (
        partial(session_handle.learn, "Mine."),
        session_handle.consolidate,
        session_handle.curate,
    ):
        with pytest.raises(VersionConflict) as refusal:
            write()
        assert refusal.value.facts == {"expected": 1, "head": 2}
    assert memory.status().version == 2


def test_a_write_of_another_process_is_a_version_conflict(opened: Open, path: Path) -> None:
    session_handle = opened(path).session_handle(actor="ines", version=1)
    opened(path).learn("Ines moved the demo.")
    with pytest.raises(VersionConflict):
        session_handle.learn("Mine.")


def test_a_command_without_effect_needs_the_version_too(opened: Open) -> None:
    memory = opened()
    memory.learn("Ines moved the demo.")
    session_handle = memory.session_handle(actor="ines", version=1)
    with pytest.raises(VersionConflict):
        session_handle.learn("Ines moved the demo.")


def test_a_repeated_command_is_answered_at_any_version(opened: Open) -> None:
    memory = opened()
    first = memory.session_handle(actor="ines", version=1).learn(
        "Ines moved the demo.", command_id="a"
    )
    memory.learn("Something else.")
    session_handle = memory.session_handle(actor="ines", version=1)
    assert session_handle.learn("Ines moved the demo.", command_id="a") == first
    assert version_written(session_handle) == 2


def test_an_interrupted_command_resumes_at_the_version_it_wrote(opened: Open) -> None:
    memory = opened(policy=Policy(consolidate_chunk=1))
    memory.learn_many(["Ines moved the demo.", "Tea is out."])
    begun = memory.status().version

    def give_up(_done: int, _todo: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        memory.session_handle(actor="ines", version=begun).consolidate(
            command_id="a", progress=give_up
        )
    again = memory.session_handle(actor="ines", version=begun)
    assert again.consolidate(command_id="a").promoted == 2
    memory.learn("Something else.")
    with pytest.raises(VersionConflict):
        again.learn("Mine.")


def test_a_future_version_is_a_conflict(opened: Open) -> None:
    session_handle = opened().session_handle(actor="ines", version=7)
    with pytest.raises(VersionConflict, match="is at version 1, not at 7"):
        session_handle.learn("Mine.")


@pytest.mark.parametrize("version", ["1", 1.0, True])
def test_a_version_is_a_whole_number(opened: Open, version: object) -> None:
    with pytest.raises(FieldRefused):
        opened().session_handle(actor="ines", version=version)  # type: ignore[arg-type]


def test_a_session_handle_knows_the_version_after_its_last_command(opened: Open) -> None:
    memory = opened()
    session_handle = memory.session_handle(actor="ines")
    session_handle.learn("Ines moved the demo.")
    memory.learn("Something else.")
    assert (version_written(session_handle), version_of(session_handle)) == (2, 3)


def test_a_query_is_answered_from_one_version(opened: Open, path: Path) -> None:
    """Other handles and processes write meanwhile, and neither waits."""
    memory, elsewhere = opened(path), opened(path)
    other = memory.session_handle(actor="other")

    def question() -> tuple[int, int]:
        before = memory.status().version
        other.learn("One.")
        elsewhere.learn("Two.")
        return before, memory.status().version

    assert asked(memory, question) == ((1, 1), 1)
    assert version_of(memory) == 3


def test_a_query_that_consolidates_first_terminates(opened: Open, path: Path) -> None:
    memory, elsewhere = opened(path), opened(path)
    numbers = count()

    def question() -> int:
        elsewhere.learn(f"Note {next(numbers)}.")
        return memory.recall("note", record=False).version

    answer, version = asked(memory, question)
    assert answer == version
    assert version_of(memory) == version + 1
