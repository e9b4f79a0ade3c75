"""Checkpoints with false manifests and valid seals."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from mnemic.adapters.checkpoints import layout


def forge(file: Path, change: Callable[[bytes], bytes], *, layout_format: int = 1) -> None:
    """Write another manifest into a file, properly sealed."""
    stored = file.read_bytes()
    end = layout.described(file).parts[0].offset
    manifest = change(stored[layout.MANIFEST_AT : end])
    head = layout.HEAD.pack(layout.MAGIC, layout_format, len(manifest))
    seal = blake2b(head + manifest, digest_size=layout.SEAL_BYTES).digest()
    file.write_bytes(head + seal + manifest + stored[end:])
