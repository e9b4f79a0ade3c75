"""A memory that is carried here whole, or brought from here: an export as one body.

What comes is written aside, checked from end to end, and moved into its place as a whole; what goes
is read from its files as it goes. How the body is made up is told by ``exchange.archive``.
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
from mnemic.adapters.exchange import archive, files, importing
from mnemic.adapters.exchange.archive import Packed, Unpacking
from mnemic.adapters.exchange.asides import aside
from mnemic.adapters.exchange.copying import Progress
from mnemic.adapters.exchange.exporting import PROGRESS_EVERY, vectors_path
from mnemic.adapters.exchange.manifest import Manifest
from mnemic.adapters.exchange.reading import Export
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import ExportResult, ImportResult

PACKING_S: Final = 3600.0
"""How long a server may take until an export begins to come: it packs all of it first."""


class Download:
    """An export on its way here, for a ``with`` block.

    Args:
        path: Where the file of lines goes; the vectors go beside it.

    Raises:
        FieldRefused: A file exists.
        StoreFailed: There is no such folder, or no file can be called that.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        files.checked_new(self.path)
        files.checked_new(vectors_path(self.path))
        with files.named(self.path), ExitStack() as stack:
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
        """Return what takes the body apart, for one more try from the beginning.

        Raises:
            StoreFull, StoreFailed: There is no place for it.
        """
        self._tries += 1
        folder = self._folder / str(self._tries)
        with files.named(self.path):
            folder.mkdir()
        self._unpacking = Unpacking(folder)
        return self._unpacking

    def settled(self, progress: Progress | None = None) -> ExportResult:
        """Check what has come, move it into its place, and tell what it is.

        Args:
            progress: Called now and then with the events checked and those there are.

        Raises:
            ExportCorrupt: It is not what was sent.
            FieldRefused: Somebody else made one of the files meanwhile.
            StoreFull, StoreFailed: The files cannot be kept.
        """
        assert self._unpacking is not None  # noqa: S101 - nothing settles that has not begun
        lines = self._unpacking.finish()
        manifest = _checked(Export(lines), progress)
        drafts, paths = [lines], [self.path]
        if manifest.words:
            drafts.append(vectors_path(lines))
            paths.append(vectors_path(self.path))
        with files.named(self.path):
            for draft in drafts:
                _keep(draft)
            files.settle_all(drafts, paths)
        return _told(self.path, manifest)


def export_request(space: str, arguments: Mapping[str, Any]) -> Request:
    """Return the request for the export of a space.

    Raises:
        FieldRefused: An argument cannot be sent.
    """
    request = request_of(Call(verb="export", arguments=arguments), space=space, again=True)
    headers = {**request.headers, "Accept": archive.MEDIA_TYPE}
    return evolve(request, headers=headers, silence_s=PACKING_S)


def packed_export(path: str | Path) -> Packed:
    """Return an export, ready to be sent; to be closed in the end.

    Raises:
        ExportCorrupt, StoreFailed: It is none, or cannot be read.
        FieldRefused: It holds no words.
    """
    file = Path(path)
    importing.check_words(Export(file))
    return Packed(file)


def import_request(packed: Packed, space: str | None) -> Request:
    """Return the request that makes a space of an export.

    Args:
        packed: The export.
        space: Its name there; None: the one that was exported.

    Raises:
        FieldRefused: It is no name.
    """
    call = Call(verb="import_space")
    request = request_of(call, space=packed.manifest.space if space is None else space, again=False)
    headers = {
        "Accept": SSE,
        "Content-Type": archive.MEDIA_TYPE,
        "Content-Length": str(packed.size),
    }
    return evolve(request, headers=headers, body=packed)


def imported(answer: Answer, request: Request, server: Server) -> ImportResult:
    """Return what was made of an export.

    Raises:
        ServerUnreachable: It is no answer of the verb.
    """
    made: ImportResult = result_in(answer, verbs()["import_space"], request, server)
    return made


def check_own(actor: str, **parts: object) -> None:
    """Refuse what a server has of its own.

    Raises:
        FieldRefused: Something was given.
    """
    given = [name for name, each in parts.items() if each is not None]
    if actor != "import":
        given.insert(0, "actor")
    for name in given:
        raise FieldRefused(
            f"{name} of import_space cannot be said over HTTP",
            recovery=f"Leave out {name}: the server has its own.",
            field=name,
        )


def _checked(export: Export, progress: Progress | None) -> Manifest:
    total = export.manifest.version + 1
    for entry in export.entries():
        done = entry.record.version + 1
        if progress is not None and (done % PROGRESS_EVERY == 0 or done == total):
            progress(done, total)
    return export.manifest


def _keep(path: Path) -> None:
    """See to it that the bytes of a file outlive a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _told(path: Path, manifest: Manifest) -> ExportResult:
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
