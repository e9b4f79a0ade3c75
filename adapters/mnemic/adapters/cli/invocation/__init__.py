"""One run of the command line: its memory, terminal and output format."""

from __future__ import annotations
