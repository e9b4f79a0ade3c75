"""The command line, ``mnemic``: parse, call the same operation as every other interface, render.

Modules that are slow to load (the memory itself, numpy, tables) are loaded by the command that
needs them, so that help appears at once.
"""

from __future__ import annotations

from mnemic.adapters.cli.application import main

__all__ = ["main"]
