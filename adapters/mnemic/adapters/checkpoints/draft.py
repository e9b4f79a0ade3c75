"""Writing one checkpoint: what the newest one lacks, or everything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen
from numpy.typing import NDArray

from mnemic.adapters.checkpoints import array_file, layout
from mnemic.adapters.checkpoints.array_file import Contents, Torn
from mnemic.adapters.checkpoints.file_locks import MAPS, opened_to_write
from mnemic.adapters.checkpoints.files import Folder
from mnemic.adapters.checkpoints.inspection import misfit, vault_of
from mnemic.adapters.checkpoints.layout import FormatUnknown, Manifest, Origin
from mnemic.kernel.ports import Log
from mnemic.kernel.values import Value

Arrays = Mapping[str, NDArray[Any]]


@frozen
class Draft(Value):
    """A checkpoint that is about to be written.

    The array file of the newest checkpoint is extended, if it is one of this log, no other process
    is extending it, and no text was erased since: it may hold that. Otherwise another file begins.
    An encrypted file is always written as a whole, and so is each on a system where none is mapped.
    """

    log: Log
    folder: Folder
    origin: Origin
    erased: int = field(kw_only=True)
    """The version at which text was last erased; -1: never."""
    mode: int = field(kw_only=True)
    """Who may read and write the files."""

    def written(self, arrays: Arrays, check: Callable[[], None]) -> Path:
        """Write it, and return its file.

        Args:
            arrays: Result of ``array_file.plain``.
            check: Called between writes; raises ``Abandoned`` where it is obsolete.

        Raises:
            OSError: It cannot be written.
            Abandoned: It was obsolete before it was finished.
        """
        if vault_of(self.log) is not None or not MAPS:
            return self._written_whole(arrays, check)
        with self.folder.newest() as newest:
            before = None if newest is None else self._extendable(newest)
            found = None if before is None else self._extended(before, arrays, check)
            if found is not None:
                return found
            with self.folder.new_array_file(mode=self.mode) as (place, descriptor):
                contents = array_file.begun(descriptor, arrays, check=check)
                return self._named(place, descriptor, contents)

    def _extendable(self, newest: Path) -> Manifest | None:
        try:
            manifest = layout.described(newest)
        except (Torn, FormatUnknown, OSError):
            return None
        if manifest.origin.version > self.origin.version:
            return None
        found = misfit(newest, manifest, self.log, erased=self.erased)
        return manifest if found is None else None

    def _extended(self, before: Manifest, arrays: Arrays, check: Callable[[], None]) -> Path | None:
        place = self.folder.path / before.arrays
        with opened_to_write(place) as descriptor:
            if descriptor is None:
                return None
            contents = array_file.extended(descriptor, before.contents, arrays, check=check)
            if contents is None:
                return None
            return self._named(place, descriptor, contents)

    def _written_whole(self, arrays: Arrays, check: Callable[[], None]) -> Path:
        contents, pieces = array_file.sequential(arrays)

        def checked() -> Iterator[memoryview | bytes]:
            for piece in self._encrypted(pieces):
                check()
                yield piece

        with self.folder.new_array_file(mode=self.mode) as (place, descriptor):
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.writelines(checked())
            os.fsync(descriptor)
            return self._named(place, descriptor, contents)

    def _named(self, place: Path, descriptor: int, contents: Contents) -> Path:
        """Write the manifest, unless the array file has been removed.

        Raises:
            OSError: It cannot be written.
            Abandoned: The array file has been removed.
        """
        manifest = Manifest(origin=self.origin, arrays=place.name, contents=contents)
        stored = self._encrypted(layout.pieces(manifest))
        return self.folder.write_for(
            (place, descriptor), self.origin.version, stored, mode=self.mode
        )

    def _encrypted(self, pieces: Iterator[memoryview | bytes]) -> Iterator[memoryview | bytes]:
        vault = vault_of(self.log)
        return pieces if vault is None else vault.locked(pieces)
