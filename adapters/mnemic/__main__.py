"""Runs the command line as ``python -m mnemic``, for shells in which no ``mnemic`` is found."""

from __future__ import annotations

import sys

from mnemic.adapters.cli import main

if __name__ == "__main__":
    sys.exit(main())
