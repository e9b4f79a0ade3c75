"""Encrypted store: a wrapper around any other store, and a table of keys.

The log of each space encrypts and decrypts its text: see ``log``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.encrypted.log import EncryptedLog
from mnemic.adapters.stores.encrypted.read_only import ReadOnlyLog
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.staged_spaces import has_space, staged_spaces_of
from mnemic.adapters.transfer.copies.copying import CopyContext
from mnemic.kernel.ports import Log, PayloadRow, Store


class EncryptedStore:
    """An encrypted store of many spaces. Closing it closes both parts.

    Args:
        inner: Holds the logs and the encrypted text.
        keys: The table of keys.
    """

    is_encrypted = True
    """Components that would write text to other files check this."""

    def __init__(self, inner: Store, keys: KeyTable) -> None:
        self.inner = inner
        self.keys = keys
        self._logs: dict[str, EncryptedLog] = {}
        self._opening = Lock()

    @property
    def path(self) -> Path:
        """The file of the inner store.

        Raises:
            AttributeError: It has none.
        """
        path: Path = self.inner.path  # type: ignore[attr-defined]
        return path

    @property
    def probe(self) -> Callable[[], None]:
        """The check of the inner store that it can be reached.

        Raises:
            AttributeError: It has none.
        """
        probe: Callable[[], None] = self.inner.probe  # type: ignore[attr-defined]
        return probe

    @property
    def unfinished(self) -> Callable[[], tuple[str, ...]]:
        """The list, by the inner store, of spaces whose creation has not finished.

        Raises:
            AttributeError: It has none.
        """
        unfinished: Callable[[], tuple[str, ...]] = self.inner.unfinished  # type: ignore[attr-defined]
        return unfinished

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        return self.inner.spaces()

    def has(self, space: str) -> bool:
        """Return whether *space* is among ``spaces()``."""
        return has_space(self.inner, space)

    def log(self, space: str, *, create: bool = True) -> EncryptedLog:
        """Return the log of *space*, the same object on every call.

        Raises:
            SpaceNotFound: The space does not exist, and *create* is false.
            KeysMissing: The table does not have the keys of this space.
            NotEncrypted: The text of the space is not encrypted.
        """
        with self._opening:
            if space not in self._logs:
                log = EncryptedLog(self.inner.log(space, create=create), self.keys)
                log.settle()
                self._logs[space] = log
            return self._logs[space]

    def accounted(self, space: str, copy_context: CopyContext, *, read_only: bool) -> EncryptedLog:
        """Return the log of *space* with an event for every erasure in the table of keys.

        Args:
            space: The name of the space, which is created if it does not exist, unless *read_only*.
            copy_context: Actor and clock of events that the log lacks.
            read_only: Whether these are only shown by the returned log, and nothing is written.

        Raises:
            SpaceNotFound, KeysMissing, NotEncrypted: See ``log``.
            StoreFull, StoreBusy, StoreFailed: The events cannot be written.
        """
        if read_only:
            return ReadOnlyLog(self.log(space, create=False).inner, self.keys)
        log = self.log(space)
        log.copy_context = copy_context
        log.record_erasures()
        return log

    def unlocked(self, row: PayloadRow) -> PayloadRow | None:
        """Return one row of the inner store decrypted; None: its key is destroyed.

        Raises:
            LogCorrupt: The row is not what was written.
            KeysMissing: The table does not have its keys.
        """
        if not cipher.is_encrypted(row.key):
            return row  # not encrypted; if it was replaced, its MAC will not match
        try:
            keys = self.keys.find(cipher.names(row))
            return None if keys is None else cipher.decrypted(row, cipher.cipher_of(keys))
        except cipher.Damaged as error:
            raise chain.damage(row.version, reason=str(error)) from error

    @contextmanager
    def draft(self, space: str) -> Generator[Log]:
        """Open the log of a space that stays hidden until the ``with`` block has succeeded.

        Raises:
            SpaceExists: The space has events, or was created meanwhile.
            VersionConflict: Another process has begun to create it since.
        """
        with staged_spaces_of(self.inner)(space) as inner:
            yield EncryptedLog(inner, self.keys)

    def close(self) -> None:
        """Close the store and the table of keys. A second call does nothing."""
        try:
            self.inner.close()
        finally:
            self.keys.close()
