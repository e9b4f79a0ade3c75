"""Exports of a package that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Container, Iterable
from types import ModuleType
from typing import Any


def late_export(
    name: str, into: dict[str, Any], *, exported: Container[str], modules: Iterable[ModuleType]
) -> Any:
    """Return an export of a package, for its ``__getattr__``.

    Args:
        name: What is asked for.
        into: The names of the package, which the export is added to.
        exported: All names that it exports.
        modules: Its modules, which are imported one by one until one defines the name.

    Raises:
        AttributeError: The package does not export the name.
    """
    if name in exported:
        for module in modules:
            if name in vars(module):
                into[name] = vars(module)[name]
                return into[name]
    raise AttributeError(f"module {into['__name__']!r} has no attribute {name!r}")
