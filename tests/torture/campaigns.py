"""All campaigns by name. Each stands in a module of its own, as ``campaign``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tests.torture.figures import Campaign

NAMES: tuple[str, ...] = (
    "clocks",
    "crowd",
    "damage",
    "disk",
    "erasure",
    "fuzz",
    "kills",
    "versions",
)
"""Modules of this folder."""


def campaigns() -> Mapping[str, Campaign]:
    """Return the campaigns by name; none is imported before it is asked for by this."""
    return {name: import_module(f"tests.torture.{name}").campaign for name in NAMES}
