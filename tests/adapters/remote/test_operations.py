"""The registry of operations covers every method of a memory."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory, SyncView
from mnemic.adapters.remote.operations import operations

DUMPS = {"to_csv", "to_jsonl", "to_markdown"}
"""They read page by page, with ``blocks``."""
HOST_ONLY = {"as_of", "close", "dream", "open", "session_handle", "session", *DUMPS}
"""Operations that only exist within the process of the memory, and an alias of one."""
RECENT_IDS = {"last_learned_block_id", "last_recall_block_ids", "session_block_ids"}
POINT = {"hour", "version"}


def public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_every_method_is_declared_as_an_operation_or_for_hosts_alone() -> None:
    assert {*operations()} | HOST_ONLY == public(SyncMemory) - RECENT_IDS
    assert {*operations()} & HOST_ONLY == set()


def test_every_method_of_a_view_belongs_to_an_operation() -> None:
    asked = {
        name for name, operation in operations().items() if operation.past_parameters is not None
    }
    assert asked == public(SyncView) - POINT - DUMPS
