"""``mnemic`` as a package: its exports, and what importing it loads."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import mnemic
from mnemic.adapters import inprocess

LOADED = """
import sys
import mnemic
print(*sorted(name for name in sys.modules if name.startswith("mnemic.")), "numpy" in sys.modules)
"""


def test_both_memories_are_imported_from_the_package() -> None:
    assert mnemic.Memory is inprocess.Memory
    assert mnemic.SyncMemory is inprocess.SyncMemory


def test_the_version_is_that_of_the_distribution() -> None:
    assert mnemic.__version__ == version("mnemic")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mnemic' has no attribute 'Mnemic'"):
        _ = mnemic.Mnemic


def test_importing_the_package_alone_loads_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False"]
