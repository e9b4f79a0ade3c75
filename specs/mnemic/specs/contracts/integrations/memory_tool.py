"""``MemoryToolContract``: what Claude relies on in its memory tool (``memory_20250818``)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import pytest

Run = Callable[..., str]
"""Carries out a command, given as the model writes it, and returns the text for the model."""

LINES = "one\ntwo\nthree\nfour\nfive"
MISSING = "The path /memories/none.txt does not exist. Please provide a valid path."


class MemoryToolContract(ABC):
    """The guarantees of a memory tool.

    Implement the fixtures ``run`` and ``files``, and ``error``.
    """

    error: type[Exception]
    """What a refused command raises."""

    @pytest.fixture
    @abstractmethod
    def run(self) -> Run:
        """Return ``run(command, **fields)`` for a tool without files."""

    @pytest.fixture
    @abstractmethod
    def files(self, run: Run) -> Callable[[], Mapping[str, str]]:
        """Return a function that returns every file with its text, by path."""

    def refused(self, message: str) -> Any:
        """Expect a refusal that contains *message*."""
        return pytest.raises(self.error, match=re.escape(message))

    # --- create and view --------------------------------------------------------------------

    @pytest.mark.parametrize("path", ["/memories/a.txt", "/memories/deep/down/b c.md"])
    @pytest.mark.parametrize(
        "text", ["Hello, World!", "", " \n", "\n# é\n\n", "  a\tb\r\n", "cafe\u0301", "a" * 5000]
    )
    def test_a_created_file_has_its_text(
        self, run: Run, files: Callable[[], Mapping[str, str]], path: str, text: str
    ) -> None:
        answer = run("create", path=path, file_text=text)
        assert answer == f"File created successfully at: {path}"
        assert files() == {path: text}
        with self.refused(f"File {path} already exists"):
            run("create", path=path, file_text="another")
        assert files() == {path: text}

    def test_a_file_is_viewed_with_line_numbers(self, run: Run) -> None:
        run("create", path="/memories/a.txt", file_text=LINES)
        head = "Here's the content of /memories/a.txt with line numbers:\n"
        numbered = [f"{n:>6}\t{line}" for n, line in enumerate(LINES.split("\n"), 1)]
        for lines, shown in (
            (None, numbered),
            ([2, 4], numbered[1:4]),
            ([4, -1], numbered[3:]),
            ([0, 1], numbered[:1]),
            ([4, 99], numbered[3:]),
        ):
            asked = {} if lines is None else {"view_range": lines}
            assert run("view", path="/memories/a.txt", **asked) == head + "\n".join(shown)

    def test_a_folder_is_viewed_two_levels_deep(self, run: Run) -> None:
        assert run("view", path="/memories").splitlines()[1:] == ["0B\t/memories"]
        for path in ("b.txt", "a/c.txt", "a/d/e.txt", "a/d/f/g.txt", ".hidden", "a/.h/i.txt"):
            run("create", path=f"/memories/{path}", file_text="x" * 1024)
        head, *lines = run("view", path="/memories").splitlines()
        assert head == (
            "Here're the files and directories up to 2 levels deep in /memories, "
            "excluding hidden items:"
        )
        assert [line.split("\t")[1] for line in lines] == [
            *("/memories", "/memories/a/", "/memories/a/c.txt", "/memories/a/d/"),
            "/memories/b.txt",
        ]
        assert lines[-1] == "1K\t/memories/b.txt"
        assert "/memories/a/d/e.txt" in run("view", path="/memories/a")

    # --- edit -------------------------------------------------------------------------------

    def test_one_occurrence_is_replaced(
        self, run: Run, files: Callable[[], Mapping[str, str]]
    ) -> None:
        run("create", path="/memories/a.txt", file_text=LINES)
        answer = run("str_replace", path="/memories/a.txt", old_str="four", new_str="4")
        assert answer == (
            "The memory file has been edited. Here is the snippet showing the change "
            "(with line numbers):\n     2\ttwo\n     3\tthree\n     4\t4\n     5\tfive"
        )
        assert files() == {"/memories/a.txt": LINES.replace("four", "4")}

    def test_a_replacement_that_is_not_clear_is_refused(
        self, run: Run, files: Callable[[], Mapping[str, str]]
    ) -> None:
        run("create", path="/memories/a.txt", file_text="Hello\nMiddle\nHello")
        with self.refused(
            "No replacement was performed, old_str `none` did not appear verbatim in "
            "/memories/a.txt."
        ):
            run("str_replace", path="/memories/a.txt", old_str="none", new_str="x")
        with self.refused(
            "No replacement was performed. Multiple occurrences of old_str `Hello` in lines: "
            "1, 3. Please ensure it is unique"
        ):
            run("str_replace", path="/memories/a.txt", old_str="Hello", new_str="x")
        assert files() == {"/memories/a.txt": "Hello\nMiddle\nHello"}

    @pytest.mark.parametrize("end", ["", "\n"])
    def test_lines_are_inserted(
        self, run: Run, files: Callable[[], Mapping[str, str]], end: str
    ) -> None:
        for line, result in enumerate(("new\none\ntwo\n", "one\nnew\ntwo\n", "one\ntwo\nnew\n")):
            path = f"/memories/{line}.txt"
            run("create", path=path, file_text=f"one\ntwo{end}")
            answer = run("insert", path=path, insert_line=line, insert_text=f"new{end}")
            assert answer == f"The file {path} has been edited."
            assert files()[path] == result

    def test_a_line_that_there_is_not_is_refused(self, run: Run) -> None:
        run("create", path="/memories/a.txt", file_text="one\ntwo\n")
        for line in (-1, 3):
            with self.refused(
                f"Invalid `insert_line` parameter: {line}. It should be within the range [0, 2]."
            ):
                run("insert", path="/memories/a.txt", insert_line=line, insert_text="x")

    # --- delete and rename ------------------------------------------------------------------

    def test_files_and_folders_are_deleted(
        self, run: Run, files: Callable[[], Mapping[str, str]]
    ) -> None:
        for path in ("a.txt", "b/c.txt", "b/d/e.txt", "bc.txt"):
            run("create", path=f"/memories/{path}", file_text=path)
        for path in ("/memories/a.txt", "/memories/b"):
            assert run("delete", path=path) == f"Successfully deleted {path}"
            with self.refused(f"The path {path} does not exist"):
                run("delete", path=path)
        assert files() == {"/memories/bc.txt": "bc.txt"}
        with self.refused("Cannot delete the /memories directory itself"):
            run("delete", path="/memories")
        run("create", path="/memories/a.txt", file_text="again")

    def test_files_and_folders_are_renamed(
        self, run: Run, files: Callable[[], Mapping[str, str]]
    ) -> None:
        for path in ("a.txt", "b/c.txt", "b/d/e.txt"):
            run("create", path=f"/memories/{path}", file_text=path)
        for old, new in (("a.txt", "x/y/z.txt"), ("b", "n/b2")):
            answer = run("rename", old_path=f"/memories/{old}", new_path=f"/memories/{new}")
            assert answer == f"Successfully renamed /memories/{old} to /memories/{new}"
        assert files() == {
            "/memories/x/y/z.txt": "a.txt",
            "/memories/n/b2/c.txt": "b/c.txt",
            "/memories/n/b2/d/e.txt": "b/d/e.txt",
        }
        with self.refused("The destination /memories/n already exists"):
            run("rename", old_path="/memories/x/y/z.txt", new_path="/memories/n")
        with self.refused("The path /memories/none does not exist"):
            run("rename", old_path="/memories/none", new_path="/memories/m")
        with self.refused("Cannot rename the /memories directory itself"):
            run("rename", old_path="/memories", new_path="/memories/m")
        with self.refused("Cannot move /memories/n into itself"):
            run("rename", old_path="/memories/n", new_path="/memories/n/o")

    # --- paths ------------------------------------------------------------------------------

    def test_a_file_that_there_is_not_is_refused(self, run: Run) -> None:
        path = "/memories/none.txt"
        with self.refused(MISSING):
            run("view", path=path)
        with self.refused(MISSING):
            run("str_replace", path=path, old_str="a", new_str="b")
        with self.refused(MISSING):
            run("insert", path=path, insert_line=0, insert_text="a")

    def test_a_folder_is_no_file(self, run: Run) -> None:
        run("create", path="/memories/a/b.txt", file_text="x")
        for path in ("/memories", "/memories/a"):
            with self.refused(f"The path {path} is not a file."):
                run("str_replace", path=path, old_str="x", new_str="y")
            with self.refused(f"The path {path} is not a file."):
                run("insert", path=path, insert_line=0, insert_text="y")
            with self.refused(f"File {path} already exists"):
                run("create", path=path, file_text="y")
        with self.refused("The path /memories/a/b.txt is not a directory."):
            run("create", path="/memories/a/b.txt/c.txt", file_text="y")

    def test_a_path_stays_below_the_folder(self, run: Run) -> None:
        for path in ("/etc/passwd", "memories/a.txt", "/memoriesX/a.txt", ""):
            with self.refused(f"Path must start with /memories, got: {path}"):
                run("create", path=path, file_text="x")
        for path in ("/memories/../../../etc/passwd", "/memories/a/../../b"):
            with self.refused(f"Path {path} would escape /memories directory"):
                run("create", path=path, file_text="x")
        run("create", path="/memories/a/../b.txt", file_text="x")
        assert "x" in run("view", path="/memories//./b.txt")
