"""Boolean arguments must be true or false: any text would count as true."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.remote.calls import Call, answered
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import FieldRefused
from mnemic.specs.strategies.vectors import PlaneEmbedder


@pytest.mark.parametrize("record", ["false", "true", 0, 1, None])
def test_a_non_boolean_switch_is_refused_and_nothing_recorded(
    record: object,
) -> None:
    call = Call(operation="recall", arguments={"query": "the gate", "record": record})
    opened = SyncMemory.open(
        ":memory:", entropy=SeededEntropy("switches"), embedder=PlaneEmbedder()
    )
    with opened as memory:
        with pytest.raises(FieldRefused) as refused:
            answered(memory, call)
        assert refused.value.facts == {"field": "record"}
        assert memory.status().decisions == 0
