"""Type checkers see each operation with its parameters on every facade.

The assertions are made by mypy and basedpyright, which check this file with all others. An ignored
error says that a wrong call is noticed: an unused one is an error of its own.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import assert_type

from mnemic.adapters import client, inprocess
from mnemic.adapters.inprocess import facade
from mnemic.adapters.inprocess.registry import declarations
from mnemic.kernel.results import (
    Block,
    Edge,
    LearnResult,
    RecallResult,
    ResultList,
    RezoneResult,
)

OWN = {"export", "guide", "import_space", "policy", "reembed"}
"""Operations whose parameters differ between facades; each facade defines them itself."""


async def operations_are_typed(
    here: inprocess.Memory,
    sync: inprocess.SyncMemory,
    there: client.Memory,
    sync_there: client.SyncMemory,
) -> None:
    """Assert the types of some operations, without running any."""
    for memory in (here, there):
        assert_type(await memory.rezone("1f", "vetted", reason=None), RezoneResult)
        assert_type(await memory.learn("text", tags=["tools"]), LearnResult)
        assert_type(await memory.edges("1f"), ResultList[Edge])
        await memory.rezone("1f")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await memory.learn(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        view = await memory.as_of(version=3)
        assert_type(await view.block("1f"), Block)
        assert_type(await view.recall("gate", top_k=3), RecallResult)
        await view.recall("gate", record=False)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(await inprocess.Memory.edges(here, "1f"), ResultList[Edge])
    assert_type(client.SyncMemory.edges(sync_there, "1f"), ResultList[Edge])
    for plain in (sync, sync_there):
        assert_type(plain.rezone("1f", "vetted", reason=None), RezoneResult)
        assert_type(plain.learn("text", tags=["tools"]), LearnResult)
        plain.rezone("1f")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        plain.learn(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert_type(plain.as_of(version=3).block("1f"), Block)
        assert_type(plain.as_of(version=3).recall("gate", top_k=3), RecallResult)


def tables() -> dict[str, set[str]]:
    """Return the names in each table for type checkers, which exist in the source alone."""
    source = Path(facade.__file__).read_text(encoding="utf-8")
    return {
        each.name: {
            target.id
            for part in ast.walk(each)
            if isinstance(part, ast.Assign)
            for target in part.targets
            if isinstance(target, ast.Name)
        }
        for each in ast.parse(source).body
        if isinstance(each, ast.ClassDef) and each.name.endswith("Table")
    }


def test_the_tables_for_type_checkers_name_the_operations_of_the_registry() -> None:
    """After declaring an operation, add its line to ``inprocess/facade.py``."""
    found = tables()
    declared = {*declarations(), "dream"} - OWN
    assert found["_QueryTable"] | found["MemoryTable"] == declared
    assert found["_QueryTable"] | found["ViewTable"] == {
        name for name in declared if hasattr(inprocess.SyncView, name)
    }
