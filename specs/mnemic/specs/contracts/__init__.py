"""Contracts of adapters, as abstract test classes with one method to implement.

There is one module per port, and for interfaces, which have many operations, one per subject.

A new store is checked in two lines, and so is every other adapter that a host can supply::

    class TestMyStore(StoreContract):
        def store(self, tmp_path: Path) -> Store: return MyStore(tmp_path / "my.db")

A class variable of the contract declares what an adapter does not support; the tests that need it
are then skipped with that reason. Run them with pytest; hypothesis and pytest come with the
extra ``mnemic[specs]``.
"""

from __future__ import annotations

import pytest

_WITH_TESTS = "analysts durability embedders interface log_entries staged_spaces stores"
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_TESTS.split()))

from mnemic.specs.contracts.analysts import AnalystContract  # noqa: E402 - rewritten from here on
from mnemic.specs.contracts.embedders import EmbedderContract  # noqa: E402
from mnemic.specs.contracts.interface.answers import plain, raised  # noqa: E402
from mnemic.specs.contracts.interface.contract import InterfaceContract  # noqa: E402
from mnemic.specs.contracts.interface.fixtures import Setting  # noqa: E402
from mnemic.specs.contracts.stores import StoreContract  # noqa: E402

__all__ = [
    "AnalystContract",
    "EmbedderContract",
    "InterfaceContract",
    "Setting",
    "StoreContract",
    "plain",
    "raised",
]
