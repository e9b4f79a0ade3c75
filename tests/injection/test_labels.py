"""Labels take visible characters only, on every operation that takes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused, Refused, TagsRefused
from mnemic.kernel.visible import hidden_in
from tests.injection.tricks import NAMES, TEXTS

Act: TypeAlias = Callable[[SyncMemory, Mapping[str, Any], str], Any]

_NUMBERS = count()


def _learn(memory: SyncMemory, **labels: Any) -> Any:
    return memory.block(memory.learn(f"text {next(_NUMBERS)}", **labels).block_id)


def _label(memory: SyncMemory, ids: Mapping[str, Any], **labels: Any) -> Any:
    memory.label(ids["lane"], "helpful", **labels)
    return memory.composition(ids["lane"]).labels[-1]


def _edge(memory: SyncMemory, ids: Mapping[str, Any], **labels: Any) -> Any:
    return memory.connect(ids["gate"], ids["oil"], if_exists="update", **labels)


def _lane(memory: SyncMemory, ids: Mapping[str, Any], **labels: Any) -> Any:
    lane = memory.compose([ids["gate"], ids["oil"]], **labels).composition_id
    return memory.composition(lane)


def _scope(memory: SyncMemory, text: str) -> Any:
    found = _learn(memory, scope={"user": text}).metadata
    return None if found is None else found["user"]


FIELDS: dict[str, Act] = {
    "author": lambda memory, _, text: _learn(memory, author=text).author,
    "thread": lambda memory, _, text: _learn(memory, thread=text).thread,
    "category": lambda memory, _, text: _learn(memory, category=text).category,
    "source": lambda memory, _, text: _learn(memory, source=text).source,
    "zone": lambda memory, _, text: _learn(memory, zone=text).zone,
    "tag": lambda memory, _, text: _learn(memory, tags=[text]).tags[0],
    "scope": lambda memory, _, text: _scope(memory, text),
    "key of metadata": lambda memory, _, text: next(
        iter(_learn(memory, metadata={text: 1}).metadata)
    ),
    "key within metadata": lambda memory, _, text: next(
        iter(_learn(memory, metadata={"a": [{text: 1}]}).metadata["a"][0])
    ),
    "relation": lambda memory, ids, text: _edge(memory, ids, relation=text).relation,
    "note": lambda memory, ids, text: _edge(memory, ids, note=text).note,
    "notes of a label": lambda memory, ids, text: _label(memory, ids, notes=text).notes,
    "source of a label": lambda memory, ids, text: _label(memory, ids, source=text).source,
    "tool": lambda memory, ids, text: _lane(memory, ids, tool=text).tool,
    "mode": lambda memory, ids, text: _lane(memory, ids, mode=text).mode,
    "status of a composition": lambda memory, ids, text: _lane(memory, ids, status=text).status,
}

UNSTRIPPED = {"key of metadata", "key within metadata", "notes of a label"}


@pytest.fixture
def memory() -> SyncMemory:
    return SyncMemory.open(MemoryStore(), embedder=HashEmbedder(), clock=ManualClock())


@pytest.fixture
def ids(memory: SyncMemory) -> dict[str, Any]:
    found: dict[str, Any] = {name: memory.learn(name).block_id for name in ("gate", "oil")}
    memory.consolidate()
    memory.connect(found["gate"], found["oil"])
    return {**found, "lane": memory.compose(list(found.values())).composition_id}


@pytest.mark.parametrize("field", FIELDS)
def test_a_label_is_stored_as_it_is_or_refused(
    memory: SyncMemory, ids: dict[str, Any], field: str
) -> None:
    for name, text in TEXTS.items():
        before = memory.status().version
        kept = text if field in UNSTRIPPED else text.strip()
        if hidden_in(kept):
            with pytest.raises((FieldRefused, TagsRefused)) as refused:
                FIELDS[field](memory, ids, text)
            assert refused.value.recovery.startswith("Leave U+"), name
            assert memory.status().version == before, name
            continue
        stored = FIELDS[field](memory, ids, text)
        assert stored == (kept.lower() if field == "relation" else kept), name


@pytest.mark.parametrize("field", FIELDS)
def test_names_that_need_joiners_are_accepted(
    memory: SyncMemory, ids: dict[str, Any], field: str
) -> None:
    for name in NAMES:
        stored = FIELDS[field](memory, ids, name)
        assert stored == (name.lower() if field == "relation" else name)


def test_a_refusal_names_the_character_and_what_to_do(memory: SyncMemory) -> None:
    with pytest.raises(Refused) as refused:
        memory.learn("The gate is green.", author="Ines\u202e")
    assert refused.value.facts == {"field": "author", "character": "U+202E"}
    assert refused.value.recovery == (
        "Leave U+202E out; a label takes visible characters on one line."
    )


def test_an_actor_takes_visible_characters_only(memory: SyncMemory) -> None:
    with pytest.raises(Refused, match="hidden character"):
        memory.session_handle(actor="mail\nbox")


def test_a_text_may_contain_anything(memory: SyncMemory) -> None:
    for name, text in TEXTS.items():
        block = memory.block(memory.learn(text).block_id)
        assert block.content == text, name
