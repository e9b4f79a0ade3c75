"""Where exports lie on their way through a server, and how many may be on it at once."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import define

from mnemic.adapters.exchange import files
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


def folder_for(desk: Desk, what: str) -> TemporaryDirectory[str]:
    """Return a new folder that nobody else can look into.

    Raises:
        StoreFull, StoreFailed: There is no place for it.
    """
    place = desk.settings.spool
    with files.named(Path(place or "the folder for temporary files")):
        return TemporaryDirectory(prefix=f"mnemic-{what}-", dir=place)


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
