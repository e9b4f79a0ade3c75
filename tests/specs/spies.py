"""A spy that records the calls of an interface and forwards them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from attrs import define, field

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView

Said = tuple[str, str, str]
"""Owner, operation, and one of its arguments, or an empty string for the operation itself."""


@define
class Notes:
    """Calls that were answered without a refusal, and the tests that made them."""

    calls: set[Said] = field(factory=set)
    tests: set[str] = field(factory=set)


class Spy:
    """A memory or a view that records its calls."""

    def __init__(self, behind: SyncMemory | SyncView, notes: Notes) -> None:
        self._behind = behind
        self._notes = notes

    def __enter__(self) -> Self:
        assert isinstance(self._behind, SyncMemory)
        self._behind.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert isinstance(self._behind, SyncMemory)
        self._behind.__exit__(kind, error, trace)

    def __getattr__(self, operation: str) -> Any:
        found = getattr(self._behind, operation)
        if callable(found):
            return self._listening(operation, found)
        self._note(operation)
        return found

    def _listening(self, operation: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*args: Any, **named: Any) -> Any:
            given = call(*args, **named)
            self._note(operation, *inspect.signature(call).bind(*args, **named).arguments)
            is_interface = isinstance(
                given, SyncView | SyncMemory
            )  # a view of the past, or a session handle
            return Spy(given, self._notes) if is_interface else given

        return answer

    def _note(self, operation: str, *arguments: str) -> None:
        whose = type(self._behind).__name__
        self._notes.calls |= {(whose, operation, each) for each in ("", *arguments)}


def sayable(owner: type[SyncMemory | SyncView]) -> set[Said]:
    """Return every public operation and property of *owner*, and every argument of each."""
    said: set[Said] = set()
    for operation in filter(lambda name: not name.startswith("_"), dir(owner)):
        found = getattr(owner, operation)
        arguments = inspect.signature(found).parameters if callable(found) else ()
        said |= {(owner.__name__, operation, each) for each in ("", *arguments) if each != "self"}
    return said
