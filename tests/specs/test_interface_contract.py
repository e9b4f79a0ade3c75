"""The contract of interfaces calls every operation with every argument, as recorded by a spy."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.specs.contracts import InterfaceContract, Setting
from tests.specs.spies import Notes, Said, Spy, sayable

OF_THE_HOST = "how an interface is opened and closed is specific to it; see Setting"
PARTS = "an object of the host process, which other interfaces cannot be given"
FILTERS = "the filters of blocks"
PLACE = "where a host runs it, and keeps its rows"
UNSAID: dict[str, str] = {
    "open": OF_THE_HOST,
    "close": OF_THE_HOST,
    "import_space.clock": PARTS,
    "import_space.entropy": PARTS,
    "import_space.keys": PARTS,
    **dict.fromkeys(
        ("to_csv.conditions", "to_jsonl.conditions", "to_markdown.conditions"), FILTERS
    ),
    **dict.fromkeys(
        ("backtest.rows", "backtest.runner", "replay_all.runner", "tune.rows", "tune.runner"), PLACE
    ),
}
"""Operations and arguments that no contract test calls, with the reason."""


def said(operation: str, argument: str) -> str:
    """Return the display name of an operation or argument."""
    return f"{operation}.{argument}" if argument else operation


def unheard(notes: Notes, owner: type[SyncMemory | SyncView]) -> list[str]:
    """Return the operations and arguments of *owner* that were never called."""
    missing: set[Said] = sayable(owner) - notes.calls
    names = {
        said(operation, argument) for _, operation, argument in missing if operation not in UNSAID
    }
    return sorted(names - UNSAID.keys())


@pytest.fixture(scope="module")
def notes() -> Notes:
    return Notes()


class TestTheContractOfInterfaces(InterfaceContract):
    @pytest.fixture(autouse=True)
    def listen(self, notes: Notes, request: pytest.FixtureRequest) -> None:
        self.notes_taken = notes
        notes.tests.add(getattr(request.function, "__name__", ""))

    @pytest.fixture
    def everything_was_asked(self, notes: Notes) -> Notes:
        """Return the recorded calls, if the whole contract has run before."""
        missing = {
            name for name in dir(InterfaceContract) if name.startswith("test_")
        } - notes.tests
        if missing:
            pytest.skip(f"the whole contract has to run before; {len(missing)} tests have not")
        return notes

    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        memory = SyncMemory.open(
            setting.folder / "agent.db",
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            read_only=setting.read_only,
            synchronous="normal",
        )
        return Spy(memory, self.notes_taken)

    def test_every_operation_is_called_with_every_argument(
        self, everything_was_asked: Notes
    ) -> None:
        assert unheard(everything_was_asked, SyncMemory) == []

    def test_every_query_is_made_on_a_past_view(self, everything_was_asked: Notes) -> None:
        assert unheard(everything_was_asked, SyncView) == []


def test_every_exception_names_an_existing_operation() -> None:
    offered = {said(operation, argument) for _, operation, argument in sayable(SyncMemory)}
    assert UNSAID.keys() <= offered
