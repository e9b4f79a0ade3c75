"""Rows in a file, so that a run that was stopped goes on where it was.

The file holds one JSON object per line, with the key of a row and the row; lines are only ever
appended. A key says all that its row depends on, so one file serves any number of runs, and a
line that was cut short, by a kill or a full disk, is left out: its row is computed again.
"""

from __future__ import annotations

import json
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from mnemic.kernel.errors import StoreFailed
from mnemic.kernel.ports import Row


class KeptRows:
    """Rows by key. Those in a file are read from there when they are needed.

    Without a file they are kept in memory, for the run only.

    Raises:
        StoreFailed: The file cannot be read or written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._rows: dict[str, Row] = {}
        self._places: dict[str, tuple[int, int]] = {}
        """By key, where the line of a row begins in the file, and its length."""
        self._file: FileIO | None = None
        if self._path is not None:
            try:
                self._file = FileIO(self._path, "a+")
                if not self._read(self._path):
                    self._file.write(b"\n")
            except OSError as error:
                raise self._failed(error) from error

    def _read(self, path: Path) -> bool:
        """Look up the rows of a file, and return whether its last line is whole."""
        start, line = 0, b"\n"
        with path.open("rb") as lines:
            for line in lines:
                try:
                    found = json.loads(line)
                    key, _ = found["key"], found["row"]
                    self._places[key] = start, len(line)
                except (ValueError, KeyError, TypeError, RecursionError):
                    pass  # cut short
                start += len(line)
        return line.endswith(b"\n")

    def __contains__(self, key: str) -> bool:
        return key in self._places or key in self._rows

    def __len__(self) -> int:
        return len(self._places) + len(self._rows)

    def __getitem__(self, key: str) -> Row:
        if self._file is None:
            return self._rows[key]
        start, length = self._places[key]
        try:
            self._file.seek(start)
            return json.loads(self._file.read(length))["row"]
        except OSError as error:
            raise self._failed(error) from error

    def keep(self, key: str, row: Row) -> None:
        """Add a row, in the file if there is one.

        Raises:
            StoreFailed: It cannot be written.
        """
        if self._file is None:
            self._rows[key] = row
        elif key not in self._places:
            line = json.dumps({"key": key, "row": row}, separators=(",", ":")).encode() + b"\n"
            rest = memoryview(line)
            try:
                while rest:  # a disk that is nearly full takes a part, then none
                    rest = rest[self._file.write(rest) :]
                self._places[key] = self._file.tell() - len(line), len(line)
            except OSError as error:
                raise self._failed(error) from error

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
