"""Where exports lie on their way through a server, and how many may be on it at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import define

from mnemic.adapters.exchange import files
from mnemic.adapters.exchange.asides import aside
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.failures import Overloaded
from mnemic.kernel.errors import MnemicError


@define
class Room:
    """How many transfers are under way, of as many as may be."""

    most: int
    taken: int = 0

    def take(self) -> None:
        """Take a place.

        Raises:
            Overloaded: There is none.
        """
        if self.taken >= self.most:
            raise Overloaded(
                f"{self.taken} exports and imports are under way, which is as many as may be",
                under_way=self.taken,
            )
        self.taken += 1

    def leave(self) -> None:
        """Give the place back. Once."""
        self.taken -= 1


class Folder:
    """A new folder that nobody else can look into.

    What a killed server leaves in one is cleared away when the next is made beside it.

    Args:
        place: Where it stands; None: in the system's folder for temporary files.
        what: What it is for.

    Raises:
        StoreFull, StoreFailed: There is no place for it.
    """

    def __init__(self, place: str | None, what: str) -> None:
        self._leaving = ExitStack()
        parent = Path(place or tempfile.gettempdir())
        with files.named(Path(place or "the folder for temporary files")):
            self.name = str(self._leaving.enter_context(aside(parent / f"mnemic-{what}")))

    def cleanup(self) -> None:
        """Remove it. As often as one likes."""
        self._leaving.close()


def folder_for(desk: Desk, what: str) -> Folder:
    """Return a new folder for a transfer.

    Raises:
        StoreFull, StoreFailed: There is no place for it.
    """
    return Folder(desk.settings.spool, what)


@contextmanager
def unplaced(folder: Path) -> Generator[None]:
    """Say nothing of where temporary files lie, in the errors of a ``with`` block."""
    try:
        yield
    except MnemicError as error:
        error.message = error.message.replace(f"{folder}{os.sep}", "")
        if "path" in error.facts:
            error.facts = {**error.facts, "path": Path(str(error.facts["path"])).name}
        raise
