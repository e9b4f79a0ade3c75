"""Lifecycle of checkpoints: writing, loading, sweeping and destruction.

Rules of this module:

1. The log is authoritative. A checkpoint is loaded only if it is whole, of this fold and this log,
   and the log's own digest at its version is the one it names.
2. No operation fails because of a checkpoint, except those about checkpoints. What went wrong is
   reported by ``status()``: the last ``trouble``, and files with erased text while they exist.
3. The arrays are taken from the state under the fold lock of the space; files are written without
   any lock of the space, by one thread at a time. That thread acquires the fold lock before it
   writes a file and after it, never in between, so the holder of the fold lock may wait for it.
4. An erasure destroys every file that could hold the text, finished or not. A process that finishes
   one then checks whether text was erased meanwhile: either it sees the erasure, or the eraser sees
   the file.
5. The disk may take long to destroy files, so that is done after the locks of the space have been
   released: by the thread that folded the erasure, or by another one that comes first to writing,
   listing or closing. No write begins between an erasure and the destruction.
6. Where hosts share a place, the process that wrote the last events publishes: the leader of a
   space does, and its followers fetch. Rule 4 holds for what is published as for files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.adapters.checkpoints import array_file, layout
from mnemic.adapters.checkpoints.array_file import Torn
from mnemic.adapters.checkpoints.directory import CheckpointDirectory
from mnemic.adapters.checkpoints.draft import Draft
from mnemic.adapters.checkpoints.file_locks import is_being_made
from mnemic.adapters.checkpoints.files import (
    KEPT,
    Abandoned,
    Folder,
    destroy,
    remove,
    version_of,
)
from mnemic.adapters.checkpoints.inspection import (
    looked_at,
    misfit,
    payloads_misfit,
    seems_valid,
    vault_of,
)
from mnemic.adapters.checkpoints.layout import FormatUnknown, Origin
from mnemic.adapters.codec import erasures
from mnemic.adapters.codec.vocabulary import vocabulary
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.system.folders import NO_ROOM, own_name
from mnemic.kernel.errors import (
    CheckpointsOff,
    LogCorrupt,
    MnemicError,
    StoreFailed,
    StoreFull,
)
from mnemic.kernel.ports import Head, Log, Store
from mnemic.projections.state.checkpoint import freeze, thaw
from mnemic.projections.state.state import FOLD_VERSION, State

if TYPE_CHECKING:
    from mnemic.adapters.checkpoints.published import PublishedCheckpoints
    from mnemic.kernel.results import Checkpoint

TAIL_MIN = 5_000
"""Below it, replaying is too quick to be worth a file: about 50 ms."""
TAIL_SHARE = 20
"""A checkpoint is due when a log has grown by a twentieth: opening replays at most 5 %."""

PUBLISHED_EVERY, PUBLISHED_EVERY_S = 2_000, 60.0
"""Checkpoints are published for so many events, so that a host that fetches one has few to fold;
but not more often than this, however many events come, or erasures that make them obsolete.
"""

CACHED_S = 86_400.0
"""How long a cache keeps files of spaces that are not opened here any more: text that is erased
elsewhere stays in them."""


class CheckpointWriter:
    """The checkpoints of one open space.

    Args:
        log: Of the space.
        checkpoint_directory: Their folder.
        fold_lock: The fold lock of the space: its holder may change the state.
        state: Returns the current state.
        head: Returns the head of the log that it was folded up to; needed to write one.
        payloads: Returns how many payloads the events folded into it have.
    """

    def __init__(
        self,
        log: Log,
        checkpoint_directory: CheckpointDirectory,
        *,
        fold_lock: AbstractContextManager[object],
        state: Callable[[], State],
        payloads: Callable[[], int],
        head: Callable[[], Head] = lambda: EMPTY,
    ) -> None:
        self._log = log
        self._checkpoint_directory = checkpoint_directory
        self._fold_lock = fold_lock
        self._state = state
        self._head = head
        self._payloads = payloads
        self._found: Folder | None = None
        self._kept = 0
        """Size of the state at the last attempt to write a checkpoint."""
        self._dropped = 0
        """How often files were dropped: writes begun before are obsolete."""
        self._erasures = 0
        """How often text was erased."""
        self._destroyed = 0
        """The number of erasures after which the files with their text were destroyed."""
        self._destroying = threading.Lock()
        self._filing = threading.Lock()
        self._thread: threading.Thread | None = None
        self.restored: int | None = None
        """The version of the checkpoint that the space was opened from."""
        self.restored_payloads = 0
        """How many payloads the events in it had."""
        self.trouble: str | None = None
        """What went wrong last, in a sentence."""
        self._foreign: set[Path] = set()
        """Valid files that cannot be used: an earlier release left their vectors on a server."""
        self._shared: PublishedCheckpoints | None = None
        self._published = -1
        """Version of the newest published checkpoint, or of the last attempt at one."""
        self._publishes_from_s = 0.0
        """No earlier than this, by the monotonic clock, another one is published."""
        self._is_author = False
        """Whether this process wrote the last events."""
        self._is_left = False
        """Whether published checkpoints with erased text could not be removed."""
        self._undead: set[Path] = set()
        """Files that hold erased text and could not be removed."""

    # --- opening ------------------------------------------------------------------------------

    def newest(self) -> tuple[State, bytes] | None:
        """Return the state in the newest checkpoint that fits the log, which may lag behind.

        Returns:
            The state, and the digest of the log at its version.
        """
        folder = self._folder()
        if folder is None or not self._checkpoint_directory.reads:
            return None
        if self._checkpoint_directory.objects is None:
            return self._first_loaded(folder)
        fitting = (version_of(file) for file in folder.files() if seems_valid(file, self._log))
        here = next(fitting, -1)
        self._fetch(folder, least=0 if here < 0 else here + PUBLISHED_EVERY)
        found = self._first_loaded(folder)
        if found is None and here >= 0:  # it is damaged
            self._fetch(folder, least=0)
            found = self._first_loaded(folder)
        return found

    def _first_loaded(self, folder: Folder) -> tuple[State, bytes] | None:
        """Return the state in the newest file that can be loaded, and the digest there."""
        for file in folder.files():
            try:
                loaded = self._loaded(file)
            except (Torn, FormatUnknown, OSError):
                continue
            except (KeyError, ValueError, TypeError, IndexError) as error:
                self._foreign.add(file)
                self.trouble = f"checkpoint {file.name} cannot be taken up here: {error!r}"
            else:
                if loaded is not None:
                    return loaded
        return None

    def _fetch(self, folder: Folder, *, least: int) -> None:
        """Fetch the newest published checkpoint, if its version is at least *least*."""
        try:
            shared = self._place()
            if shared is None:
                return
            file = shared.fetched(folder, least=least, mode=self._checkpoint_directory.mode)
        except Abandoned:
            return
        except (MnemicError, OSError) as error:
            self.trouble = f"no checkpoint could be fetched: {error}"
        else:
            self.trouble = shared.problem
            self._published = -1 if file is None else version_of(file)

    def _loaded(self, file: Path) -> tuple[State, bytes] | None:
        """Return the state in a file, and the digest there; None if it does not fit the log.

        Raises:
            Torn, FormatUnknown, OSError: It cannot be read.
            KeyError, ValueError, TypeError, IndexError: It cannot be used here.
        """
        manifest = layout.described(file, vault_of(self._log))
        if misfit(file, manifest, self._log) is not None:
            return None
        from concurrent.futures import ThreadPoolExecutor

        # Counting takes a tenth of the time of loading, and the store is idle meanwhile.
        with ThreadPoolExecutor(1) as threads:
            counted = threads.submit(payloads_misfit, manifest.origin, self._log)
            state = thaw(layout.loaded(file, manifest, vault_of(self._log)))
        if counted.result() is not None:
            return None
        self._kept, self.restored = _size(state), state.version
        self.restored_payloads = manifest.origin.payloads
        return state, bytes.fromhex(manifest.origin.digest)

    def passed_over(self, error: Exception | None = None) -> None:
        """Record that the log could not be replayed from the newest checkpoint after all.

        Args:
            error: Why, if it should have been possible.
        """
        self._kept, self.restored = 0, None
        if error is not None:
            self.trouble = f"the log could not be folded on from a checkpoint: {error!r}"

    def settle(self) -> None:
        """Remove, once the space is open, files that must not stay or have no owner."""
        folder = self._folder()
        if folder is None or not self._checkpoint_directory.destroys:
            return
        erased = _last_erasure(self._state())
        if erased >= 0:
            self._remove_published(erased)
        self._destroy([file for file in folder.files() if version_of(file) < erased])
        self._destroy(folder.orphans())
        arrays = _finished(folder)
        self._destroy(self._unnamed(arrays, folder.files()))
        if self._checkpoint_directory.is_own:
            self._destroy(_unclaimed(folder, self._checkpoint_directory.store))
        if self._checkpoint_directory.is_cache:
            self._destroy(folder.unused(CACHED_S))

    # --- writing ------------------------------------------------------------------------------

    def consider(self, *, is_author: bool) -> None:
        """Write a checkpoint in the background if one is due. Costs nothing if none is.

        Args:
            is_author: Whether this process wrote the events folded last.
        """
        self._is_author = is_author
        if self._is_due() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._try, name="mnemic-checkpoint")
            self._thread.start()

    def close(self) -> None:
        """Wait for the write in progress, and write once more if that is due."""
        with suppress(MnemicError):  # the next opening destroys what stays
            self.destroy()
        if self._thread is not None:
            self._thread.join()
        if self._is_due():
            self._try()

    def write(self) -> Path | None:
        """Write a checkpoint of the current state, unless a usable one exists.

        Returns:
            The file; None if it was removed at once, because text was erased meanwhile.

        Raises:
            CheckpointsOff: There is no place for one.
            StoreFull, StoreFailed: It cannot be written.
            LogCorrupt: The log does not say where it ends.
        """
        folder = self._needed()
        self.destroy()
        with self._fold_lock:
            place = folder.place(self._state().version)
            is_there = place not in self._foreign and self.look(place).state == "valid"
        try:
            file = place if is_there else self._write(folder)
            self._publish(file, least=1)
        except Abandoned:
            return None
        except OSError as error:
            kind = StoreFull if error.errno in NO_ROOM else StoreFailed
            raise kind(f"{place} cannot be written: {error}", path=str(place)) from error
        self.trouble = None
        return file if file.exists() else None

    def _is_due(self) -> bool:
        if not self._checkpoint_directory.writes:
            return False
        size = _size(self._state())
        is_behind = size - self._kept >= max(TAIL_MIN, size // TAIL_SHARE)
        return is_behind or self._is_publishing_due()

    def _is_publishing_due(self) -> bool:
        """Return whether this process should publish a checkpoint."""
        if not self._is_author or self._checkpoint_directory.objects is None:
            return False
        is_behind = self._state().version - self._published >= PUBLISHED_EVERY
        return is_behind and time.monotonic() >= self._publishes_from_s

    def _try(self) -> None:
        done = "written"
        try:
            folder = self._folder()
            if folder is not None:
                file = self._write(folder)
                self.trouble, done = None, "published"
                if self._is_publishing_due():
                    self._publish(file, least=PUBLISHED_EVERY)
        except Abandoned:
            pass
        except Exception as error:  # noqa: BLE001 - a checkpoint is never worth more than the work
            self.trouble = f"no checkpoint could be {done}: {error}"

    def _write(self, folder: Folder) -> Path:
        """Write a checkpoint of the state as it is now.

        Raises:
            OSError: It cannot be written.
            Abandoned: It was dropped before it was finished.
            LogCorrupt: The log does not say where it ends.
        """
        with self._fold_lock:
            state, wanted = self._state(), self._dropped
            erased = _last_erasure(state)
            self._kept = _size(state)  # also if it fails: the next try is for the next twentieth
            origin, parts = self._origin(state), freeze(state)

        def check() -> None:
            if self._dropped != wanted:
                raise Abandoned

        self.destroy()  # first, since it would remove this one, too
        with self._filing:
            checkpoint = Draft(
                self._log, folder, origin, erased=erased, mode=self._checkpoint_directory.mode
            )
            file = checkpoint.written(array_file.plain(parts), check)
        with self._fold_lock:
            stays = False  # nor does it stay if the log cannot tell whether it may
            try:
                stays = not self._erased_since(origin.version)
            finally:
                if not stays:
                    self._destroy([file])
            if stays:
                self._foreign.discard(file)
                self._sweep(folder)
        return file

    def _publish(self, file: Path, *, least: int) -> None:
        """Publish a checkpoint of this host, unless there is a place for none, or another is there.

        Args:
            file: The checkpoint.
            least: By how many events it has to be ahead of one that is there.

        Raises:
            Abandoned: Text was erased meanwhile.
            OSError: It cannot be read.
            StoreFailed, StoreBusy, StoreFull: The place does not answer, or refuses.
        """
        shared, version = self._place(), version_of(file)
        if shared is None:
            return
        with self._fold_lock:
            wanted = self._dropped
            self._published = version  # also if it fails, as in ``_write``

        def check() -> None:
            if self._dropped != wanted:
                raise Abandoned

        newest = shared.newest()
        if newest >= 0 and version - newest < least:
            self._published = newest
            return
        self._publishes_from_s = time.monotonic() + PUBLISHED_EVERY_S
        try:
            shared.publish(file, check)
        except Abandoned:
            # Chunks that were on their way when those of erased text were removed.
            with self._fold_lock:
                erased = _last_erasure(self._state())
            self._remove_published(erased)
            raise
        is_late = self._erased_since(version)  # reads the log, so without the lock
        with self._fold_lock:
            erased = _last_erasure(self._state())
        at_once = is_late or self._is_left
        shared.sweep(erased=version + 1 if is_late else erased, at_once=at_once)
        self._is_left = False

    def _origin(self, state: State) -> Origin:
        """Return the origin of a checkpoint of *state*.

        Raises:
            LogCorrupt: The log has no first event any more.
        """
        version, digest = self._head().version, self._head().digest
        genesis = self._log.digest_at(0)
        if not digest or genesis is None:
            raise LogCorrupt("no record can be read at version 0", version=0)
        return Origin(
            space=self._log.name,
            genesis=genesis.hex(),
            version=version,
            digest=digest.hex(),
            active_us=int(state.timeline.active_us.values[version]),
            fold=FOLD_VERSION,
            release=_release(),
            vocabulary=vocabulary(),
            payloads=self._payloads(),
        )

    def _sweep(self, folder: Folder) -> None:
        """Keep the newest valid checkpoints, and remove the others."""
        kept: list[Path] = []
        erased, arrays = _last_erasure(self._state()), _finished(folder)
        for file in folder.files():
            if len(kept) < KEPT and seems_valid(file, self._log, erased=erased):
                kept.append(file)
            else:
                remove(file)
        for file in self._unnamed(arrays, kept):
            remove(file)

    def _unnamed(self, found: list[Path], files: list[Path]) -> list[Path]:
        """Return the array files that none of *files* names.

        Args:
            found: Result of ``_finished``, from before the checkpoints were listed: each of them
                had been named by then, if it was going to be.
            files: Checkpoints.
        """
        named: set[str] = set()
        for file in files:
            with suppress(Torn, FormatUnknown, OSError):
                named.add(layout.described(file, vault_of(self._log)).arrays)
        return [file for file in found if file.name not in named]

    # --- removal -------------------------------------------------------------------------------

    def erased(self) -> None:
        """Abandon the write in progress: text has been erased. The fold lock is held.

        Call ``destroy`` after releasing it.
        """
        if self._checkpoint_directory.destroys:
            self._dropped += 1
            self._kept, self._published = 0, -1
            self._erasures += 1

    def destroy(self) -> None:
        """Destroy everything written before the last erasure, unless that has been done.

        Returns when it is done, by this thread or by another one.
        """
        if self._destroyed == self._erasures:
            return
        with self._destroying:
            while self._destroyed < (erasures := self._erasures):
                self._clear(self._destroy)
                with self._fold_lock:
                    erased = _last_erasure(self._state())
                self._remove_published(erased)
                self._destroyed = erasures

    def _remove_published(self, erased: int) -> None:
        """Remove published checkpoints from before version *erased*, and report it if that fails.

        A host that only reads leaves that to others.
        """
        if not self._checkpoint_directory.writes:
            return
        try:
            shared = self._place()
            if shared is not None:
                shared.sweep(erased=erased, at_once=True)
        except MnemicError:
            self._is_left = True
        else:
            self._is_left = False

    def replaced(self) -> None:
        """Forget what was found: the log is another history. The fold lock is held.

        Files stay: each names the digest of the log that it is of, and is not loaded for another.
        """
        self._dropped += 1
        self._found, self._kept, self.restored = None, 0, None
        self._shared, self._published = None, -1

    def drop(self) -> int:
        """Remove every checkpoint of this space, and return how many there were.

        Raises:
            CheckpointsOff: There is no place for any.
            StoreFailed: One cannot be removed.
        """
        folder = self._folder()
        if folder is None or not self._checkpoint_directory.destroys:
            raise self._off()
        with self._fold_lock:
            self._dropped += 1
            files = self._clear(lambda files: [remove(file) for file in files])
            # Or closing would write it again.
            self._kept, self._published = _size(self._state()), self._state().version
        left = [file.name for file in files if file.exists()]  # others may have written new ones
        if left:
            raise StoreFailed(
                f"{', '.join(left)} could not be removed",
                recovery=f"Remove it by hand from {folder.path}.",
                path=str(folder.path),
            )
        shared = self._place()
        return len(files) + (0 if shared is None else shared.drop())

    def _clear(self, away: Callable[[list[Path]], object]) -> list[Path]:
        folder = self._folder()
        if folder is None:
            return []
        with self._filing:  # a write in progress notices within a mebibyte
            files = folder.files()
            away([*files, *folder.array_files(), *folder.unfinished()])
        return files

    def _destroy(self, files: Iterable[Path]) -> None:
        self._undead.update(file for file in files if not destroy(file))

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold erased text, since they could not be removed."""
        undead = tuple(self._undead)  # copied: another session handle may erase just now
        files = sorted(file.name for file in undead if file.exists())
        place = self._place() if self._is_left else None
        return (*files, *(() if place is None else (f"published checkpoints in {place.shown}",)))

    @property
    def alerts(self) -> tuple[str, ...]:
        """What a host should know, in sentences."""
        found = () if self.trouble is None else (self.trouble,)
        if not self.left:
            return found
        names = ", ".join(self.left)
        return *found, f"{names} could not be removed and may hold erased text: remove them by hand"

    # --- inspection ----------------------------------------------------------------------------

    def listing(self) -> tuple[Checkpoint, ...]:
        """Return every checkpoint of this space, newest first, each read to the last byte."""
        self.destroy()
        with self._fold_lock:
            folder, erased = self._folder(), _last_erasure(self._state())
            if folder is None:
                return ()
            found = [self.look(file) for file in folder.files()]
        shared = self._place()
        return (*found, *(() if shared is None else shared.listing(erased=erased)))

    def look(self, file: Path, *, thorough: bool = True) -> Checkpoint:
        """Return a description of one file, which is read to the last byte if it is *thorough*."""
        with self._fold_lock:
            erased = _last_erasure(self._state())
            return looked_at(file, self._log, erased=erased, thorough=thorough)

    def _erased_since(self, version: int) -> bool:
        """Return whether the log has an erasure after *version*."""
        if self._log.head().version == version:
            return False
        return any(
            record.topic.startswith(erasures.TOPICS) for record, _ in self._log.read(version)
        )

    def _needed(self) -> Folder:
        folder = self._folder()
        if folder is None or not self._checkpoint_directory.writes:
            raise self._off()
        return folder

    def _off(self) -> CheckpointsOff:
        return CheckpointsOff(f"space {self._log.name!r} has no place for checkpoints")

    def _folder(self) -> Folder | None:
        """Return the folder; None while the log has no first event."""
        if self._found is None:
            genesis = self._log.digest_at(0)
            if genesis is not None:
                self._found = Folder(
                    self._checkpoint_directory.path, space=self._log.name, genesis=genesis
                )
        return self._found

    def _place(self) -> PublishedCheckpoints | None:
        """Return what hosts share; None: nothing, or the log has no first event."""
        objects = self._checkpoint_directory.objects
        if self._shared is not None or objects is None:
            return self._shared
        genesis = self._log.digest_at(0)
        if genesis is not None:
            from mnemic.adapters.checkpoints.published import PublishedCheckpoints

            owner = own_name(self._log.name, genesis)
            self._shared = PublishedCheckpoints(self._log, objects(self._log.name, owner))
        return self._shared


def _finished(folder: Folder) -> list[Path]:
    """Return the array files of a space that no process is making."""
    return [file for file in folder.array_files() if not is_being_made(file)]


def _unclaimed(folder: Folder, store: Store) -> list[Path]:
    """Return the checkpoints of spaces that the store does not have (any more)."""
    files = [file for file in folder.all() if not folder.owns(file) and not is_being_made(file)]
    spaces: list[Folder] = []
    for name in store.spaces() if files else ():
        genesis = store.log(name, create=False).digest_at(0)
        if genesis is not None:
            spaces.append(Folder(folder.path, space=name, genesis=genesis))
    return [file for file in files if not any(space.owns(file) for space in spaces)]


def _size(state: State) -> int:
    """Return the cost of replaying a state: events, and the vectors and edges they bring."""
    size = state.version + 1 + state.graph.rows.count
    for index in state.indexes.values():
        size += index.rows
    return size


def _last_erasure(state: State) -> int:
    """Return the version of the last erasure; -1 if there was none."""
    timeline = state.timeline
    whole = -1 if timeline.space_erased is None else timeline.space_erased
    return max([whole, *timeline.erased_blocks.values()])


def _release() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mnemic")
    except PackageNotFoundError:
        return "unknown"
