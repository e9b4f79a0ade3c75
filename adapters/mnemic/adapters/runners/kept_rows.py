"""Rows in a file, so that a run that was stopped goes on where it was.

The file holds one JSON object per line, with the key of a row and the row; lines are only ever
appended. A key says all that its row depends on, so one file serves any number of runs, and a
line that was cut short, by a kill or a full disk, is left out: its row is computed again.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from mnemic.kernel.errors import StoreFailed
from mnemic.kernel.ports import Row


class KeptRows:
    """Rows by key. Without a file they are kept for the run only.

    Raises:
        StoreFailed: The file cannot be read or written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._rows: dict[str, Row] = {}
        self._written: set[str] = set()
        """Keys of the rows in the file."""
        self._file: BinaryIO | None = None
        if self._path is not None:
            try:
                self._read(self._path)
                self._file = self._path.open("ab", buffering=0)
            except OSError as error:
                raise self._failed(error) from error

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        body = path.read_bytes()
        for line in body.splitlines():
            try:
                found = json.loads(line)
                self._rows[found["key"]] = found["row"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # cut short
        self._written.update(self._rows)
        if body and not body.endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def keep(self, key: str, row: Row) -> None:
        """Add a row, in the file too.

        Raises:
            StoreFailed: It cannot be written.
        """
        if self._file is not None and key not in self._written:
            line = json.dumps({"key": key, "row": row}, separators=(",", ":"))
            try:
                self._file.write(f"{line}\n".encode())
            except OSError as error:
                raise self._failed(error) from error
            self._written.add(key)
        self._rows[key] = row

    def drop(self, key: str) -> None:
        """Forget a row of this run; in a file it stays."""
        self._rows.pop(key, None)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _failed(self, error: OSError) -> StoreFailed:
        return StoreFailed(
            f"cannot keep rows in {self._path}: {error.strerror}",
            recovery="Name a file that can be written.",
            path=str(self._path),
        )
