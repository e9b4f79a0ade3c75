"""When a checkpoint is written, taken up, swept and destroyed.

Rules of this module:

1. The log is right. A checkpoint is taken up only if it is whole, of this fold and this log, and
   the log's own digest at its version is the one it names.
2. No verb fails for the sake of a checkpoint, but those that are about checkpoints. What went wrong
   is kept for ``status()`` to tell: the last ``trouble``, and erased words as long as they stay.
3. The state is looked at under the space's guard; files are written off every lock of the space,
   by one thread at most. That thread needs the guard before its file and after it, never between,
   so whoever holds the guard may wait for the file.
4. When words are erased every file that could hold them goes, finished or not. Whoever finishes
   one in another process looks afterwards whether words were erased meanwhile: either that process
   sees the erasure, or the eraser sees the file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as release_of
from pathlib import Path
from threading import RLock

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.folder import Abandoned, Folder, destroy, remove, version_of
from mnemic.adapters.checkpoints.inspection import looked_at, misfit, seems_valid, vault_of
from mnemic.adapters.checkpoints.layout import FormatUnknown, Origin, Torn
from mnemic.adapters.checkpoints.shelf import Shelf
from mnemic.adapters.folders import NO_ROOM
from mnemic.kernel.errors import CheckpointsOff, LogCorrupt, StoreFailed, StoreFull
from mnemic.kernel.ports import Log, Store
from mnemic.kernel.results import Checkpoint
from mnemic.projections.checkpoints import freeze, thaw
from mnemic.projections.state import FOLD_VERSION, FarOf, State

TAIL_MIN = 5_000
"""Below this folding is quicker than it is worth a file: about 50 ms."""
TAIL_SHARE = 20
"""A checkpoint is due when a twentieth has come since: opening costs at most 5 % of all."""
KEPT = 2
"""Valid checkpoints that stay: the newest, and one in case that it is damaged."""
ERASURES = ("block-erased.", "space-erased.")
"""How the topics begin that say that words are gone, whatever their version."""


class Keeper:
    """The checkpoints of one open space.

    Args:
        log: Of the space.
        shelf: Where they stand.
        guard: What is held while the state changes.
        state: Returns the state as it is now.
        far_of: Says who has its vectors; None: they are in it, and in a checkpoint.
        is_as_folded: Says whether the log is still the one that the state was folded from; None: it
            cannot be another.
    """

    def __init__(
        self,
        log: Log,
        shelf: Shelf,
        *,
        guard: RLock,
        state: Callable[[], State],
        far_of: FarOf | None = None,
        is_as_folded: Callable[[], bool] | None = None,
    ) -> None:
        self._log = log
        self._shelf = shelf
        self._guard = guard
        self._state = state
        self._far_of = far_of
        self._is_as_folded = is_as_folded
        self._found: Folder | None = None
        self._kept = 0
        """How large the state was when it was last kept, or tried to."""
        self._dropped = 0
        """How often files were dropped: what was begun before is not wanted any more."""
        self._filing = threading.Lock()
        self._thread: threading.Thread | None = None
        self.restored: int | None = None
        """The version of the checkpoint that the space was opened from."""
        self.trouble: str | None = None
        """What went wrong last, in a sentence."""
        self._foreign: set[Path] = set()
        """Valid files that could not be taken up here: their vectors stand elsewhere."""
        self._undead: set[Path] = set()
        """Files that hold erased words and could not be removed."""

    # --- opening ------------------------------------------------------------------------------

    def newest(self) -> State | None:
        """Return the state in the newest checkpoint that fits the log; it may lag behind."""
        folder = self._folder()
        if folder is None or not self._shelf.reads:
            return None
        for file in folder.files():
            try:
                manifest = layout.described(file, vault_of(self._log))
                if misfit(file, manifest, self._log) is None:
                    parts = layout.loaded(file, vault_of(self._log))[1]
                    state = thaw(parts, self._far_of)
                    self._kept, self.restored = _size(state), state.version
                    return state
            except (Torn, FormatUnknown, OSError):
                continue
            except (KeyError, ValueError, TypeError, IndexError) as error:
                self._foreign.add(file)
                self.trouble = f"checkpoint {file.name} cannot be taken up here: {error!r}"
        return None

    def passed_over(self, error: Exception | None = None) -> None:
        """Take note that the log could not be folded on from the newest checkpoint after all.

        Args:
            error: Why, if it should have been possible.
        """
        self._kept, self.restored = 0, None
        if error is not None:
            self.trouble = f"the log could not be folded on from a checkpoint: {error!r}"

    def settle(self) -> None:
        """Clear away, once the space is open, what must not stay or belongs to nobody."""
        folder = self._folder()
        if folder is None or not self._shelf.destroys:
            return
        erased = _last_erasure(self._state())
        self._destroy([file for file in folder.files() if version_of(file) < erased])
        self._destroy(folder.orphans())
        if self._shelf.is_own:
            self._destroy(_unclaimed(folder, self._shelf.store))

    # --- writing ------------------------------------------------------------------------------

    def consider(self) -> None:
        """Have a checkpoint written in the background if one is due. Costs nothing if none is."""
        if self._is_due() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._try, name="mnemic-checkpoint")
            self._thread.start()

    def close(self) -> None:
        """Wait for what is being written, and write one more if it is due."""
        if self._thread is not None:
            self._thread.join()
        if self._is_due():
            self._try()

    def write(self) -> Path | None:
        """Write a checkpoint of the state as it is now, unless there is one that we could take up.

        Returns:
            None if it was dropped at once, since words were erased meanwhile.

        Raises:
            CheckpointsOff: There is no place for one.
            StoreFull, StoreFailed: It cannot be written.
            LogCorrupt: The log does not say where it ends.
        """
        folder = self._needed()
        with self._guard:
            place = folder.place(self._state().version)
            if place not in self._foreign and self.look(place).state == "valid":
                return place
        try:
            file = self._write(folder)
        except Abandoned:
            return None
        except OSError as error:
            kind = StoreFull if error.errno in NO_ROOM else StoreFailed
            raise kind(f"{place} cannot be written: {error}", path=str(place)) from error
        self.trouble = None
        return file if file.exists() else None

    def _is_due(self) -> bool:
        if not self._shelf.writes:
            return False
        size = _size(self._state())
        return size - self._kept >= max(TAIL_MIN, size // TAIL_SHARE)

    def _try(self) -> None:
        folder = self._folder()
        try:
            if folder is not None:
                self._write(folder)
                self.trouble = None
        except Abandoned:
            pass
        except Exception as error:  # noqa: BLE001 - a checkpoint is never worth more than the work
            self.trouble = f"no checkpoint could be written: {error}"

    def _write(self, folder: Folder) -> Path:
        """Write a checkpoint of the state as it is now.

        Raises:
            OSError: It cannot be written.
            Abandoned: It was dropped before it was finished.
            LogCorrupt: The log does not say where it ends.
        """
        with self._guard:
            state, wanted = self._state(), self._dropped
            self._kept = _size(state)  # also if it fails: the next try is for the next twentieth
            origin, parts = self._origin(state), freeze(state)

        def pieces() -> Iterator[memoryview | bytes]:
            vault, whole = vault_of(self._log), layout.pieces(origin, parts)
            for piece in whole if vault is None else vault.locked(whole):
                if self._dropped != wanted:
                    raise Abandoned
                yield piece

        with self._filing:
            file = folder.write(origin.version, pieces(), mode=self._shelf.mode)
        with self._guard:
            stays = False  # nor does it if the log cannot say whether it may
            try:
                stays = not self._erased_since(origin.version)
            finally:
                if not stays:
                    self._destroy([file])
            if stays:
                self._foreign.discard(file)
                self._sweep(folder)
        return file

    def _origin(self, state: State) -> Origin:
        """Say what a checkpoint of *state* is a checkpoint of.

        Raises:
            LogCorrupt: The log has no such version any more.
            Abandoned: The state is one of what the log was before.
        """
        version = state.version
        head = self._log.head()
        digest = head.digest if head.version == version else self._log.digest_at(version)
        genesis = self._log.digest_at(0)
        if self._is_as_folded is not None and not self._is_as_folded():  # nor is that digest its
            raise Abandoned
        if digest is None or genesis is None:
            raise LogCorrupt(f"no record can be read at version {version}", version=version)
        return Origin(
            space=self._log.name,
            genesis=genesis.hex(),
            version=version,
            digest=digest.hex(),
            active_us=int(state.timeline.active_us.values[version]),
            fold=FOLD_VERSION,
            release=_release(),
        )

    def _sweep(self, folder: Folder) -> None:
        """Keep the newest valid checkpoints, and remove the others."""
        kept, erased = 0, _last_erasure(self._state())
        for file in folder.files():
            if kept < KEPT and seems_valid(file, self._log, erased=erased):
                kept += 1
            else:
                remove(file)

    # --- going ---------------------------------------------------------------------------------

    def erased(self) -> None:
        """Destroy everything of this space: words have been erased. The guard is held."""
        if self._shelf.destroys:
            self._clear(self._destroy)
            self._kept = 0

    def drop(self) -> int:
        """Remove every checkpoint of this space, and say how many there were.

        Raises:
            CheckpointsOff: There is no place for any.
            StoreFailed: One cannot be removed.
        """
        folder = self._needed()
        with self._guard:
            files = self._clear(lambda files: [remove(file) for file in files])
            self._kept = _size(self._state())  # or closing would write it again
        left = [file.name for file in files if file.exists()]  # others may have written new ones
        if left:
            raise StoreFailed(
                f"{', '.join(left)} could not be removed",
                recovery=f"Remove it by hand from {folder.path}.",
                path=str(folder.path),
            )
        return len(files)

    def _clear(self, away: Callable[[list[Path]], object]) -> list[Path]:
        self._dropped += 1
        folder = self._folder()
        if folder is None:
            return []
        with self._filing:  # who is writing notices within a mebibyte
            files = folder.files()
            away([*files, *folder.unfinished()])
        return files

    def _destroy(self, files: Iterable[Path]) -> None:
        self._undead.update(file for file in files if not destroy(file))

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold erased words, since they could not be removed."""
        undead = tuple(self._undead)  # at once: another seat may erase just now
        return tuple(sorted(file.name for file in undead if file.exists()))

    @property
    def alerts(self) -> tuple[str, ...]:
        """What a host should know, in sentences."""
        found = () if self.trouble is None else (self.trouble,)
        if not self.left:
            return found
        names = ", ".join(self.left)
        return *found, f"{names} could not be removed and may hold erased words: remove it by hand"

    # --- looking ------------------------------------------------------------------------------

    def listing(self) -> tuple[Checkpoint, ...]:
        """Return every checkpoint of this space, newest first, each looked at to the last byte."""
        with self._guard:
            folder = self._folder()
            if folder is None:
                return ()
            return tuple(self.look(file) for file in folder.files())

    def look(self, file: Path) -> Checkpoint:
        """Return what there is to say about one file."""
        with self._guard:
            return looked_at(file, self._log, erased=_last_erasure(self._state()))

    def _erased_since(self, version: int) -> bool:
        """Say whether the log tells of an erasure behind *version*."""
        if self._log.head().version == version:
            return False
        return any(record.topic.startswith(ERASURES) for record, _ in self._log.read(version))

    def _needed(self) -> Folder:
        folder = self._folder()
        if folder is None or not self._shelf.writes:
            raise CheckpointsOff(f"space {self._log.name!r} has no place for checkpoints")
        return folder

    def _folder(self) -> Folder | None:
        """Return the folder; None while the log has no first event."""
        if self._found is None:
            genesis = self._log.digest_at(0)
            if genesis is not None:
                self._found = Folder(self._shelf.path, space=self._log.name, genesis=genesis)
        return self._found


def _unclaimed(folder: Folder, store: Store) -> list[Path]:
    """Return the checkpoints of spaces that the store has not, or not any more."""
    files = [file for file in folder.all() if not folder.owns(file)]
    spaces: list[Folder] = []
    for name in store.spaces() if files else ():
        genesis = store.log(name, create=False).digest_at(0)
        if genesis is not None:
            spaces.append(Folder(folder.path, space=name, genesis=genesis))
    return [file for file in files if not any(space.owns(file) for space in spaces)]


def _size(state: State) -> int:
    """Return how much folding a state took: events, and the vectors and edges that many bring."""
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
    try:
        return release_of("mnemic")
    except PackageNotFoundError:
        return "unknown"
