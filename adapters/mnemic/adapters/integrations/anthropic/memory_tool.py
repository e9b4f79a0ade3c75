"""``MnemicMemoryTool``: the memory tool of Claude (``memory_20250818``) on a memory."""

from __future__ import annotations

from collections.abc import Mapping

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from anyio.to_thread import run_sync

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.anthropic.files import MemoryFiles


class MnemicMemoryTool(BetaAbstractMemoryTool):
    """The memory tool: pass it in ``tools`` to ``client.beta.messages.tool_runner``.

    Args:
        memory: Where the files are.
        scope: The user, agent or run that they belong to.
    """

    def __init__(self, memory: SyncMemory, *, scope: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.files = MemoryFiles(memory, scope=scope)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file with line numbers, or what is in a folder."""
        return self.files.view(command.path, command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return self.files.create(command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace the one occurrence of a text in a file."""
        return self.files.str_replace(command.path, command.old_str, command.new_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return self.files.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return self.files.delete(command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return self.files.rename(command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Delete all files."""
        return self.files.clear()


class AsyncMnemicMemoryTool(BetaAsyncAbstractMemoryTool):
    """``MnemicMemoryTool`` for an event loop; it works on another thread.

    Args:
        memory: Where the files are.
        scope: The user, agent or run that they belong to.
    """

    def __init__(self, memory: SyncMemory, *, scope: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._tool = MnemicMemoryTool(memory, scope=scope)
        self.files = self._tool.files

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Do as ``MnemicMemoryTool.view``."""
        return await run_sync(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Do as ``MnemicMemoryTool.create``."""
        return await run_sync(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Do as ``MnemicMemoryTool.str_replace``."""
        return await run_sync(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Do as ``MnemicMemoryTool.insert``."""
        return await run_sync(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Do as ``MnemicMemoryTool.delete``."""
        return await run_sync(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Do as ``MnemicMemoryTool.rename``."""
        return await run_sync(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        """Do as ``MnemicMemoryTool.clear_all_memory``."""
        return await run_sync(self._tool.clear_all_memory)
