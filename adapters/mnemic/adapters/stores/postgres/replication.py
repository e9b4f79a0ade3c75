"""Commits whose wait for synchronous replicas was ended before these had answered.

A commit that waits for replicas is on the server's own disk already. When its wait is cancelled,
the server can neither undo it nor vouch for it: it warns, and answers as if all were well. So:

1. Such an answer counts as lost: the statement was carried out, and its outcome has to be found
   out. A session that is terminated while it waits hangs up after the warning, which is the same.
2. What is found afterwards is acknowledged only when ``BARRIER`` has succeeded: a later commit on
   the same server, which waits for the same replicas. They receive commits in order, so they have
   both.
3. The server decides which replicas count, and how far they have to be. Statistics about replicas
   may be hidden from this user, and comparing them would need rules of our own.
"""

from __future__ import annotations

from typing import Protocol

BARRIER = b"""SELECT pg_logical_emit_message(true, 'mnemic', '')
    WHERE current_setting('synchronous_standby_names') <> ''"""
"""Commits something that no reader sees, if commits wait for replicas at all."""
_ROUTINE = "SyncRepWaitForLSN"
"""The server's function that warns. Its messages are in the server's language, its name is not."""
_WORDS = "synchronous replication"
"""Of the message, for a proxy that leaves out the name of the function."""


class Notice(Protocol):
    """The fields of a notice of the server that are looked at."""

    @property
    def source_function(self) -> str | None:
        """The function of the server that sent it."""
        ...

    @property
    def message_primary(self) -> str | None:
        """The message, in the server's language."""
        ...


def is_ended_wait(notice: Notice) -> bool:
    """Return whether *notice* says that a wait for replicas was ended before they had answered."""
    return notice.source_function == _ROUTINE or _WORDS in (notice.message_primary or "")
