"""The files of the page, each with its media type, its compressed form and its tag."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files as resources
from types import MappingProxyType
from typing import Final

from attrs import frozen

PACKAGE: Final = "mnemic.adapters.explorer"
INDEX: Final = "index.html"
FOLDERS: Final = ("page", "vendor")
TYPES: Final = MappingProxyType(
    {
        "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "svg": "image/svg+xml",
    }
)
"""Media types by the ends of names; files of other types are not served."""
_IMPORT_MAP: Final = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)
TAG_LENGTH: Final = 16


@frozen(kw_only=True)
class PageFile:
    """One file of the page."""

    body: bytes
    compressed: bytes
    """The same, by gzip."""
    media_type: str
    tag: str
    """Beginning of its digest: equal files have equal tags."""


@cache
def files() -> Mapping[str, PageFile]:
    """Return the files of the page by name; they are read and compressed once."""
    found = {}
    for folder in FOLDERS:
        for each in resources(PACKAGE).joinpath(folder).iterdir():
            kind = TYPES.get(each.name.rpartition(".")[2])
            if kind is not None:
                found[each.name] = _file(each.read_bytes(), kind)
    return MappingProxyType(found)


def _file(body: bytes, kind: str) -> PageFile:
    return PageFile(
        body=body,
        compressed=gzip.compress(body, 9, mtime=0),
        media_type=kind,
        tag=hashlib.sha256(body).hexdigest()[:TAG_LENGTH],
    )


@cache
def _content_policy() -> str:
    """Return what the page may load and do: its own files, and nothing of any other origin.

    The import map is the one inline script, which browsers cannot load from a file; its digest is
    named. No text of a memory can become markup or code: the page sets no HTML, and Trusted Types
    make the browser refuse it.
    """
    found = _IMPORT_MAP.search(files()[INDEX].body)
    inline = b"" if found is None else found.group(1)
    digest = base64.b64encode(hashlib.sha256(inline).digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'sha256-{digest}'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def security_headers() -> Mapping[str, str]:
    """Return the headers that keep the page apart from other pages, and its content harmless."""
    return {
        "content-security-policy": _content_policy(),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
