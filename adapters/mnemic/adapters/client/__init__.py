"""The HTTP client: a memory on a server, with the operations of an in-process memory.

``Memory`` for async hosts and ``SyncMemory`` for the others have the operations, arguments,
results and errors of ``mnemic.adapters.inprocess``; a host switches to a server with one line::

    async with Memory.open("http://127.0.0.1:8377", space="default", token="mnemic_…") as memory:
        await memory.learn("Ines moved the demo to Thursday.")

Requests and answers are handled without any I/O (``session``, ``requests``, ``answers``,
``retries``, ``sse``, ``subscription``); the two classes of ``connection`` transport them.
"""

from __future__ import annotations

from mnemic.adapters.client.memory import Memory, View
from mnemic.adapters.client.server import ServerUnreachable
from mnemic.adapters.client.sync import SyncMemory, SyncView

__all__ = ["Memory", "ServerUnreachable", "SyncMemory", "SyncView", "View"]
