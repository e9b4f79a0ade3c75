"""The client: a memory on a server, with the verbs of a memory in the process.

``Memory`` for async hosts and ``SyncMemory`` for the others have the verbs, arguments, results and
errors of ``mnemic.adapters.inprocess``, so that a host moves out with one line::

    async with Memory.open("http://127.0.0.1:8377", space="default", token="mnemic_…") as memory:
        await memory.learn("Ines moved the demo to Thursday.")

What is sent and what an answer means is decided without any I/O (``desk``, ``requests``,
``answers``, ``patience``, ``stream``, ``following``); the two faces of a ``connection`` carry it.
"""

from __future__ import annotations

from mnemic.adapters.client.memory import Memory, View
from mnemic.adapters.client.server import ServerUnreachable
from mnemic.adapters.client.sync import SyncMemory, SyncView

__all__ = ["Memory", "ServerUnreachable", "SyncMemory", "SyncView", "View"]
