"""The operating system: clocks, random bytes, memory, processors and private folders."""

from __future__ import annotations
