"""The contract of doors asks for every verb there is, with every argument: a spy has listened."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.specs.contracts import DoorContract, Setting
from tests.specs.spies import Notes, Said, Spy, sayable

OF_THE_HOST = "how a door is opened and closed is its own affair; Setting says with what"
PARTS = "a part of the host in this process, which no other door can be given"
UNSAID: dict[str, str] = {
    "open": OF_THE_HOST,
    "close": OF_THE_HOST,
    "import_space.clock": PARTS,
    "import_space.entropy": PARTS,
    "import_space.keys": PARTS,
}
"""What no contract test asks for, and why: a verb, or one argument of it."""


def said(verb: str, argument: str) -> str:
    """Return how something is called in messages."""
    return f"{verb}.{argument}" if argument else verb


def unheard(notes: Notes, owner: type[SyncMemory | SyncView]) -> list[str]:
    """Return what *owner* offers and nobody has asked for."""
    missing: set[Said] = sayable(owner) - notes.heard
    names = {said(verb, argument) for _, verb, argument in missing if verb not in UNSAID}
    return sorted(names - UNSAID.keys())


@pytest.fixture(scope="module")
def notes() -> Notes:
    return Notes()


class TestTheContractOfDoors(DoorContract):
    @pytest.fixture(autouse=True)
    def listen(self, notes: Notes, request: pytest.FixtureRequest) -> None:
        self.notes_taken = notes
        notes.tests.add(getattr(request.function, "__name__", ""))

    @pytest.fixture
    def everything_was_asked(self, notes: Notes) -> Notes:
        """Return the notes, if the whole contract has run before."""
        missing = {name for name in dir(DoorContract) if name.startswith("test_")} - notes.tests
        if missing:
            pytest.skip(f"the whole contract has to run before; {len(missing)} tests have not")
        return notes

    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        memory = SyncMemory.open(
            setting.folder / "agent.db",
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            read_only=setting.read_only,
            synchronous="normal",
        )
        return Spy(memory, self.notes_taken)

    def test_every_verb_is_asked_for_with_every_argument(self, everything_was_asked: Notes) -> None:
        assert unheard(everything_was_asked, SyncMemory) == []

    def test_every_question_is_asked_of_the_past(self, everything_was_asked: Notes) -> None:
        assert unheard(everything_was_asked, SyncView) == []


def test_what_is_left_out_exists() -> None:
    offered = {said(verb, argument) for _, verb, argument in sayable(SyncMemory)}
    assert UNSAID.keys() <= offered
