"""Every documented call of mem0, run against mem0 and against our facade, field by field.

    python -m tests.suites.mem0_calls

Both get the same vectors from a local embedder, mem0 a faiss store and ``infer=False``. Ids are
compared by the order in which they appear, times and scores by their form. ``DIFFERENCES`` names
each field that differs, with the reason; another one, or one that does not differ, is an error.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import re
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, Final

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations import mem0 as ours
from tests.suites.mem0_script import CALLS, Id

DIMENSION: Final = 256
OPERATORS: Final = ("search operator", "all by operator")
"""Calls of which the reference is mem0 on qdrant: its faiss store knows no operators."""
ABSENT: Final = "absent"


@frozen
class Difference:
    """Fields of calls that differ, by patterns, and why."""

    calls: str
    fields: str
    why: str


@frozen
class Comparison:
    """What came of all calls."""

    calls: int
    fields: int
    alike: int
    """Calls of which every field is the same."""
    explained: Mapping[str, frozenset[str]]
    """Calls by the reason why one of their fields differs."""
    unexplained: tuple[str, ...]
    needless: tuple[str, ...]
    """Patterns of ``DIFFERENCES`` that no field needs."""


DIFFERENCES: Final = (
    Difference("add timestamp", ".says", "The message names mem0's product."),
    Difference("search reference_date", ".says", "The message names mem0's product."),
    Difference(
        "add procedural",
        "*",
        "A model writes procedural memories, and mem0 means to remove them. They are refused here.",
    ),
    Difference(
        "add wrong type",
        ".raises",
        "`AsyncMemory` of mem0 raises ValueError, its `Memory` does not.",
    ),
    Difference("all of none", "*", "mem0 returns one memory for `top_k=0`."),
    Difference(
        "search sure", "*", "A score is that of the recall; mem0's is the cosine, which reaches 1."
    ),
    Difference(
        "search many",
        "*",
        "The threshold is about the score of the recall, and about the cosine in mem0.",
    ),
    Difference(
        "search expired",
        "*",
        "A recall ranks by words, meaning and experience: the other voucher was found more often.",
    ),
    Difference(
        "search explained",
        ".results[[]0[]].score_details.*",
        "There are further details, and mem0's cosine may exceed 1 by a rounding.",
    ),
)


_ID: Final = r"[0-9a-f]{8}-[0-9a-f-]{27}"


class _Vectors:
    """The local embedder, as mem0 calls it."""

    def __init__(self) -> None:
        self._embedder = HashEmbedder(DIMENSION)

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        return [float(each) for each in self._embedder.embed([text])[0]]

    def embed_batch(self, texts: list[str], _action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


@contextmanager
def _environment_restored() -> Generator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


@contextmanager
def theirs(store: str, *, is_async: bool) -> Generator[Any]:
    """Return mem0's own memory in a temporary folder; nothing is sent anywhere."""
    with tempfile.TemporaryDirectory() as folder, _environment_restored():
        os.environ |= {"MEM0_DIR": folder, "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
        mem0: Any = import_module("mem0")  # after the settings that it reads

        place = {"path": f"{folder}/{store}", "embedding_model_dims": DIMENSION}
        place |= {"distance_strategy": "cosine"} if store == "faiss" else {}
        config = {
            "vector_store": {"provider": store, "config": place},
            "history_db_path": f"{folder}/history.db",
        }
        memory = (mem0.AsyncMemory if is_async else mem0.Memory).from_config(config)
        memory.embedding_model = _Vectors()
        yield memory
        memory.close()


@contextmanager
def mine(*, is_async: bool) -> Generator[Any]:
    """Return our memory, in memory."""
    with SyncMemory.open(":memory:", embedder=HashEmbedder(DIMENSION)) as memory:
        yield (ours.AsyncMemory if is_async else ours.Memory)(memory=memory)


def outcomes(opened: AbstractContextManager[Any]) -> dict[str, dict[str, Any]]:
    """Run the script, and return the fields of each result by their paths."""
    ids: dict[str, str] = {}
    added: dict[Id, str] = {}
    found: dict[str, dict[str, Any]] = {}
    with opened as memory, asyncio.Runner() as runner:
        for each in CALLS:
            args = [_with_id(value, added) for value in each.args]
            options = {name: _with_id(value, added) for name, value in each.options.items()}
            result: Any
            try:
                result = getattr(memory, each.method)(*args, **options)
                if inspect.isawaitable(result):
                    result = runner.run(_awaited(result))
            except Exception as error:  # noqa: BLE001 - any error is compared
                result = {"raises": type(error).__name__, "says": str(error)}
            if each.method == "add" and "results" in result:
                for place, row in enumerate(result["results"]):
                    added[Id(each.name, place)] = row["id"]
                    ids[row["id"]] = f"id {len(ids)}"
            found[each.name] = dict(_fields("", result, ids))
    return found


def _with_id(value: Any, added: Mapping[Id, str]) -> Any:
    return added.get(value, value) if isinstance(value, Id) else value


async def _awaited(result: Any) -> Any:
    return await result


def _fields(path: str, value: Any, ids: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield each field below a value; the order of keys is one too."""
    if isinstance(value, Mapping) and value:
        yield f"{path}.keys", sorted(value)
        for key, each in value.items():
            yield from _fields(f"{path}.{key}", each, ids)
    elif isinstance(value, list) and value:
        yield f"{path}.count", len(value)
        for place, each in enumerate(value):
            yield from _fields(f"{path}[{place}]", each, ids)
    else:
        yield path, _form(path, value, ids)


def _form(path: str, value: Any, ids: Mapping[str, str]) -> Any:
    """Return what is compared of a value."""
    if isinstance(value, str):
        value = re.sub(_ID, lambda found: ids.get(found[0], found[0]), value)
    name = path.rpartition(".")[2]
    if name == "id" and not str(value).startswith("id "):
        return "an id of an event"
    is_now = isinstance(value, str) and re.match(r"2\d{3}-\d\d-\d\dT", value) is not None
    if name in {"created_at", "updated_at"} and is_now and not str(value).startswith("2020"):
        return f"a time with {len(str(value).partition('+')[0])} characters"
    if isinstance(value, float) and ("score" in name or "details" in path):
        return "from 0 to 1" if 0 <= value <= 1 else value
    return value


def compared(*, is_async: bool) -> Comparison:
    """Run the script against both, and compare."""
    logging.disable()
    try:
        here = outcomes(mine(is_async=is_async))
        there = outcomes(theirs("faiss", is_async=is_async))
        found = outcomes(theirs("qdrant", is_async=is_async))
        there |= {name: found[name] for name in found if name.startswith(OPERATORS)}
    finally:
        logging.disable(logging.NOTSET)
    explained: dict[str, set[str]] = {}
    unexplained: list[str] = []
    used: set[Difference] = set()
    differing: set[str] = set()
    count = 0
    for name, fields in there.items():
        paths = [*fields, *(path for path in here[name] if path not in fields)]
        count += len(paths)
        for path in paths:
            values = fields.get(path, ABSENT), here[name].get(path, ABSENT)
            if values[0] == values[1] and type(values[0]) is type(values[1]):
                continue
            differing.add(name)
            reasons = [
                each
                for each in DIFFERENCES
                if fnmatchcase(name, each.calls) and fnmatchcase(path, each.fields)
            ]
            used |= set(reasons)
            for each in reasons:
                explained.setdefault(each.why, set()).add(name)
            if not reasons:
                unexplained.append(f"{name}: {path}: theirs {values[0]!r}, ours {values[1]!r}")
    return Comparison(
        calls=len(there),
        fields=count,
        alike=len(there) - len(differing),
        explained={why: frozenset(names) for why, names in explained.items()},
        unexplained=tuple(unexplained),
        needless=tuple(f"{each.calls} {each.fields}" for each in DIFFERENCES if each not in used),
    )


def main() -> int:
    """Print the comparison, and return the number of fields that are not explained."""
    found = {name: compared(is_async=name == "AsyncMemory") for name in ("Memory", "AsyncMemory")}
    wrong = []
    for name, each in found.items():
        print(f"mem0 {name}: {each.alike} of {each.calls} calls ({each.fields} fields)")  # noqa: T201
        for why, calls in each.explained.items():
            print(f"  {', '.join(sorted(calls))}: {why}")  # noqa: T201
        wrong += [f"NOT EXPLAINED {line}" for line in each.unexplained]
    needless = set.intersection(*(set(each.needless) for each in found.values()))
    wrong += [f"{each} is explained, and does not differ" for each in sorted(needless)]
    for line in wrong:
        print(f"  {line}")  # noqa: T201
    return len(wrong)


if __name__ == "__main__":
    sys.exit(int(main() > 0))
