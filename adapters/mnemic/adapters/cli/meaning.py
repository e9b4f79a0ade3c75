"""Whether the store that a server was told is the one that was meant.

Whoever starts a server for others does not see what it says, and often not from which folder it
looks. A wrong path would begin an empty memory there, and nobody would notice for days. So a server
makes a store only where none stands beside it, or where it is told to.
"""

from __future__ import annotations

from pathlib import Path

from mnemic.kernel.errors import MnemicError, PointOutOfRange, StoreFailed

SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})
LOOKED_AT = 50
"""Files beside a store that are looked into."""
SHOWN = 5


def check_meant(path: Path, space: str, *, making: bool, read_only: bool = False) -> bool:
    """Refuse a store that is probably not the one that was meant; say whether it has to be made.

    Args:
        path: The store.
        space: The space that is wanted of it.
        making: Whether it was said that a new one is meant.
        read_only: Whether nothing may be made at all.

    Raises:
        StoreFailed: It is not there or empty, and another one is beside it.
        PointOutOfRange: It has other spaces.
        NotAStore, StoreTooNew: See ``SQLiteStore``.
    """
    spaces = _spaces(path)
    if space in spaces:
        return False
    if read_only:
        raise _missing(path, space, spaces, recovery="Name a store and a space that are there.")
    if making:
        return True
    if spaces:
        shown = ", ".join(spaces[:SHOWN])
        way = f"Name one with --space: {shown}; or make a new one with --make."
        raise _missing(path, space, spaces, recovery=way)
    others = beside(path)
    if others:
        shown = ", ".join(str(other) for other in others[:SHOWN])
        way = f"Name one of these with --db: {shown}; or make a new one with --make."
        raise _missing(path, space, spaces, recovery=way)
    return True


def beside(path: Path) -> list[Path]:
    """Return the stores beside a file that hold a memory, by name."""
    folder = path.resolve().parent
    if not folder.is_dir():
        return []
    files = (each for each in folder.iterdir() if each.suffix in SUFFIXES and each.is_file())
    candidates = sorted(each for each in files if each != path.resolve())[:LOOKED_AT]
    return [each for each in candidates if _holds_memory(each)]


def _holds_memory(path: Path) -> bool:
    try:
        return bool(_spaces(path))
    except MnemicError:
        return False  # of another kind, or nobody's


def _spaces(path: Path) -> tuple[str, ...]:
    from mnemic.adapters.stores.sqlite import SQLiteStore

    if not path.exists() or not path.stat().st_size:
        return ()
    store = SQLiteStore(path, read_only=True)
    try:
        return tuple(store.spaces())
    finally:
        store.close()


def _missing(path: Path, space: str, spaces: tuple[str, ...], *, recovery: str) -> MnemicError:
    where = path.resolve()
    if spaces:
        return PointOutOfRange(f"{where} has no space {space!r}", recovery=recovery, space=space)
    state = "is empty" if path.exists() else "is not there"
    return StoreFailed(f"{where} {state}", recovery=recovery, path=str(where))
