"""Forks of the process: what was opened before one is used by the parent alone.

A child has copies of locks that no thread of its own will release, descriptors that share their
locks with the parent, and connections whose state is the parent's. So what is open takes part in a
fork: it is put in order before, continues in the parent, and is out of use in the child.

A module that another thread is importing at that moment could never be imported in the child, since
its lock would belong to a thread that the child has not. Operations import much when they are first
called, so a fork waits for the imports that have begun and lets none begin.
"""

from __future__ import annotations

import _imp
import importlib
import os
import threading
import time
from contextlib import suppress
from threading import Lock
from typing import Final, Protocol
from weakref import WeakSet

from mnemic.kernel.errors import StoreFailed


class TakesPartInForks(Protocol):
    """Something open that a fork of the process concerns."""

    def before_fork(self) -> None:
        """Give up what a child must not inherit; another thread may use it at this moment."""
        ...

    def after_fork(self, *, in_child: bool) -> None:
        """Continue in the parent, or go out of use in the child. It must not wait for a lock."""
        ...


class OpeningProcess:
    """The process that opened something, which alone may use it.

    Args:
        name: What was opened, as messages name it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._id = os.getpid()

    @property
    def is_another(self) -> bool:
        """Whether the process was forked since."""
        return self._id != os.getpid()

    def check(self) -> None:
        """Refuse to go on in a child of the process.

        Raises:
            StoreFailed: The process was forked since.
        """
        if self._id != os.getpid():
            raise opened_before_fork(self._name)


def opened_before_fork(name: str) -> StoreFailed:
    """Return the error for the use of what a parent process opened, *name* in messages."""
    return StoreFailed(
        f"{name} was opened before this process was forked, and only the parent may use it",
        recovery="Open it after the fork, in each process for itself.",
    )


_open = WeakSet[TakesPartInForks]()
_changing = Lock()
"""Held while the set above changes, and during a fork."""


def take_part(opened: TakesPartInForks) -> None:
    """Call the two methods of *opened* with every fork, for as long as it is referenced."""
    with _changing:
        _open.add(opened)


def _before() -> None:
    _changing.acquire()
    if _open:
        _hold_imports()
    for each in list(_open):
        with suppress(Exception):  # the fork happens all the same
            each.before_fork()


def _after(*, in_child: bool) -> None:
    for each in list(_open):
        with suppress(Exception):
            each.after_fork(in_child=in_child)
    if _holds_imports:
        _holds_imports.clear()
        _imp.release_lock()
    _changing.release()


# --- imports that are under way -----------------------------------------------------------------

IMPORT_MAX_S: Final = 5.0
"""A fork waits no longer for the imports of other threads."""
_PAUSE_S: Final = 0.001

# CPython has no public name for either lock.
_locks = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
_holds_imports: list[bool] = []


def _hold_imports() -> None:
    """Take the lock without which no import begins, when no other thread is inside of one."""
    end = time.monotonic() + IMPORT_MAX_S
    _imp.acquire_lock()
    while _others_import() and time.monotonic() < end:
        _imp.release_lock()
        time.sleep(_PAUSE_S)
        _imp.acquire_lock()
    _holds_imports.append(True)


def _others_import() -> bool:
    """Return whether another thread holds the lock of a module; the import lock must be held."""
    own = {None, threading.get_ident()}
    locks = [reference() for reference in list(_locks.values())]
    return any(lock is not None and lock.owner not in own for lock in locks)


def _in_parent() -> None:
    _after(in_child=False)


def _in_child() -> None:
    _after(in_child=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
