"""The MCP server ``server-memory``, as a drop-in: its nine tools and its resource on a memory.

`mnemic mcp --as server-memory` serves it. Needs the extra ``mcp``.
"""

from __future__ import annotations

from mnemic.adapters.integrations.server_memory.graph import KnowledgeGraph
from mnemic.adapters.integrations.server_memory.server import server

__all__ = ["KnowledgeGraph", "server"]
