"""One run of the command line: which memory, which terminal, which output format."""

from __future__ import annotations
