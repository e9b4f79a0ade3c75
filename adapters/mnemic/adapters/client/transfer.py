"""Download and upload of a whole memory: an export as one body.

A download is written to temporary files, checked from end to end, and then moved into place as a
whole; an upload is read from its files while it is sent. The format of the body is documented in
``transfer.exports.archive``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from attrs import evolve

from mnemic.adapters.client.answers import Answer, result_in
from mnemic.adapters.client.requests import SSE, Request, request_of
from mnemic.adapters.client.server import Server
from mnemic.adapters.files import atomic_files
from mnemic.adapters.files.temporary_folders import aside
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally
from mnemic.adapters.transfer.exports import archive, importing
from mnemic.adapters.transfer.exports.archive import Packed, Unpacking
from mnemic.adapters.transfer.exports.manifest import Manifest
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import ExportResult, ImportResult

PACKING_S: Final = 3600.0
"""How long a server may take until an export begins to arrive: it packs all of it first."""


class Download:
    """The download of an export, for a ``with`` block.

    Args:
        path: The file of lines to write; the vectors are written next to it.

    Raises:
        FieldRefused: A file exists.
        StoreFailed: There is no such folder, or the file name is invalid.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        atomic_files.checked_new(self.path)
        atomic_files.checked_new(vectors_path(self.path))
        with atomic_files.named(self.path), ExitStack() as stack:
            self._folder = stack.enter_context(aside(self.path))
            self._stack = stack.pop_all()
        self._tries = 0
        self._unpacking: Unpacking | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def begun(self) -> Unpacking:
        """Return an unpacker of the body, for another try from the beginning.

        Raises:
            StoreFull, StoreFailed: It cannot be written.
        """
        self._tries += 1
        folder = self._folder / str(self._tries)
        with atomic_files.named(self.path):
            folder.mkdir()
        self._unpacking = Unpacking(folder)
        return self._unpacking

    def settled(self, progress: Progress | None = None) -> ExportResult:
        """Check what was received, move it into place, and return its description.

        Args:
            progress: Called from time to time with the number of events checked and the total.

        Raises:
            ExportCorrupt: What was received is not what was sent.
            FieldRefused: One of the files was created meanwhile.
            StoreFull, StoreFailed: The files cannot be written.
        """
        assert self._unpacking is not None  # noqa: S101 - nothing settles that has not begun
        lines = self._unpacking.finish()
        manifest = _checked(Export(lines), progress)
        drafts, paths = [lines], [self.path]
        if manifest.words:
            drafts.append(vectors_path(lines))
            paths.append(vectors_path(self.path))
        with atomic_files.named(self.path):
            for draft in drafts:
                _keep(draft)
            atomic_files.settle_all(drafts, paths)
        return _result(self.path, manifest)


def export_request(space: str, arguments: Mapping[str, Any]) -> Request:
    """Return the request for the export of a space.

    Raises:
        FieldRefused: An argument cannot be sent.
    """
    request = request_of(Call(operation="export", arguments=arguments), space=space, again=True)
    headers = {**request.headers, "Accept": archive.MEDIA_TYPE}
    return evolve(request, headers=headers, silence_s=PACKING_S)


def packed_export(path: str | Path) -> Packed:
    """Return an export, ready to be sent; the caller closes it.

    Raises:
        ExportCorrupt, StoreFailed: It is not an export, or cannot be read.
        FieldRefused: It contains no texts.
    """
    file = Path(path)
    importing.check_words(Export(file))
    importing.check_size(Export(file))
    return Packed(file)


def import_request(packed: Packed, space: str | None) -> Request:
    """Return the request that creates a space from an export.

    Args:
        packed: The export.
        space: The name of the new space; None: the one that was exported.

    Raises:
        FieldRefused: It is not a valid name.
    """
    call = Call(operation="import_space")
    request = request_of(call, space=packed.manifest.space if space is None else space, again=False)
    headers = {
        "Accept": SSE,
        "Content-Type": archive.MEDIA_TYPE,
        "Content-Length": str(packed.size),
    }
    return evolve(request, headers=headers, body=packed)


def imported(answer: Answer, request: Request, server: Server) -> ImportResult:
    """Return the result of an import.

    Raises:
        ServerUnreachable: The response is not an answer of the operation.
    """
    made: ImportResult = result_in(answer, operations()["import_space"], request, server)
    return made


def check_own(actor: str, **parts: object) -> None:
    """Refuse arguments that are decided by the server.

    Raises:
        FieldRefused: One was given.
    """
    given = [name for name, each in parts.items() if each is not None]
    if actor != "import":
        given.insert(0, "actor")
    for name in given:
        raise FieldRefused(
            f"{name} of import_space cannot be given over HTTP",
            recovery=f"Leave out {name}: the server has its own.",
            field=name,
        )


def _checked(export: Export, progress: Progress | None) -> Manifest:
    tally = Tally(progress, total=export.manifest.version + 1)
    importing.check(export, tally=tally)
    tally.show()
    return export.manifest


def _keep(path: Path) -> None:
    """Flush a file to disk, so that its bytes survive a power failure."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _result(path: Path, manifest: Manifest) -> ExportResult:
    return ExportResult(
        path=str(path),
        vectors_path=str(vectors_path(path)) if manifest.words else None,
        space=manifest.space,
        version=manifest.version,
        chain=manifest.chain,
        events=manifest.version + 1,
        payloads=manifest.payloads,
        vectors=manifest.vectors,
        bytes=path.stat().st_size + manifest.vectors_bytes,
        words=manifest.words,
    )
