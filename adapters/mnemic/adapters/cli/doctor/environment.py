"""The checks of the environment: releases, and the extras installed or available."""

from __future__ import annotations

import platform
import re
import sqlite3
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.adapters.extras import pip_install

GIVES = {
    "bucket": "checkpoints in a bucket: mnemic serve --checkpoints",
    "crypto": "texts encrypted with keys that are kept apart: mnemic --keys",
    "hnsw": "graphs for a host with many queries over many blocks",
    "http": "mnemic serve: the memory over HTTP",
    "importers": "long JSON exports, and front matter, for mnemic import-from",
    "mcp": "mnemic mcp: the memory as tools of an agent",
    "minilm": "an embedder that recognizes paraphrases better",
    "openai": "embedder, analyst and extractor that ask a model of a server",
    "plots": "backtest --plot",
    "postgres": "stores in PostgreSQL",
    "ray": "experiments on a cluster: --runner ray",
    "telemetry": "traces of what the server does",
    "tokens": "exact counts of tokens",
    "tune": "mnemic tune: policies proposed from past decisions",
}
"""What an extra provides. Others (``all``, ``dev``) are lists of these, or for development."""

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([A-Za-z0-9._-]+)['\"]")
_ABOUT = About(name="environment")


def environment() -> Iterator[Finding]:
    """Check the releases and the extras of this installation."""
    yield _ABOUT.ok("mnemic", version("mnemic"))
    yield _ABOUT.ok(
        "python",
        f"{platform.python_version()} ({platform.python_implementation()}, {platform.platform()})",
    )
    yield _ABOUT.ok("sqlite", sqlite3.sqlite_version)
    for extra, needed in sorted(_extras().items()):
        if extra in GIVES:
            yield _looked_at(extra, needed)


def _looked_at(extra: str, needed: list[str]) -> Finding:
    what, gives = f"extra {extra}", GIVES[extra]
    missing = [name for name in needed if _release(name) is None]
    if missing:
        return _ABOUT.ok(
            what,
            f"not installed; it provides {gives}",
            remedy=f"If you want that: {pip_install(extra)}",
        )
    if extra == "hnsw":
        from mnemic.adapters.ann.library import obstacle

        trouble = obstacle()
        if trouble is not None:
            return _ABOUT.warning(
                what, trouble, remedy="Reinstall it on this machine: its code is built for one."
            )
    releases = ", ".join(f"{name} {_release(name)}" for name in needed)
    return _ABOUT.ok(what, f"{gives} ({releases})")


def _release(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, list[str]]:
    """Return the packages that each extra needs, from the metadata of this release."""
    found: dict[str, list[str]] = {}
    for requirement in requires("mnemic") or ():
        name, extra = _NAME.match(requirement), _EXTRA.search(requirement)
        if name is not None and extra is not None:
            found.setdefault(extra[1], []).append(name[0])
    return found
