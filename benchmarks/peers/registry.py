"""The memories of the comparison, in the order of the table."""

from __future__ import annotations

import importlib

from peers.port import Peer

ENTRIES = {
    "mnemic": "ours:Mnemic",
    "unrecorded": "ours:Unrecorded",
    "fts5": "fts5:FullText",
    "elfmem": "elfmem:Elfmem",
    "mem0": "mem0:Mem0",
    "langgraph": "langgraph:LangGraph",
    "chroma": "chroma:Chroma",
    "txtai": "txtai:Txtai",
    "server-memory": "server_memory:ServerMemory",
    "by-words": "server_memory:WordByWord",
}
"""Module and class by name. A child imports only its own, as the others may not be installed."""


def entry(name: str) -> type[Peer]:
    """Return the class of the memory called *name*."""
    home, wanted = ENTRIES[name].split(":")
    found: type[Peer] = getattr(importlib.import_module(f"peers.{home}"), wanted)
    return found
