"""The command line, ``mnemic``: parse, call the same verb as every other door, render.

What is slow to load (the memory itself, numpy, tables) is loaded by the command that needs it, so
that help comes at once.
"""

from __future__ import annotations

from mnemic.adapters.cli.application import main

__all__ = ["main"]
