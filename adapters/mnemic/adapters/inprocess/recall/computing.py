"""The lock under which an answer is computed, since threads would only hold each other up.

Python runs one thread at a time. A recall calls numpy some hundred times; with each call it may
give that right up, and it waits for it while another thread computes. Of eight threads that
recalled at once, each recall took twice the processor time of one alone (ADR 76).
"""

from __future__ import annotations

import os

from mnemic.adapters.inprocess.engine.fifo_lock import FifoLock

_locks = [FifoLock()]


def computing() -> FifoLock:
    """Return the lock of this process, which is granted in the order of requests.

    A thread that holds it waits for nothing else: no disk, no model, no other lock.
    """
    return _locks[0]


def _renew() -> None:
    """Use another lock in a child: a thread that was not copied may hold the one before."""
    _locks[0] = FifoLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
