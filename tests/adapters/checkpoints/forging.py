"""Checkpoints with false manifests and valid seals."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from mnemic.adapters.checkpoints import layout


def forge(
    file: Path, change: Callable[[bytes], bytes], *, layout_format: int = layout.FORMAT
) -> None:
    """Write another manifest into a file, properly sealed."""
    manifest = change(file.read_bytes()[layout.MANIFEST_AT :])
    head = layout.HEAD.pack(layout.MAGIC, layout_format, len(manifest))
    seal = blake2b(head + manifest, digest_size=layout.SEAL_BYTES).digest()
    file.write_bytes(head + seal + manifest)
