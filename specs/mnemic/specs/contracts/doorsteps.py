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
    """Where its store stands, or is made: the same folder, the same space."""
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
    """What this door does not offer: names of verbs, and of ``clock`` (it cannot be given one),
    ``embedder``, ``command_id``, ``read_only``. What needs them is skipped."""

    @abstractmethod
    def door(self, setting: Setting) -> AbstractContextManager[Door]:
        """Return a door on the space ``default`` of the store in ``setting.folder``."""

    # --- what the tests start from --------------------------------------------------------------

    @pytest.fixture(autouse=True)
    def _skip_what_is_lacking(self, request: pytest.FixtureRequest) -> None:
        missing = self.lacks.intersection(getattr(request.function, "needs", ()))
        if missing:
            pytest.skip(f"this door has no {', '.join(sorted(missing))}")

    @pytest.fixture
    def wall(self) -> Wall:
        return Wall()

    @pytest.fixture
    def opened(self, tmp_path: Path, wall: Wall) -> Generator[Callable[..., Door]]:
        """Open doors on one space, and close them when the test is over."""
        setting = Setting(folder=tmp_path, clock=wall)
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

    def skip_without(self, verb: str) -> None:
        """Skip a test about a verb that this door has not got."""
        if verb in self.lacks:
            pytest.skip(f"this door has no {verb}")


def learned(memory: Door, content: str) -> str:
    """Learn *content* as of long ago and return its id."""
    block_id: str = plain(memory.learn(content, created_at=LONG_AGO))["block_id"]
    return block_id


def version_of(memory: Door) -> int:
    """Return where the log of *memory* ends."""
    version: int = plain(memory.status())["version"]
    return version
