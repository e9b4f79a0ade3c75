"""Temporary resource limits of a process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def files_of(bytes_max: int) -> Generator[None]:
    """Let no file of this process grow larger; lift the limit in the end."""
    import resource  # noqa: PLC0415 - there is none on Windows

    with _limited(resource.RLIMIT_FSIZE, bytes_max):
        yield


@contextmanager
def descriptors(count: int) -> Generator[None]:
    """Let this process open no file with a number from *count* on, or up to it; undo it in the end.

    Raises:
        ValueError: The system does not let anybody have so many.
    """
    import resource  # noqa: PLC0415 - there is none on Windows

    with _limited(resource.RLIMIT_NOFILE, count):
        yield


@contextmanager
def _limited(kind: int, most: int) -> Generator[None]:
    import resource  # noqa: PLC0415 - there is none on Windows

    _, hard = limits = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, limits)
