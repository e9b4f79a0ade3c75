"""``Value``: the base of attrs classes that share their equality, hash and representation.

attrs would generate and compile these three for each class, which is half of what making a class
costs, and a process that opens a memory makes more than a hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import attrs


class Value:
    """Base of frozen attrs classes: equal if the class and all fields are.

    attrs generates no method that a class defines itself, so every subclass is given these.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("__eq__", "__hash__", "__repr__"):
            if name not in cls.__dict__:
                setattr(cls, name, Value.__dict__[name])

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        get = _compared(self.__class__)
        return bool(get(self) == get(other))

    def __hash__(self) -> int:
        return hash(_compared(self.__class__)(self))

    def __repr__(self) -> str:
        fields = [f"{name}={getattr(self, name)!r}" for name in _shown(self.__class__)]
        return f"{self.__class__.__qualname__.rsplit('>.', 1)[-1]}({', '.join(fields)})"


def _compared_fields(of: type[Any]) -> attrgetter[Any]:
    return attrgetter("__class__", *(each.name for each in attrs.fields(of) if each.eq))


def _shown_fields(of: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in attrs.fields(of) if each.repr)


# Typed as what takes any class: to mypy, the class of hashable objects is not hashable itself.
_compared: Callable[[type], attrgetter[Any]] = cache(_compared_fields)
"""Returns what gets the fields of a class that count in a comparison, and the class."""
_shown: Callable[[type], tuple[str, ...]] = cache(_shown_fields)
"""Returns the names of the fields that are shown."""
