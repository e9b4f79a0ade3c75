"""Adapters with one fault each, and the contract test that must find it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

from mnemic.adapters.analysts.rules import RulesAnalyst
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.stores.memory import MemoryLog, MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import BlockNotFound, MnemicError
from mnemic.kernel.ports import Analysis, CommandRow, Embedder, Head, Passage, Store
from mnemic.specs.contracts import (
    AnalystContract,
    EmbedderContract,
    StoreContract,
    plain,
    raised,
)

FOUND = (AssertionError, pytest.fail.Exception)
"""How a contract fails: by an assertion, or because an expected error was not raised."""

# --- embedders ----------------------------------------------------------------------------------


class Faulty(HashEmbedder):
    """An embedder with one change of its rows."""

    def __init__(self, change: Callable[[Any, Sequence[str]], Any]) -> None:
        super().__init__()
        self._change = change

    def embed(self, texts: Sequence[str]) -> Any:
        return self._change(super().embed(texts), texts)


def with_a_word_for(empty: float) -> Callable[[Any, Sequence[str]], Any]:
    """Return a change that gives a text without words a vector of one constant."""
    return lambda rows, _: np.where(rows.any(axis=1, keepdims=True), rows, empty)


EMBEDDERS = {
    "a_vector_does_not_depend_on_the_batch_it_came_in": lambda rows, _: rows - rows.mean(axis=0),
    "a_vector_does_not_depend_on_its_position_in_the_batch": lambda rows, _: (
        rows[:1].repeat(len(rows), axis=0) + rows
    ),
    "an_ordinary_text_has_a_direction": lambda rows, _: rows * 0,
    "the_same_text_twice_in_a_batch_has_the_same_vector": lambda rows, _: (
        rows + np.arange(len(rows))[:, None]
    ),
    "a_lone_surrogate_is_embedded_or_refused_with_a_recovery": lambda rows, texts: (
        rows + 0 * len("".join(texts).encode())
    ),
}


@pytest.mark.parametrize("promise", EMBEDDERS)
def test_a_faulty_embedder_is_found(promise: str) -> None:
    class Contract(EmbedderContract):
        def embedder(self) -> Embedder:
            return Faulty(EMBEDDERS[promise])

    with pytest.raises((AssertionError, UnicodeEncodeError)):
        getattr(Contract(), f"test_{promise}")()


def test_a_row_that_is_missing_or_not_finite_is_found() -> None:
    class OneShort(EmbedderContract):
        def embedder(self) -> Embedder:
            return Faulty(lambda rows, _: rows[1:])

    class NotANumber(EmbedderContract):
        def embedder(self) -> Embedder:
            return Faulty(with_a_word_for(float("nan")))

    with pytest.raises(AssertionError):
        OneShort().test_there_is_one_finite_row_of_the_promised_size_per_text(3)
    with pytest.raises(MnemicError, match="is nan"):
        NotANumber().test_an_odd_text_has_a_row_among_ordinary_ones("nothing")


# --- analysts -----------------------------------------------------------------------------------


class Reader(RulesAnalyst):
    """An analyst with one change of its analyses."""

    def __init__(self, change: Callable[[list[Analysis]], list[Any]]) -> None:
        self._change = change

    def analyse(self, passages: Sequence[Passage]) -> list[Any]:
        return self._change(super().analyse(passages))


ANALYSTS: dict[str, Callable[[list[Analysis]], list[Any]]] = {
    "analyses_are_in_the_order_of_the_passages": lambda said: sorted(said, key=str),
    "an_ordinary_passage_is_analysed": lambda said: [None] * len(said),
    "analyses_of_ordinary_passages_are_within_the_limits": lambda said: [
        Analysis(alignment=1.5) for _ in said
    ],
    "an_analyst_never_adds_constitutional_tags": lambda said: [
        Analysis(tags=("self/constitutional",)) for _ in said
    ],
}


@pytest.mark.parametrize("promise", ANALYSTS)
def test_a_faulty_analyst_is_found(promise: str) -> None:
    class Contract(AnalystContract):
        def analyst(self) -> Reader:
            return Reader(ANALYSTS[promise])

    with pytest.raises((AssertionError, MnemicError)):
        getattr(Contract(), f"test_{promise}")()


# --- stores -------------------------------------------------------------------------------------


class Careless(MemoryLog):
    """Has no write lock, forgets commands and erases by the first owner."""

    def write_lock(self) -> Any:
        return self._Turn()

    class _Turn:
        def __enter__(self) -> None: ...
        def __exit__(self, *error: object) -> None: ...

    def command(self, command_id: str) -> CommandRow | None:  # noqa: ARG002
        return None

    def append(self, records: Any, payloads: Any, **rest: Any) -> Head:
        owned = [row._replace(owners=row.owners[:1]) for row in payloads]
        return super().append(records, owned, **rest)

    def read(self, after: Head | int = -1, upto: Head | int | None = None) -> Iterator[Any]:
        return super().read(after, upto + 1 if isinstance(upto, int) else upto)


class CarelessStore(MemoryStore):
    def log(self, space: str, *, create: bool = True) -> MemoryLog:
        log = super().log(space, create=create)
        log.__class__ = Careless
        return log


@pytest.mark.parametrize(
    "promise",
    [
        "a_command_is_stored_with_its_records",
        "erasing_an_owner_destroys_shared_payloads",
        "reading_in_parts_equals_reading_at_once",
        "bytes_are_returned_unchanged",
    ],
)
def test_a_faulty_store_is_found(promise: str) -> None:
    class Contract(StoreContract):
        persists = False

        def store(self, tmp_path: Path) -> Store:  # noqa: ARG002
            return CarelessStore()

    with pytest.raises(AssertionError):
        getattr(Contract(), f"test_{promise}")(CarelessStore().log("home"))


RUNS = 20
"""Runs of a contract test that must find its fault in each."""


class LockOfOneHandle(SQLiteStore):
    """A store whose write lock excludes only threads that use the same handle."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._own_lock = Lock()

    def write_lock(self) -> Any:
        return self._own_lock


