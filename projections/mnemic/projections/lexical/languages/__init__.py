"""Languages other than English: how they are recognised, and the terms of their texts."""

from __future__ import annotations
