"""The operating system: clocks, random bytes, memory and private folders."""

from __future__ import annotations
