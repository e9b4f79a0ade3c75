"""Opening a store by its address: a file, a server, or the memory of this process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias, TypeGuard

from mnemic.adapters.extras import require
from mnemic.adapters.stores.addresses import IN_MEMORY, Address, is_file, is_server
from mnemic.kernel.errors import FieldRefused, NotAStore
from mnemic.kernel.ports import Store

__all__ = ["IN_MEMORY", "Address", "address_of_store", "is_file", "open_store", "opened"]
Synchronous: TypeAlias = Literal["full", "normal"]


def open_store(
    address: Address,
    *,
    synchronous: str = "full",
    read_only: bool = False,
    keys: Path | None = None,
) -> Store:
    """Open the store at *address*; the caller closes it.

    Args:
        address: The path of a file, which is made if it does not exist; ``":memory:"``; or
            ``postgresql://user@host/database``, see ``postgres.PostgresStore``.
        synchronous: ``full`` keeps every acknowledged command through a power cut, ``normal``
            through a killed process only.
        read_only: Never write.
        keys: The file of keys that encrypt its text, made with the first of them; None: it is not
            encrypted. A store is one or the other, from its first space on.

    Raises:
        FieldRefused: *synchronous* is neither.
        NotAStore: The address leads to something else, or has an unknown scheme.
        StoreTooNew, StoreFailed, StoreBusy: See each.
        Unavailable: The driver of PostgreSQL, or a package for encryption, is not installed.
    """
    inner = _opened(address, synchronous=synchronous, read_only=read_only)
    if keys is None:
        return inner
    try:
        return _locked(inner, keys, read_only=read_only)
    except BaseException:
        inner.close()
        raise


def address_of_store(store: Store | None) -> tuple[Address, Path | None] | None:
    """Return what opens an open store once more in another process: its address, and its keys.

    None for a store in memory, and for one of the host's own. The address of a server holds its
    password.
    """
    from mnemic.adapters.stores.sqlite import SQLiteStore

    if isinstance(store, SQLiteStore):
        return store.path.absolute(), None
    if find_spec("cryptography") is not None:
        from mnemic.adapters.stores.encrypted import EncryptedStore

        if isinstance(store, EncryptedStore):
            inner = address_of_store(store.inner)
            return None if inner is None else (inner[0], store.keys.path.absolute())
    if find_spec("psycopg") is not None:
        from mnemic.adapters.stores.postgres import PostgresStore

        if isinstance(store, PostgresStore):
            return store.address.whole, None
    return None


def require_cryptography() -> None:
    """Refuse to go on without the package that encryption needs.

    Raises:
        Unavailable: Naming how to install it.
    """
    require("cryptography", "crypto", "encryption needs a package that is not installed")


def _locked(inner: Store, keys: Path, *, read_only: bool) -> Store:
    require_cryptography()
    from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable

    return EncryptedStore(inner, KeyTable(keys, read_only=read_only))


def _opened(address: Address, *, synchronous: str, read_only: bool) -> Store:
    if not _is_synchronous(synchronous):
        raise FieldRefused(
            f"synchronous must be full or normal, got {synchronous!r}", field="synchronous"
        )
    if str(address) == IN_MEMORY:
        from mnemic.adapters.stores.memory import MemoryStore

        return MemoryStore()
    if is_server(address):
        return _open_server(address, synchronous=synchronous, read_only=read_only)
    if not is_file(address):
        scheme = str(address).partition("://")[0]
        raise NotAStore(
            f"{scheme}:// is not the address of a store",
            recovery="Name a file, or postgresql://user@host/database.",
            scheme=scheme,
        )
    from mnemic.adapters.stores.sqlite import SQLiteStore

    return SQLiteStore(address, synchronous=synchronous, read_only=read_only)


def _open_server(address: Address, *, synchronous: Synchronous, read_only: bool) -> Store:
    need = "PostgreSQL needs psycopg, which is not installed"
    require("psycopg", "postgres", need, extra="postgres")
    from mnemic.adapters.stores.postgres import PostgresStore

    return PostgresStore(str(address), synchronous=synchronous, read_only=read_only)


def _is_synchronous(given: str) -> TypeGuard[Synchronous]:
    return given in {"full", "normal"}


@contextmanager
def opened(
    place: Address | Store,
    *,
    synchronous: str = "full",
    read_only: bool = False,
    keys: Path | None = None,
) -> Generator[Store]:
    """Open a store for a ``with`` block; a store that is passed open stays open.

    *keys* applies to a store that is opened here; see ``open_store``.

    Raises:
        FieldRefused: *place* is neither an address nor a store.
        NotAStore, StoreTooNew, StoreFailed: See ``open_store``.
    """
    if isinstance(place, str | Path):
        with closing(
            open_store(place, synchronous=synchronous, read_only=read_only, keys=keys)
        ) as store:
            yield store
    elif callable(getattr(place, "log", None)):
        yield place
    else:
        raise FieldRefused(f"neither a path nor a store: {place!r:.100}", field="path")
