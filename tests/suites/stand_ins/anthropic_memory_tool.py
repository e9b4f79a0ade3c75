"""Pytest plugin: Anthropic's tests of its memory tool on a file system get ours.

They look into a folder to see what the tool wrote, so each tool copies its files there.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from anthropic.lib.tools import (
    _beta_builtin_memory_tool as builtin,  # pyright: ignore[reportPrivateUsage] - to replace it
)

from mnemic.adapters.integrations.anthropic import AsyncMnemicMemoryTool, MnemicMemoryTool
from mnemic.adapters.integrations.anthropic.files import MemoryFiles
from mnemic.adapters.integrations.records import open_memory


class _Copied:
    """The part of both tools that copies the files to a folder after each command."""

    files: MemoryFiles

    def _begin(self, base_path: str) -> None:
        self.base_path = Path(base_path)
        self.memory_root = self.base_path / "memories"
        self.memory_root.mkdir(parents=True)

    def _copy(self) -> None:
        shutil.rmtree(self.memory_root)
        self.memory_root.mkdir()
        for record in self.files.all():
            path = self.memory_root.joinpath(*record.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(record.value.encode())


class SyncTool(MnemicMemoryTool, _Copied):
    def __init__(self, base_path: str) -> None:
        super().__init__(open_memory(":memory:", space="memories"))
        self._begin(base_path)


class AsyncTool(AsyncMnemicMemoryTool, _Copied):
    def __init__(self, base_path: str) -> None:
        super().__init__(open_memory(":memory:", space="memories"))
        self._begin(base_path)


def _copying(tool: type, name: str) -> None:
    plain = getattr(tool, name)

    def call(self: Any, command: Any) -> str:
        answer: str = plain(self, command)
        self._copy()
        return answer

    async def call_async(self: Any, command: Any) -> str:
        answer: str = await plain(self, command)
        self._copy()
        return answer

    setattr(tool, name, call if tool is SyncTool else call_async)


for _tool in (SyncTool, AsyncTool):
    for _name in ("create", "str_replace", "insert", "delete", "rename"):
        _copying(_tool, _name)
builtin.BetaLocalFilesystemMemoryTool = SyncTool  # type: ignore[misc,assignment]
builtin.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[misc,assignment]
