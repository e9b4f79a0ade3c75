"""A store whose words are locked: any other store, and a table of keys beside it.

What locks and unlocks them is the log of each space: see ``log``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from mnemic.adapters.encryption import cipher
from mnemic.adapters.encryption.keys import KeyTable
from mnemic.adapters.encryption.log import EncryptedLog
from mnemic.adapters.stores import chain
from mnemic.adapters.stores.drafts import drafts_of
from mnemic.kernel.ports import Log, PayloadRow, Store


class EncryptedStore:
    """Many spaces, locked. Closing it closes both parts.

    Args:
        inner: Where the log is kept, and the locked words.
        keys: What opens them.
    """

    is_encrypted = True
    """Whoever keeps words elsewhere must ask."""

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
        """What sees whether the inner store can be reached.

        Raises:
            AttributeError: It has nothing of the kind.
        """
        probe: Callable[[], None] = self.inner.probe  # type: ignore[attr-defined]
        return probe

    @property
    def unfinished(self) -> Callable[[], tuple[str, ...]]:
        """What names the spaces of the inner store whose making has not ended.

        Raises:
            AttributeError: It has nothing of the kind.
        """
        unfinished: Callable[[], tuple[str, ...]] = self.inner.unfinished  # type: ignore[attr-defined]
        return unfinished

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        return self.inner.spaces()

    def log(self, space: str, *, create: bool = True) -> EncryptedLog:
        """Return the log of *space*; twice the same.

        Raises:
            PointOutOfRange: If the space does not exist and may not be made.
            KeysMissing: The keys are not those of this space.
            NotEncrypted: Its words stand open.
        """
        with self._opening:
            if space not in self._logs:
                log = EncryptedLog(self.inner.log(space, create=create), self.keys)
                log.settle()
                self._logs[space] = log
            return self._logs[space]

    def unlocked(self, row: PayloadRow) -> PayloadRow | None:
        """Return what stands locked in one row of the inner store; None: its key is destroyed.

        Raises:
            LogCorrupt: It is not what was written.
            KeysMissing: Its keys stand elsewhere.
        """
        if not cipher.is_locked(row.key):
            return row  # of an open store; or else no MAC will vouch for it
        try:
            keys = self.keys.find(cipher.names(row))
            return None if keys is None else cipher.unlocked(row, cipher.opened_by(keys))
        except cipher.Damaged as error:
            raise chain.damage(row.version, reason=str(error)) from error

    @contextmanager
    def draft(self, space: str) -> Generator[Log]:
        """Give the log of a space that nobody sees before the ``with`` block has ended well.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Somebody else has begun to make it since.
        """
        with drafts_of(self.inner)(space) as inner:
            yield EncryptedLog(inner, self.keys)

    def close(self) -> None:
        """Close the store and the table of keys. Closing twice is fine."""
        try:
            self.inner.close()
        finally:
            self.keys.close()
