"""Log of an encrypted space that is open to read only.

The erasures that the log does not record are determined once, when it is opened, and shown as
events behind its end, for as long as the log ends there. When another process appends to the log,
it is shown as it is; a reader of the shown events then finds another history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from attrs import evolve, field, frozen

from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.encrypted.log import EncryptedLog
from mnemic.adapters.stores.encrypted.unrecorded import events_behind
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import replaced
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Head, Log, LogCapabilities, PayloadRow, Record


@frozen
class _Shown:
    """The events shown behind the end of a log; without any, the log itself."""

    end: Head
    """Where the log ends."""
    records: tuple[Record, ...]
    heads: tuple[Head, ...] = field(init=False)
    """Where it ends with each of them."""

    def __attrs_post_init__(self) -> None:
        heads = [self.end]
        for record in self.records:
            heads.append(Head(record.version, chain.digest(heads[-1].digest, *record)))
        object.__setattr__(self, "heads", tuple(heads[1:]))

    def holds(self, known: Head | int | None) -> bool:
        """Return whether *known* is in the log, as far as its version tells, or one of these."""
        is_behind = isinstance(known, Head) and known.version > self.end.version
        return not is_behind or known in self.heads


class ReadOnlyLog(EncryptedLog):
    """One space of an encrypted store, with the erasure events that its log lacks.

    Args:
        inner: The log, as the inner store holds it.
        keys: The table of keys.
    """

    def __init__(self, inner: Log, keys: KeyTable) -> None:
        super().__init__(inner, keys)
        self._shown: _Shown | None = None
        with suppress(LogCorrupt):  # nothing can be shown behind damage; the next fold reports it
            events = self.unrecorded_erasures()
            if events:
                end = inner.head()
                self._shown = _Shown(end, tuple(events_behind(inner, end, events)))

    def _showing(self) -> _Shown | None:
        """Return the events that are shown now; None: the log has them, or another end."""
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
        """Confirm *head*, or the end of the inner log before the events that it does not have."""
        shown = self._shown
        confirm(shown.end if shown is not None and head in shown.heads else head)


def _version_of(place: Head | int) -> int:
    return place.version if isinstance(place, Head) else place
