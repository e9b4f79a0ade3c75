"""Objects of a space in a bucket (S3 and what speaks its protocol, Google, Azure) or a folder.

The keys of a bucket are taken from the environment, as its own tools do: ``AWS_ACCESS_KEY_ID``,
``AWS_SECRET_ACCESS_KEY``, ``AWS_REGION``, ``AWS_ENDPOINT_URL``; ``GOOGLE_…``; ``AZURE_…``.
"""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname

from mnemic.adapters.extras import require
from mnemic.adapters.system.folders import NO_ROOM, PRIVATE, make
from mnemic.kernel.errors import FieldRefused, StoreFailed, StoreFull

SCHEMES = ("s3", "gs", "az", "azure", "abfs", "abfss", "file")
_KEYS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
}
"""Variables of the environment that messages name, by scheme; ``az`` stands for those of Azure."""
REMOVALS = 8
"""Objects that are removed at once: a bucket takes some ten milliseconds for each."""
RETRIES = 3
RETRY_TIMEOUT = timedelta(seconds=20)
"""A space is opened without a bucket that does not answer for so long."""


class Bucket:
    """The objects of one space below a prefix of a bucket.

    Args:
        url: Of the bucket, with a prefix if others use it too.
        owner: First part of the names: of the space and its log.

    Raises:
        FieldRefused: It is no such URL.
    """

    def __init__(self, url: str, owner: str) -> None:
        self.shown = checked_url(url)
        self._url, self._owner = url, owner

    @cached_property
    def _store(self) -> Any:
        return _opened(self._url)

    def ages(self) -> dict[str, float]:
        """Return the names of all objects, each with the seconds until the newest one was put.

        Both times are those of the bucket: clocks of hosts may differ from it.
        """
        import obstore

        start = len(self._owner) + 1
        with self._named():
            put_at = {
                meta["path"][start:]: meta["last_modified"]
                for some in obstore.list(self._store, self._owner)
                for meta in some
            }
        if not put_at:
            return {}
        newest = max(put_at.values())
        return {name: (newest - at).total_seconds() for name, at in put_at.items()}

    def get(self, name: str) -> bytes | None:
        """Return an object; None: there is none of that name."""
        import obstore

        with self._named():
            try:
                return bytes(obstore.get(self._store, f"{self._owner}/{name}").bytes())
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes) -> None:
        """Store an object."""
        import obstore

        with self._named():
            obstore.put(self._store, f"{self._owner}/{name}", data, use_multipart=False)

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, if they are there."""
        import obstore

        def remove(name: str) -> None:
            with suppress(FileNotFoundError):
                obstore.delete(self._store, f"{self._owner}/{name}")

        with self._named(), ThreadPoolExecutor(REMOVALS) as threads:
            for _ in threads.map(remove, names):
                pass

    @contextmanager
    def _named(self) -> Generator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, ValueError, OSError) as error:
            raise _failure(self.shown, error) from error


def check_place(url: str) -> None:
    """Refuse a bucket that cannot be used, before anything is opened.

    Raises:
        FieldRefused: It is not the URL of one.
        Unavailable: The package for buckets is not installed.
    """
    _require(checked_url(url))


def checked_url(url: str) -> str:
    """Return the URL of a bucket as it may be shown.

    Raises:
        FieldRefused: It is no such URL.
    """
    try:
        found = urlsplit(url)
    except ValueError as error:
        raise FieldRefused(
            f"{url!r:.100} is no URL: {error}",
            recovery="Name a bucket like s3://bucket/prefix.",
            field="checkpoints",
        ) from error
    if found.scheme not in SCHEMES or not (found.netloc or found.scheme == "file"):
        raise FieldRefused(
            f"{found.scheme}:// is no place for checkpoints that this release knows",
            recovery="Name a folder, database, or a bucket like s3://bucket/prefix; "
            f"schemes: {', '.join(SCHEMES)}.",
            field="checkpoints",
        )
    if ("@" in found.netloc and found.scheme == "s3") or found.query:
        raise FieldRefused(
            "the URL of a bucket holds no keys or options",
            recovery="Give them by the environment, such as AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL.",
            field="checkpoints",
        )
    return urlunsplit(found)


def _opened(url: str) -> Any:
    from obstore.store import from_url

    found = urlsplit(url)
    if found.scheme == "file":
        make(Path(url2pathname(found.path)), PRIVATE)
        return from_url(url)
    # Plain HTTP is for a server that AWS_ENDPOINT_URL names so.
    options: dict[str, Any] = {
        "client_options": {"allow_http": True},
        "retry_config": {"max_retries": RETRIES, "retry_timeout": RETRY_TIMEOUT},
    }
    return from_url(url, **options)


def _require(shown: str) -> None:
    require("obstore", "bucket", f"checkpoints at {shown} need the package obstore")


def _failure(shown: str, error: Exception) -> StoreFailed | StoreFull:
    """Return the error for one of the library, whose message goes on for pages."""
    first = next(iter(str(error).splitlines()), type(error).__name__)
    is_full = getattr(error, "errno", None) in NO_ROOM or f"os error {errno.ENOSPC}" in first
    if is_full:
        recovery = "Make room there."
    elif shown.startswith("file:"):
        recovery = "See whether this user may write to the folder, or make its parent folder."
    else:
        recovery = (
            "See whether the bucket exists, whether this process may list, read, write and delete "
            f"there, and whether {_KEYS.get(urlsplit(shown).scheme, _KEYS['az'])} and so on are "
            "set for it."
        )
    kind = StoreFull if is_full else StoreFailed
    return kind(f"{shown}: {first:.300}", recovery=recovery, path=shown)
