"""Fixtures for the tests of an interface: a setting, a clock, and a memory with three lessons."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import pytest
from attrs import define, evolve, field, frozen

from mnemic.kernel.ports import Clock, Embedder
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.sample_requests import LESSONS, LONG_AGO
from mnemic.specs.strategies.clocks import START_US
from mnemic.specs.strategies.vectors import PlaneEmbedder

Interface: TypeAlias = Any
"""Any object with the operations of ``SyncMemory`` as plain methods; see `contract`."""
Test = TypeVar("Test", bound=Callable[..., None])


@define
class Wall:
    """A wall clock that is set by the test."""

    us: int = START_US

    def now_us(self) -> int:
        """Return the time that was set."""
        return self.us


@frozen(kw_only=True)
class Setting:
    """Arguments for opening an interface."""

    folder: Path
    """Folder in which its store is, or is created: the same folder means the same store."""
    space: str = "default"
    """Name of the space; only an interface that lacks ``space`` may ignore it."""
    clock: Clock
    embedder: Embedder = field(factory=PlaneEmbedder)
    read_only: bool = False


def needs(*features: str) -> Callable[[Test], Test]:
    """Declare the operations and features that a test needs."""

    def mark(test: Test) -> Test:
        test.needs = features  # type: ignore[attr-defined]
        return test

    return mark


class InterfaceFixture(ABC):
    """The part of `InterfaceContract` with the fixtures of its tests."""

    lacks: ClassVar[frozenset[str]] = frozenset()
    """Features that this interface does not support; tests that need them are skipped. Names of
    operations, ``as_of.OPERATION`` for an operation that views do not have, ``OPERATION.ARGUMENT``
    for an argument, ``OPERATION.shape`` if it has its own errors for arguments of a wrong shape,
    and features: ``where.nested`` (its filters hold texts only), ``clock`` and ``embedder`` (it
    cannot be given one), ``space`` (it cannot be opened on another), ``command_id``, ``progress``,
    ``read_only``."""

    @abstractmethod
    def interface(self, setting: Setting) -> AbstractContextManager[Interface]:
        """Return an interface on the space ``setting.space`` of the store in ``setting.folder``."""

    def store(self, setting: Setting) -> Any:
        """Return the name of that store for the argument *into* of ``import_space``."""
        return setting.folder / "agent.db"

    # --- fixtures -------------------------------------------------------------------------------

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
    def opened(self, setting: Setting) -> Generator[Callable[..., Interface]]:
        """Open interfaces on one store, and close them when the test is over."""
        with ExitStack() as stack:
            yield lambda **other: stack.enter_context(self.interface(evolve(setting, **other)))

    @pytest.fixture
    def memory(self, opened: Callable[..., Interface]) -> Interface:
        """Return an interface on a new space."""
        return opened()

    @pytest.fixture
    def ids(self, memory: Interface) -> dict[str, str]:
        """Learn and consolidate the lessons; the gate and its oil are close, the tea is not."""
        found = {name: learned(memory, content) for name, content in LESSONS.items()}
        memory.consolidate()
        return found

    def skip_without(self, *features: str) -> None:
        """Skip a test that needs a feature the interface does not have."""
        missing = self.lacks.intersection(features)
        if missing:
            pytest.skip(f"this interface has no {', '.join(sorted(missing))}")


def learned(memory: Interface, content: str) -> str:
    """Learn *content* with a creation date long ago and return its id."""
    block_id: str = plain(memory.learn(content, created_at=LONG_AGO))["block_id"]
    return block_id


def origin_of(memory: Interface, block_id: str) -> dict[str, Any]:
    """Return where a block's text comes from, as results that quote it say."""
    block = plain(memory.block(block_id))
    return {name: block[name] for name in ("zone", "source", "actor", "author")}


def version_of(memory: Interface) -> int:
    """Return the last version of the log of *memory*."""
    version: int = plain(memory.status())["version"]
    return version


def policy_of(memory: Interface) -> Any:
    """Return the current policy as plain values. It is a property, or a method if it is async."""
    found = memory.policy
    return plain(found() if callable(found) else found)
