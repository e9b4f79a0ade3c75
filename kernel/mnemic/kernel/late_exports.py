"""Exports of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable
from types import ModuleType
from typing import Any


def late_export(
    name: str, *, of: str, exported: Container[str], modules: Iterable[ModuleType]
) -> Any:
    """Return an export of a package, for its ``__getattr__``.

    Args:
        name: What is asked for.
        of: Name of the package.
        exported: All names that it exports.
        modules: Its modules, which are imported one by one until one defines the name.

    Raises:
        AttributeError: The package does not export the name.
    """
    if name in exported:
        for module in modules:
            if name in vars(module):
                found = vars(module)[name]
                setattr(sys.modules[of], name, found)  # asked for once
                return found
    raise AttributeError(f"module {of!r} has no attribute {name!r}")
