"""The command loop of an open space: catch up, decide, append, apply, answer."""

from __future__ import annotations
