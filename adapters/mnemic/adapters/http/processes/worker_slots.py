"""Worker slots: the resources of each of several processes that serve one address.

The parent creates all of them before it forks: one public socket that all processes share, a
private socket for each process that only the other processes can reach, and shared counters.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from attrs import frozen

from mnemic.adapters.http.processes.shared_counters import SharedCounters
from mnemic.kernel.errors import StoreFailed

READY = b"+"
"""What a process reports once it serves; any other report is the reason why it could not."""
REPORT_MAX = 4096
"""Bytes that a pipe certainly writes in one piece. Source: POSIX, PIPE_BUF is at least 512."""
PEER_BACKLOG = 128


@frozen(kw_only=True)
class WorkerSlot:
    """The resources of one worker process."""

    number: int
    """From 0; the replacement of a process that has died has the same number."""
    listener: socket.socket
    """The public listening socket; all processes share it."""
    peer_paths: Sequence[str]
    """Paths of the sockets by which processes reach each other; only this user can see them."""
    peer_listener: socket.socket
    """Listens on this process's own path."""
    counters: SharedCounters
    lifeline: int
    """A descriptor at end of file, and thus readable, once the parent has ended."""
    reports: int
    """A descriptor whose other end the parent reads."""

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self.peer_paths)

    def report_ready(self) -> None:
        """Tell the parent that this process serves."""
        self._report(READY)

    def report_failure(self, reason: str) -> None:
        """Tell the parent why this process cannot serve."""
        self._report(reason.encode()[:REPORT_MAX])

    def abandon(self) -> None:
        """Remove the sockets' folder, which the parent would have removed had it not died."""
        shutil.rmtree(Path(self.peer_paths[self.number]).parent, ignore_errors=True)

    def _report(self, words: bytes) -> None:
        with suppress(OSError):  # the parent has ended, which is noticed elsewhere
            os.write(self.reports, words)


@frozen(kw_only=True)
class WorkerSlots:
    """The resources of all worker processes, as the parent has created them."""

    listener: socket.socket
    counters: SharedCounters
    paths: Sequence[str]
    peer_listeners: Sequence[socket.socket]
    lifeline: tuple[int, int]
    """The two ends of a pipe: one that every worker reads, and one that only the parent holds."""

    @property
    def count(self) -> int:
        """How many worker processes there are."""
        return len(self.peer_listeners)

    def worker_slot(self, number: int, reports: int) -> WorkerSlot:
        """Return the slot of a process, in that process, and close there what belongs to others."""
        read_end, write_end = self.lifeline
        os.close(write_end)
        for other, listener in enumerate(self.peer_listeners):
            if other != number:
                listener.close()
        return WorkerSlot(
            number=number,
            listener=self.listener,
            peer_paths=self.paths,
            peer_listener=self.peer_listeners[number],
            counters=self.counters,
            lifeline=read_end,
            reports=reports,
        )

    def close_listeners(self) -> None:
        """Close the listening sockets in this process. May be called repeatedly."""
        for each in (self.listener, *self.peer_listeners):
            each.close()


@contextmanager
def worker_slots(listener: socket.socket, count: int) -> Generator[WorkerSlots]:
    """Create the slots of *count* processes around a socket, for a ``with`` block of the parent.

    Raises:
        StoreFailed: There is no place for their private sockets.
    """
    listener.settimeout(0)  # never waits
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        paths = [str(folder / str(number)) for number in range(count)]
        listeners = [stack.enter_context(_listen_privately(path)) for path in paths]
        lifeline = os.pipe()
        for descriptor in lifeline:
            stack.callback(os.close, descriptor)
        yield WorkerSlots(
            listener=listener,
            counters=SharedCounters(count),
            paths=paths,
            peer_listeners=listeners,
            lifeline=lifeline,
        )


@contextmanager
def _folder() -> Generator[Path]:
    """Create a temporary folder that only this user can read, for a ``with`` block."""
    try:
        made = Path(tempfile.mkdtemp(prefix="mnemic-"))
    except OSError as error:
        raise StoreFailed(
            f"cannot make a folder for temporary files: {error}",
            recovery="Name one that can be written, in the environment variable TMPDIR.",
        ) from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _listen_privately(path: str) -> socket.socket:
    """Return a socket that listens where only this user can connect."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        listener.listen(PEER_BACKLOG)
    except OSError as error:
        listener.close()
        raise StoreFailed(
            f"cannot listen at {path}: {error}",
            recovery="Name a folder with a short path in the environment variable TMPDIR.",
            path=path,
        ) from error
    listener.settimeout(0)  # never waits
    return listener


Work = Callable[[WorkerSlot], None]
"""What a process does in its slot, until it is asked to stop."""
