"""What the tests of a door start from: a setting, a clock, a memory with three lessons in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import pytest
from attrs import define, evolve, field, frozen

from mnemic.kernel.ports import Clock, Embedder
from mnemic.specs.contracts.answers import plain
from mnemic.specs.contracts.wishes import LESSONS, LONG_AGO
from mnemic.specs.strategies.clocks import START_US
from mnemic.specs.strategies.vectors import PlaneEmbedder

Door: TypeAlias = Any
"""Whatever has the verbs of ``SyncMemory`` as plain methods; see `mnemic.specs.contracts.doors`."""
Test = TypeVar("Test", bound=Callable[..., None])


@define
class Wall:
    """A wall clock that moves when it is told to."""

    us: int = START_US

    def now_us(self) -> int:
        """Return where it was put."""
        return self.us


@frozen(kw_only=True)
class Setting:
    """What a door is opened with."""

    folder: Path
    """Where its store stands, or is made: the same folder, the same store."""
    space: str = "default"
    """Which memory of it; only a door that says it lacks ``space`` may leave this unread."""
    clock: Clock
    embedder: Embedder = field(factory=PlaneEmbedder)
    read_only: bool = False


def needs(*features: str) -> Callable[[Test], Test]:
    """Say which verbs and abilities a test is about."""

    def mark(test: Test) -> Test:
        test.needs = features  # type: ignore[attr-defined]
        return test

    return mark


class Doorstep(ABC):
    """The part of `DoorContract` on which its tests stand."""

    lacks: ClassVar[frozenset[str]] = frozenset()
    """What this door does not offer; what needs it is skipped. Names of verbs, ``as_of.VERB`` for
    a verb that views have not got, ``VERB.ARGUMENT`` for an argument, ``VERB.shape`` where it has
    words of its own for arguments of a wrong shape, and abilities: ``clock`` and ``embedder`` (it
    cannot be given one), ``space`` (it cannot be opened on another), ``command_id``, ``progress``,
    ``read_only``."""

    @abstractmethod
    def door(self, setting: Setting) -> AbstractContextManager[Door]:
        """Return a door on the space ``setting.space`` of the store in ``setting.folder``."""

    def store(self, setting: Setting) -> Any:
        """Return what names that store where ``import_space`` asks *into* what."""
        return setting.folder / "agent.db"

    # --- what the tests start from --------------------------------------------------------------

    @pytest.fixture(autouse=True)
    def _skip_what_is_lacking(self, request: pytest.FixtureRequest) -> None:
        self.skip_without(*getattr(request.function, "needs", ()))

    @pytest.fixture
    def wall(self) -> Wall:
        return Wall()

    @pytest.fixture
    def setting(self, tmp_path: Path, wall: Wall) -> Setting:
        return Setting(folder=tmp_path, clock=wall)

    @pytest.fixture
    def opened(self, setting: Setting) -> Generator[Callable[..., Door]]:
        """Open doors on one store, and close them when the test is over."""
        with ExitStack() as stack:
            yield lambda **other: stack.enter_context(self.door(evolve(setting, **other)))

    @pytest.fixture
    def memory(self, opened: Callable[..., Door]) -> Door:
        """Return a door on a new space."""
        return opened()

    @pytest.fixture
    def ids(self, memory: Door) -> dict[str, str]:
        """Learn and consolidate the lessons; the gate and its oil are close, the tea is not."""
        found = {name: learned(memory, content) for name, content in LESSONS.items()}
        memory.consolidate()
        return found

    def skip_without(self, *features: str) -> None:
        """Skip a test about something that this door has not got."""
        missing = self.lacks.intersection(features)
        if missing:
            pytest.skip(f"this door has no {', '.join(sorted(missing))}")


def learned(memory: Door, content: str) -> str:
    """Learn *content* as of long ago and return its id."""
    block_id: str = plain(memory.learn(content, created_at=LONG_AGO))["block_id"]
    return block_id


def version_of(memory: Door) -> int:
    """Return where the log of *memory* ends."""
    version: int = plain(memory.status())["version"]
    return version


def policy_of(memory: Door) -> Any:
    """Return the policy in force, plain. It is a property here and a call where one must wait."""
    found = memory.policy
    return plain(found() if callable(found) else found)