@pytest.mark.parametrize("run", range(RUNS))
def test_a_write_lock_that_excludes_no_thread_is_always_found(tmp_path: Path, run: int) -> None:
    class Contract(StoreContract):
        persists = False

        def store(self, tmp_path: Path) -> Store:  # noqa: ARG002
            return CarelessStore()

    contract, through = Contract(), ("the same handle", "another handle")[run % 2]
    with pytest.raises(AssertionError, match="while it was held"):
        contract.test_a_second_thread_waits_for_the_write_lock(tmp_path, through)


@pytest.mark.parametrize("run", range(RUNS))
def test_a_write_lock_of_one_handle_is_always_found(tmp_path: Path, run: int) -> None:
    class Contract(StoreContract):
        def store(self, tmp_path: Path) -> Store:
            return LockOfOneHandle(tmp_path / "memory.db")

    contract = Contract()
    among_threads = partial(
        contract.test_a_second_thread_waits_for_the_write_lock, through="another handle"
    )
    among_processes = contract.test_a_second_process_waits_for_the_write_lock
    with pytest.raises(AssertionError, match="while it was held"):
        (among_processes if run % 2 else among_threads)(tmp_path)


# --- conversion of answers and refusals ---------------------------------------------------------


def test_a_refusal_survives_a_round_trip_over_the_wire() -> None:
    refusal = BlockNotFound("no such block: x", recovery="Look again.", block_id="x")
    sent = json.loads(json.dumps(refusal.to_dict()))
    back = raised(sent)
    assert (type(back), back.to_dict()) == (BlockNotFound, refusal.to_dict())


def test_a_refusal_with_a_code_of_the_interfaces_own_keeps_it() -> None:
    document = {"code": "usage", "detail": "what?", "recovery": "Ask for help.", "line": 3}
    back = raised(document)
    assert (type(back), back.to_dict()) == (MnemicError, document)
    assert MnemicError.code == "error"


def test_an_answer_that_json_cannot_represent_is_refused() -> None:
    assert plain(({"a": (1, 2)}, None)) == [{"a": [1, 2]}, None]
    with pytest.raises(TypeError):
        plain({"when": Path()})
    with pytest.raises(ValueError, match="Out of range"):
        plain([float("nan")])
