"""Invalid arguments and models of a host are refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.policy import Policy

Open: TypeAlias = Callable[..., SyncMemory]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


class NamedEmbedder:
    """The hash embedder with a given identity."""

    def __init__(self, identity: Any) -> None:
        self.identity = identity

    def embed(self, texts: Any) -> Any:
        return HashEmbedder(4).embed(texts)


class FixedClock:
    """A clock with a fixed reading."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def now_us(self) -> Any:
        return self._shown


HOSTS: list[tuple[dict[str, Any], str]] = [
    ({"actor": 7}, "field-refused"),
    ({"actor": None}, "field-refused"),
    ({"actor": ""}, "field-refused"),
    ({"actor": "a" * 201}, "field-refused"),
    ({"actor": "\ud800"}, "field-refused"),
    ({"space": ""}, "field-refused"),
    ({"space": 7}, "field-refused"),
    ({"space": "s" * 201}, "field-refused"),
    ({"space": "\ud800"}, "field-refused"),
    ({"synchronous": "never"}, "field-refused"),
    ({"policy": 7}, "policy-refused"),
    ({"policy": {"degree_cap": 3}}, "policy-refused"),
    ({"embedder": 7}, "field-refused"),
    ({"embedder": NamedEmbedder("hash")}, "field-refused"),
    ({"embedder": NamedEmbedder(EmbedderIdentity(name=7, dimension=4))}, "field-refused"),  # type: ignore[arg-type]
    ({"embedder": NamedEmbedder(EmbedderIdentity(name="", dimension=4))}, "field-refused"),
    ({"embedder": NamedEmbedder(EmbedderIdentity(name="x", dimension=0))}, "field-refused"),
    ({"embedder": NamedEmbedder(EmbedderIdentity(name="x", dimension=4097))}, "field-refused"),
    ({"embedder": NamedEmbedder(EmbedderIdentity(name="x", dimension=4.0))}, "field-refused"),  # type: ignore[arg-type]
    ({"tokens": 7}, "field-refused"),
    ({"clock": FixedClock(1.5e15)}, "field-refused"),
    ({"clock": FixedClock(None)}, "field-refused"),
    ({"clock": FixedClock(2**63)}, "field-refused"),
]


@pytest.mark.parametrize(("host", "code"), HOSTS, ids=lambda value: str(value)[:40])
def test_invalid_host_arguments_are_refused_and_the_file_is_unchanged(
    opened: Open, path: Path, host: dict[str, Any], code: str
) -> None:
    assert refused(lambda: opened(path, **host)) == code
    opened(path).learn("words")
    assert refused(lambda: opened(path, **host).learn("more words")) == code or "policy" in host
    assert opened(path).verify().sound


@pytest.mark.parametrize(
    "where", [None, 7, b"agent.db", object()], ids=lambda value: type(value).__name__
)
def test_a_memory_is_opened_at_a_path_or_in_a_store(opened: Open, where: Any) -> None:
    assert refused(lambda: opened(where)) == "field-refused"


def test_reembedding_refuses_an_invalid_embedder(memory: SyncMemory) -> None:
    memory.learn("words")
    memory.consolidate()
    before = memory.status()
    unfit: list[Any] = [
        7,
        NamedEmbedder("hash"),
        NamedEmbedder(EmbedderIdentity(name="", dimension=4)),
    ]
    assert [refused(lambda e=e: memory.reembed(e)) for e in unfit] == ["field-refused"] * 3  # type: ignore[misc]
    assert memory.status() == before


def test_the_policy_argument_applies_to_new_spaces_only(opened: Open) -> None:
    first = Policy(name="first", degree_cap=3)
    memory = opened(policy=first)
    again = opened(policy=Policy(name="second", degree_cap=7))
    assert (memory.policy.id, again.policy.id) == (first.id, first.id)
    version = memory.status().version
    memory.adopt_policy(first)
    assert memory.status().version == version
    third = memory.adopt_policy(Policy(name="third"))
    assert (again.policy, again.status().policy) == (third, "third")
    assert again.as_of(version=version).status().policy == "first"
    assert refused(lambda: memory.adopt_policy("third")) == "policy-refused"  # type: ignore[arg-type]


def test_an_actor_is_named_in_what_it_did(opened: Open) -> None:
    opened(actor="ann").learn("one")
    opened(actor="bob").learn("two")
    assert [moment.actor for moment in opened().log()] == ["ann", "ann", "ann", "bob"]


