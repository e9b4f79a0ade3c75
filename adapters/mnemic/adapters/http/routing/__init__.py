"""Which method and path each operation has."""

from __future__ import annotations
