"""Log of an encrypted space that is open read-only.

The erasures that the log does not record are determined once, when it is opened, and shown as
events after its end, for as long as the log ends there. Once another process has appended to the
log, it is shown as it is; for a reader of the shown events that is another history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from attrs import evolve, field, frozen

from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.encrypted.log import EncryptedLog
from mnemic.adapters.stores.encrypted.unrecorded import records_after
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import replaced
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Head, Log, LogCapabilities, PayloadRow, Record
from mnemic.kernel.values import Value


@frozen
class _Shown(Value):
    """Events shown after the end of a log."""

    end: Head
    """Where the log itself ends."""
    records: tuple[Record, ...]
    heads: tuple[Head, ...] = field(init=False)
    """Where the log ends with each of them."""

    def __attrs_post_init__(self) -> None:
        heads = [self.end]
        for record in self.records:
            heads.append(Head(record.version, chain.digest(heads[-1].digest, *record)))
        object.__setattr__(self, "heads", tuple(heads[1:]))

    def holds(self, known: Head | int | None) -> bool:
        """Return False for a head after the log's end that is not one of ``heads``.

        Heads up to the end are checked by the log itself.

        Args:
            known: A head or a version; None: the end.
        """
        is_after = isinstance(known, Head) and known.version > self.end.version
        return not is_after or known in self.heads


class ReadOnlyLog(EncryptedLog):
    """One space of an encrypted store, with the erasure events that its log lacks.

    Args:
        inner: The log, as the inner store holds it.
        keys: The table of keys.
    """

    def __init__(self, inner: Log, keys: KeyTable) -> None:
        super().__init__(inner, keys)
        self._shown: _Shown | None = None
        with suppress(LogCorrupt):  # nothing can be shown after damage; the next fold reports it
            events = self.unrecorded_erasures()
            if events:
                end = inner.head()
                self._shown = _Shown(end, tuple(records_after(inner, end, events)))

    def _showing(self) -> _Shown | None:
        """Return the events that are shown now; None: there are none, or the log ends elsewhere."""
        shown = self._shown
        return None if shown is None or self.inner.head() != shown.end else shown

    def head(self) -> Head:
        """Return where the log ends now, the shown events included."""
        shown = self._showing()
        return self.inner.head() if shown is None else shown.heads[-1]

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*."""
        shown = self._showing()
        if shown is None or version <= shown.end.version:
            return self.inner.digest_at(version)
        return next((head.digest for head in shown.heads if head.version == version), None)

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield the records of the log, followed by the shown events.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
            KeysMissing: The table of keys is older than a payload.
        """
        shown = self._showing()
        if shown is None:
            yield from super().read(after, upto)
            return
        for known in (after, upto):
            if not shown.holds(known):
                assert isinstance(known, Head)  # noqa: S101 - versions are always held
                raise replaced(known, shown.heads[-1])
        first, last = _version_of(after), _version_of(shown.heads[-1] if upto is None else upto)
        yield from super().read(
            after if first <= shown.end.version else shown.end,
            upto if last <= shown.end.version else shown.end,
        )
        for record in shown.records:
            if first < record.version <= last:
                yield record, ()

    @property
    def capabilities(self) -> LogCapabilities:
        """What the inner log can do beyond the port."""
        found = super().capabilities
        if found.confirm is None:
            return found
        return evolve(found, confirm=partial(self._confirm, found.confirm))

    def _confirm(self, confirm: Callable[[Head], None], head: Head) -> None:
        """Confirm *head*; for a head of shown events, the end of the inner log."""
        shown = self._shown
        confirm(shown.end if shown is not None and head in shown.heads else head)


def _version_of(place: Head | int) -> int:
    return place.version if isinstance(place, Head) else place