def test_spaces_of_one_store_are_independent(opened: Open, path: Path) -> None:
    one, two = opened(path, space="one"), opened(path, space="two")
    block = one.learn("only here").block_id
    one.consolidate()
    assert two.blocks().items == ()
    assert two.recall("only here", record=False).blocks == ()
    assert refused(lambda: two.block(block)) == "block-not-found"
    assert (one.status().space, two.status().space) == ("one", "two")
    assert (one.status().version, two.status().version) == (4, 1)


def test_a_closed_memory_refuses_operations_and_closing_twice_is_allowed(
    opened: Open, path: Path
) -> None:
    memory = opened(path)
    block = memory.learn("words").block_id
    view = memory.as_of(version=2)
    memory.close()
    memory.close()
    calls: list[Callable[[], object]] = [
        lambda: memory.learn("more"),
        lambda: memory.recall("words"),
        lambda: memory.block(block),
        memory.status,
        memory.verify,
        memory.start_session,
        memory.consolidate,
        lambda: memory.as_of(version=1),
        lambda: memory.replay("d2"),
    ]
    assert [refused(call) for call in calls] == ["closed"] * len(calls)
    assert view.block(block).content == "words"  # the folded state can still be read
    assert refused(view.history) in {"closed", "store-failed"}


# --- command ids --------------------------------------------------------------------------------

IDS: list[Any] = [7, b"bytes", "", "   ", "\ud800", "c" * 201, True, ["list"]]


@pytest.mark.parametrize("command_id", IDS, ids=lambda value: str(value)[:20])
def test_an_invalid_command_id_is_refused(opened: Open, path: Path, command_id: Any) -> None:
    memory = opened(path)
    before = memory.status()
    calls: list[Callable[[], object]] = [
        lambda: memory.learn("words", command_id=command_id),
        lambda: memory.learn_many(["words"], command_id=command_id),
        lambda: memory.recall("words", command_id=command_id),
        lambda: memory.curate(command_id=command_id),
        lambda: memory.consolidate(command_id=command_id),
        lambda: memory.start_session(command_id=command_id),
        lambda: memory.adopt_policy(Policy(name="x"), command_id=command_id),
        lambda: memory.erase_space("default", command_id=command_id),
    ]
    assert [refused(call) for call in calls] == ["field-refused"] * len(calls)
    assert memory.status() == before
    memory.close()
    assert opened(path).status().version == before.version


def test_a_refused_command_leaves_its_id_free(memory: SyncMemory) -> None:
    assert refused(lambda: memory.learn("", command_id="c")) == "content-empty"
    first = memory.learn("words", command_id="c")
    assert memory.learn("words", command_id="c") == first
    assert refused(lambda: memory.learn("other words", command_id="c")) == "command-id-reused"


@pytest.mark.parametrize("metadata", [{1: 2, "a": 3}, {"x": {1, 2}}, {"x": object()}])
def test_invalid_lessons_are_refused_with_a_command_id_too(
    memory: SyncMemory, metadata: dict[Any, Any]
) -> None:
    assert refused(lambda: memory.learn("x", metadata=metadata, command_id="c")) == "field-refused"


def test_metadata_that_contains_itself_is_refused(memory: SyncMemory) -> None:
    circular: dict[str, Any] = {}
    circular["self"] = circular
    assert refused(lambda: memory.learn("x", metadata=circular)) == "field-refused"
    assert refused(lambda: memory.learn("x", metadata=circular, command_id="c")) == "field-refused"
    batch: list[str | dict[str, Any]] = ["y", {"content": "x", "metadata": circular}]
    (refusal,) = memory.learn_many(batch, command_id="d").refused
    assert refusal.code == "field-refused"


def test_command_ids_survive_closing_and_belong_to_their_space(opened: Open, path: Path) -> None:
    memory = opened(path)
    first = memory.learn("words", command_id="c")
    memory.close()
    again = opened(path)
    assert again.learn("words", command_id="c") == first
    assert again.status().version == 2
    other = opened(path, space="other").learn("quite other words", command_id="c")
    assert (other.action, other.version) == ("created", 2)


def test_a_repeated_revision_is_answered_after_its_old_text_was_erased(memory: SyncMemory) -> None:
    old = memory.learn("old words").block_id
    first = memory.revise(old, "new words", command_id="c")
    memory.erase(old)
    version = memory.status().version
    assert memory.revise(old, "new words", command_id="c") == first
    assert memory.status().version == version


def test_a_repeated_erasure_is_answered_with_its_receipt(memory: SyncMemory) -> None:
    block = memory.learn("old words").block_id
    first = memory.erase(block, command_id="c")
    memory.learn("old words")
    memory.erase(block)
    assert memory.erase(block, command_id="c") == first
