"""Locks on open files, between processes: ``flock``, and on Windows what filelock does.

filelock calls ``flock`` too, but loading it takes 20 ms, a twentieth of a command that writes.
"""

from __future__ import annotations

import sys
from typing import Final

STEP_S: Final = 0.0002
"""Interval of polling a lock that is taken, where it has to be polled: about the time of one
durable append."""

if sys.platform == "win32":

    def take(descriptor: int) -> bool:
        """Lock a file if it is free, and return whether it was.

        Raises:
            OSError: It cannot be locked: a file system has no locks, say.
        """
        from filelock import lock_descriptor

        return lock_descriptor(descriptor, blocking=False)

    def wait(descriptor: int) -> None:
        """Lock a file, however long that takes.

        Raises:
            OSError: As ``take``.
        """
        from filelock import lock_descriptor

        lock_descriptor(descriptor, poll_interval=STEP_S)

    def give_back(descriptor: int) -> None:
        """Unlock a file."""
        from filelock import unlock_descriptor

        unlock_descriptor(descriptor)

else:
    import fcntl
    from errno import EACCES, EAGAIN

    TAKEN: Final = frozenset({EACCES, EAGAIN})
    """What systems say of a lock that is held."""

    def take(descriptor: int) -> bool:
        """Lock a file if it is free, and return whether it was.

        Raises:
            OSError: It cannot be locked: a file system has no locks, say.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in TAKEN:
                return False
            raise
        return True

    def wait(descriptor: int) -> None:
        """Lock a file, however long that takes; the thread sleeps in the system call.

        Raises:
            OSError: As ``take``.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def give_back(descriptor: int) -> None:
        """Unlock a file."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_held(descriptor: int) -> bool:
    """Return whether a file is locked through another descriptor. It is not locked afterwards.

    Raises:
        OSError: As ``take``.
    """
    if not take(descriptor):
        return True
    give_back(descriptor)
    return False
