"""All campaigns by name. Each is a module of its own, with a function ``campaign``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tests.torture.figures import Campaign

NAMES: tuple[str, ...] = (
    "cancelled_commits",
    "clocks",
    "cluster",
    "crowd",
    "damage",
    "disk",
    "erasure",
    "forks",
    "fuzz",
    "kills",
    "missing_rows",
    "newer_release",
    "rewind",
    "sealing",
    "split",
    "two_names",
    "versions",
)
"""Modules of this folder."""


def campaigns() -> Mapping[str, Campaign]:
    """Return the campaigns by name; none is imported before this is called."""
    return {name: import_module(f"tests.torture.{name}").campaign for name in NAMES}
