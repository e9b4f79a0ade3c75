"""What every adapter must do, as test classes with one hole to fill.

There is one module per port, and for doors, which have many verbs, one per theme.

A new store is checked in two lines, and so is everything else that a host can plug in::

    class TestMyStore(StoreContract):
        def store(self, tmp_path: Path) -> Store: return MyStore(tmp_path / "my.db")

What an adapter cannot do by its nature is said in a class variable of the contract; the tests that
need it are then skipped with that reason. Run them with pytest; hypothesis and pytest come with the
extra ``mnemic[specs]``.
"""

from __future__ import annotations

import pytest

_WITH_TESTS = """
analysts blocks composed_graphs copies decisions doors doorsteps durability edges embedders indexes
ledgers manners past recalls stores upkeep
"""
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_TESTS.split()))

from mnemic.specs.contracts.analysts import AnalystContract  # noqa: E402 - rewritten from here on
from mnemic.specs.contracts.answers import plain, raised  # noqa: E402
from mnemic.specs.contracts.doors import DoorContract  # noqa: E402
from mnemic.specs.contracts.doorsteps import Setting  # noqa: E402
from mnemic.specs.contracts.embedders import EmbedderContract  # noqa: E402
from mnemic.specs.contracts.indexes import VectorIndexContract  # noqa: E402
from mnemic.specs.contracts.stores import StoreContract  # noqa: E402

__all__ = [
    "AnalystContract",
    "DoorContract",
    "EmbedderContract",
    "Setting",
    "StoreContract",
    "VectorIndexContract",
    "plain",
    "raised",
]
