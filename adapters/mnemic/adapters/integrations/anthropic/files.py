"""The files of the memory tool: each is a record, every edit a revision.

Folders are what the paths of files have in common. Wording of results and errors is that of the
tool's own implementation on a file system, which models have learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from anthropic.lib.tools import ToolError

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.records import Put, Record, Records, value_of
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import Block

FOLDER: Final = "/memories"
LINES_MAX: Final = 999_999
NUMBER_WIDTH: Final = len(str(LINES_MAX))
DEPTH: Final = 2
"""How many levels the view of a folder shows."""
CONTEXT: Final = 2
"""Lines that are shown before and after a replacement."""
UNITS: Final = "BKMG"

Path = tuple[str, ...]


class MemoryFiles:
    """The files under ``/memories``.

    Args:
        memory: Where they are.
        scope: The user, agent or run that they belong to.
    """

    def __init__(self, memory: SyncMemory, *, scope: Mapping[str, str] | None = None) -> None:
        self._records = Records(memory, root="memories", actor="claude", scope=scope)

    def carry_out(self, work: Callable[[Records], str]) -> str:
        """Return what *work* returns, as one transaction.

        Raises:
            ToolError: It is refused; the model reads why.
        """
        try:
            return self._records.transaction(work)
        except MnemicError as error:
            raise ToolError(f"{error.message} {error.recovery or ''}".strip()) from error

    def all(self) -> list[Record]:
        """Return every file, with the parts of its path and its text."""
        return self._records.below()

    def revisions(self, path: str) -> list[tuple[Block, str]]:
        """Return the blocks of a file and their texts, in the order in which each was written."""
        blocks = self._records.revisions(parts_of(path))
        return [(block, value_of(block)) for block in blocks if block.content is not None]

    def view(self, path: str, lines: list[int] | None) -> str:
        """Return a file with line numbers, or what is in a folder.

        Args:
            path: The file or folder.
            lines: The first and the last line, -1 for the end of the file; None: all.
        """

        def work(records: Records) -> str:
            parts = parts_of(path)
            record = records.get(parts) if parts else None
            if record is not None:
                return _numbered(path, record.value, lines)
            below = records.below(*parts)
            if parts and not below:
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            return _listed(path, parts, below)

        return self.carry_out(work)

    def create(self, path: str, text: str) -> str:
        """Write a new file."""

        def work(records: Records) -> str:
            parts = parts_of(path)
            if not parts or _exists(records, parts):
                raise ToolError(f"File {path} already exists")
            _check_folders(records, parts)
            _write(records, parts, text)
            return f"File created successfully at: {path}"

        return self.carry_out(work)

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace the one occurrence of a text in a file."""

        def work(records: Records) -> str:
            parts, text = _read(records, path)
            count = text.count(old) if old else 0
            at = [place for place in range(len(text)) if text.startswith(old, place)]
            if count == 0:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim "
                    f"in {path}."
                )
            if count > 1:
                found = ", ".join(str(text.count("\n", 0, place) + 1) for place in at)
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` "
                    f"in lines: {found}. Please ensure it is unique"
                )
            changed = text.replace(old, new)
            _write(records, parts, changed)
            line = text.count("\n", 0, at[0])
            first = max(0, line - CONTEXT)
            shown = changed.split("\n")[first : line + CONTEXT + 1]
            return (
                "The memory file has been edited. Here is the snippet showing the change "
                f"(with line numbers):\n{_with_numbers(shown, first + 1)}"
            )

        return self.carry_out(work)

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert lines into a file after one of its lines; 0: before the first."""

        def work(records: Records) -> str:
            parts, before = _read(records, path)
            lines = before.removesuffix("\n").split("\n") if before else []
            if not 0 <= line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(line, text.rstrip("\n"))
            _write(records, parts, "\n".join(lines).removesuffix("\n") + "\n")
            return f"The file {path} has been edited."

        return self.carry_out(work)

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all that is in it."""

        def work(records: Records) -> str:
            parts = parts_of(path)
            if not parts:
                raise ToolError("Cannot delete the /memories directory itself")
            found = _tree(records, parts)
            if not found:
                raise ToolError(f"The path {path} does not exist")
            records.write({record.path: None for record in found})
            return f"Successfully deleted {path}"

        return self.carry_out(work)

    def rename(self, old: str, new: str) -> str:
        """Move a file, or a folder with all that is in it."""

        def work(records: Records) -> str:
            source, target = parts_of(old), parts_of(new)
            if not source:
                raise ToolError("Cannot rename the /memories directory itself")
            if not target or _exists(records, target):
                raise ToolError(f"The destination {new} already exists")
            found = _tree(records, source)
            if not found:
                raise ToolError(f"The path {old} does not exist")
            if target[: len(source)] == source:
                raise ToolError(f"Cannot move {old} into itself")
            _check_folders(records, target)
            changes: dict[Path, Put | None] = {record.path: None for record in found}
            for record in found:
                path = (*target, *record.path[len(source) :])
                changes[path] = Put(value=record.value, text=record.value)
            records.write(changes)
            return f"Successfully renamed {old} to {new}"

        return self.carry_out(work)

    def clear(self) -> str:
        """Delete everything."""

        def work(records: Records) -> str:
            records.write({record.path: None for record in records.below()})
            return "All memory cleared"

        return self.carry_out(work)


def parts_of(path: str) -> Path:
    """Return the parts of a path below ``/memories``; none for that folder itself.

    Raises:
        ToolError: It is not a path below it.
    """
    if path != FOLDER and not path.startswith(f"{FOLDER}/"):
        raise ToolError(f"Path must start with {FOLDER}, got: {path}")
    parts: list[str] = []
    for part in path[len(FOLDER) :].split("/"):
        if part == "..":
            if not parts:
                raise ToolError(f"Path {path} would escape {FOLDER} directory")
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return tuple(parts)


def _tree(records: Records, parts: Path) -> list[Record]:
    """Return the file at a path, or all files below it."""
    record = records.get(parts)
    return records.below(*parts) if record is None else [record]


def _exists(records: Records, parts: Path) -> bool:
    return bool(_tree(records, parts))


def _check_folders(records: Records, parts: Path) -> None:
    """Refuse a path of which a part before the last is a file."""
    for end in range(1, len(parts)):
        if records.get(parts[:end]) is not None:
            raise ToolError(f"The path {'/'.join((FOLDER, *parts[:end]))} is not a directory.")


def _read(records: Records, path: str) -> tuple[Path, str]:
    parts = parts_of(path)
    record = records.get(parts) if parts else None
    if record is not None:
        text: str = record.value
        return parts, text
    if not parts or records.below(*parts):
        raise ToolError(f"The path {path} is not a file.")
    raise ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _write(records: Records, parts: Path, text: str) -> None:
    records.write({parts: Put(value=text, text=text)})


def _numbered(path: str, text: str, lines: list[int] | None) -> str:
    every = text.split("\n")
    if len(every) > LINES_MAX:
        raise ToolError(f"File {path} exceeds maximum line limit of {LINES_MAX:,} lines.")
    first, last = 1, len(every)
    if lines is not None and len(lines) == len(("first", "last")):
        first = max(1, lines[0])
        last = last if lines[1] == -1 else lines[1]
    shown = every[first - 1 : last]
    return f"Here's the content of {path} with line numbers:\n{_with_numbers(shown, first)}"


def _with_numbers(lines: list[str], first: int) -> str:
    return "\n".join(
        f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first)
    )


def _listed(path: str, parts: Path, files: list[Record]) -> str:
    """Return what is in a folder, without hidden entries, in the order of their names."""
    sizes: dict[Path, int] = {(): 0}
    folders: set[Path] = set()
    for record in files:
        below, size = record.path[len(parts) :], len(record.value.encode())
        if any(part.startswith(".") for part in below):
            continue
        for end in range(len(below) + 1):
            sizes[below[:end]] = sizes.get(below[:end], 0) + size
        folders.update(below[:end] for end in range(1, len(below)))
    lines = [f"{_size(sizes.pop(()))}\t{path}"]
    for entry in sorted(sizes):
        if len(entry) <= DEPTH:
            mark = "/" if entry in folders else ""
            lines.append(f"{_size(sizes[entry])}\t{path}/{'/'.join(entry)}{mark}")
    return (
        f"Here're the files and directories up to {DEPTH} levels deep in {path}, "
        "excluding hidden items:\n" + "\n".join(lines)
    )


def _size(count: int) -> str:
    """Return a number of bytes as the tool writes it: 0B, 1.5K, 2M."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(UNITS) - 1)
    value: Any = count / 1024**unit
    return f"{value:.0f}{UNITS[unit]}" if value == int(value) else f"{value:.1f}{UNITS[unit]}"
