"""The command line, ``mnemic``: parse, call the same operation as every other interface, render.

Modules that are slow to load (the memory itself, numpy, tables) are loaded by the command that
needs them, so that help appears at once.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Sequence

__all__ = ["main", "warning_line"]


def warning_line(message: Warning | str, *_: object, **__: object) -> str:
    """Return a warning as the command line prints its own, without the place in the code."""
    return f"warning {message}\n"


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    Args:
        tokens: The arguments after the program's name; None: those of this process.
    """
    given = sys.argv[1:] if tokens is None else tokens
    if list(given) == ["--version"]:  # scripts ask for it: answered before the parser is loaded
        from importlib.metadata import version

        print(version("mnemic"))  # noqa: T201 - this is what was asked for
        return 0
    if tokens is None:  # a process of our own
        from mnemic.adapters.system.collector import collect_rarely

        collect_rarely()
        warnings.formatwarning = warning_line
    from mnemic.adapters.cli import application

    try:
        return application.main(given)
    finally:
        if tokens is None:  # taking apart what was loaded costs a fifth of a start
            gc.freeze()
