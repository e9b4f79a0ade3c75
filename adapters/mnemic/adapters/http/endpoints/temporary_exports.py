"""Temporary files of transfers, and the limit on concurrent transfers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import define, field

from mnemic.adapters.files import atomic_files
from mnemic.adapters.files.temporary_folders import aside
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.remote.shares import Client, Shares
from mnemic.adapters.remote.transport_errors import Overloaded
from mnemic.kernel.errors import MnemicError


@define
class ExportRoom:
    """Counts the transfers in progress, up to a limit."""

    most: int
    taken: int = 0
    _shares: Shares = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Give each client a share."""
        self._shares = Shares(total=self.most, what="exports and imports")

    def take(self, client: Client | None = None) -> None:
        """Count one more transfer.

        Args:
            client: Whose share it uses; None: it is not limited.

        Raises:
            Overloaded: The limit is reached.
            ShareExceeded: The client has as many as it may.
        """
        if self.taken >= self.most:
            raise Overloaded(
                f"{self.taken} exports and imports are in progress, which is the limit",
                under_way=self.taken,
            )
        self._shares.take(client)
        self.taken += 1

    def leave(self, client: Client | None = None) -> None:
        """Count one transfer less. Call once for each ``take``, with the same client."""
        self._shares.leave(client)
        self.taken -= 1


class Folder:
    """A new folder that only this user can read.

    Folders that a killed server left behind are removed when the next one is created in the same
    place.

    Args:
        place: Parent folder; None: the system's folder for temporary files.
        what: Purpose, which becomes part of its name.

    Raises:
        StoreFull, StoreFailed: It cannot be created.
    """

    def __init__(self, place: str | None, what: str) -> None:
        self._leaving = ExitStack()
        parent = Path(place or tempfile.gettempdir())
        with atomic_files.named(Path(place or "the folder for temporary files")):
            self.name = str(self._leaving.enter_context(aside(parent / f"mnemic-{what}")))

    def cleanup(self) -> None:
        """Remove the folder. May be called repeatedly."""
        self._leaving.close()


def folder_for(dispatcher: Dispatcher, what: str) -> Folder:
    """Return a new folder for a transfer.

    Raises:
        StoreFull, StoreFailed: It cannot be created.
    """
    return Folder(dispatcher.settings.temporary_exports, what)


@contextmanager
def unplaced(folder: Path) -> Generator[None]:
    """Remove the path of temporary files from the errors of a ``with`` block."""
    try:
        yield
    except MnemicError as error:
        error.message = error.message.replace(f"{folder}{os.sep}", "")
        if "path" in error.facts:
            error.facts = {**error.facts, "path": Path(str(error.facts["path"])).name}
        raise
