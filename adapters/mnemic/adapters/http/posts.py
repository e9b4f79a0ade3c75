"""Posts: where each of several processes stands that serve one address, and what it has there.

All of it is made by their parent before they are forked: one socket that listens to the world,
for each process a private one that only the others can reach, and a few numbers that all can see.
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

from mnemic.adapters.http.board import Board
from mnemic.kernel.errors import StoreFailed

READY = b"+"
"""What a process reports once it serves; anything else is why it could not."""
REPORT_MAX = 4096
"""Bytes that certainly go into a pipe in one piece. Source: POSIX, PIPE_BUF is 512 at least."""
ROOM_BACKLOG = 128


@frozen(kw_only=True)
class Post:
    """Where one process stands."""

    number: int
    """From 0; whoever takes over from a process that has died has the same."""
    listener: socket.socket
    """Listens to the world; all processes share it."""
    rooms: Sequence[str]
    """Where each process can be asked by the others: paths of sockets that only this user sees."""
    room: socket.socket
    """Listens at the own one of these."""
    board: Board
    lifeline: int
    """A descriptor that can be read, and has nothing to read, once the parent has gone."""
    reports: int
    """A descriptor at whose other end the parent listens."""

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self.rooms)

    def say_ready(self) -> None:
        """Tell the parent that this process serves."""
        self._report(READY)

    def say_why(self, reason: str) -> None:
        """Tell the parent why this process cannot serve."""
        self._report(reason.encode()[:REPORT_MAX])

    def abandon(self) -> None:
        """Clear away what the parent would have cleared away, which has gone."""
        shutil.rmtree(Path(self.rooms[self.number]).parent, ignore_errors=True)

    def _report(self, words: bytes) -> None:
        with suppress(OSError):  # the parent has gone, which is noticed elsewhere
            os.write(self.reports, words)


@frozen(kw_only=True)
class Site:
    """What a parent has made for all its processes."""

    listener: socket.socket
    board: Board
    paths: Sequence[str]
    rooms: Sequence[socket.socket]
    lifeline: tuple[int, int]
    """Two ends of a pipe: what all read, and what only the parent keeps."""

    @property
    def count(self) -> int:
        """How many processes it is for."""
        return len(self.rooms)

    def post(self, number: int, reports: int) -> Post:
        """Return the post of a process, in that process, and close what is for others there."""
        reading, writing = self.lifeline
        os.close(writing)
        for other, room in enumerate(self.rooms):
            if other != number:
                room.close()
        return Post(
            number=number,
            listener=self.listener,
            rooms=self.paths,
            room=self.rooms[number],
            board=self.board,
            lifeline=reading,
            reports=reports,
        )

    def close_entrances(self) -> None:
        """Let nobody in any more as far as this process is concerned. As often as one likes."""
        for each in (self.listener, *self.rooms):
            each.close()


@contextmanager
def site(listener: socket.socket, count: int) -> Generator[Site]:
    """Make what so many processes need besides a socket, for a ``with`` block of their parent.

    Raises:
        StoreFailed: There is no place for their private sockets.
    """
    listener.settimeout(0)  # never waits
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        paths = [str(folder / str(number)) for number in range(count)]
        rooms = [stack.enter_context(_room(path)) for path in paths]
        lifeline = os.pipe()
        for descriptor in lifeline:
            stack.callback(os.close, descriptor)
        yield Site(
            listener=listener, board=Board(count), paths=paths, rooms=rooms, lifeline=lifeline
        )


@contextmanager
def _folder() -> Generator[Path]:
    """Make a folder that nobody else can look into, for a ``with`` block."""
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


def _room(path: str) -> socket.socket:
    """Return a socket that listens where only this user can connect."""
    room = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        room.bind(path)
        room.listen(ROOM_BACKLOG)
    except OSError as error:
        room.close()
        raise StoreFailed(
            f"cannot listen at {path}: {error}",
            recovery="Name a folder with a short path in the environment variable TMPDIR.",
            path=path,
        ) from error
    room.settimeout(0)  # never waits
    return room


Work = Callable[[Post], None]
"""What a process does at its post, until it is told to stop."""
