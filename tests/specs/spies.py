"""A door that notes what it is asked, and answers as the one behind it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from attrs import define, field

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.snapshot import SyncView

Said = tuple[str, str, str]
"""Whose verb, the verb, and one argument of it; an empty one for the verb itself."""


@define
class Notes:
    """What was asked, and answered without a refusal, and by which tests."""

    heard: set[Said] = field(factory=set)
    tests: set[str] = field(factory=set)


class Spy:
    """A memory or a view, with somebody listening."""

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

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._behind, verb)
        if callable(found):
            return self._listening(verb, found)
        self._note(verb)
        return found

    def _listening(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*args: Any, **named: Any) -> Any:
            given = call(*args, **named)
            self._note(verb, *inspect.signature(call).bind(*args, **named).arguments)
            heard = isinstance(given, SyncView | SyncMemory)  # a view of the past, or a seat
            return Spy(given, self._notes) if heard else given

        return answer

    def _note(self, verb: str, *arguments: str) -> None:
        whose = type(self._behind).__name__
        self._notes.heard |= {(whose, verb, each) for each in ("", *arguments)}


def sayable(owner: type[SyncMemory | SyncView]) -> set[Said]:
    """Return every public verb and property of *owner*, and every argument of each."""
    said: set[Said] = set()
    for verb in filter(lambda name: not name.startswith("_"), dir(owner)):
        found = getattr(owner, verb)
        arguments = inspect.signature(found).parameters if callable(found) else ()
        said |= {(owner.__name__, verb, each) for each in ("", *arguments) if each != "self"}
    return said
