"""The structure of the project's folders and files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePath

import pytest

from tests.architecture.imports import folder_sizes, modules

ROOT = Path(__file__).parents[2]
LAYERS = ("adapters", "kernel", "projections", "specs")
FOLDER_MAX = 17
"""Modules in one folder, ``__init__`` aside: few enough to survey."""
FOLDERS = (*LAYERS, "benchmarks", "docs", "examples", "tests")

# Names that do not describe the content.
EMPTY_NAMES = re.compile(r"(util|helper|common|base|manager|misc|stuff)s?")

# An absolute path into a home, temporary or working folder.
MACHINE_PATH = re.compile(
    r"(?<![\w.:/)}-])(?:/(?:home|root|Users|tmp|work|opt|mnt)/\w|[A-Za-z]:\\Users\b)"
)
TEXT_SUFFIXES = frozenset({"", ".cfg", ".json", ".jsonl", ".md", ".py", ".toml", ".txt", ".yml"})


def emptily_named(paths: Iterable[PurePath]) -> list[str]:
    """Return the Python modules and packages among *paths* with a meaningless name."""
    return sorted(
        str(path)
        for path in paths
        if path.suffix == ".py"
        for word in re.split(r"[^a-z0-9]+", str(path.with_suffix("")))
        if EMPTY_NAMES.fullmatch(word)
    )


def machine_paths(text: str) -> list[str]:
    """Return the lines of *text* that contain a path of some machine."""
    return [line.strip() for line in text.splitlines() if MACHINE_PATH.search(line)]


def project_files() -> list[Path]:
    """Return every hand-written file: the top folders, the top files, the CI scripts."""
    inside = [path for folder in (*FOLDERS, ".ci") for path in (ROOT / folder).rglob("*")]
    return sorted(
        path
        for path in (*ROOT.iterdir(), *inside)
        if path.is_file() and "__pycache__" not in path.parts
    )


def test_top_level_folders_are_the_eight_that_the_design_names() -> None:
    made = {"build", "dist"}
    found = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    assert sorted(found - made) == sorted(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_top_level_folder_has_a_readme(folder: str) -> None:
    lines = (ROOT / folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {folder}"


def test_the_four_portions_of_the_package_begin_with_the_same_file() -> None:
    """Each extends the path of ``mnemic`` to all of them, whichever is imported first."""
    assert len({(ROOT / layer / "mnemic/__init__.py").read_bytes() for layer in LAYERS}) == 1


@pytest.mark.parametrize("layer", LAYERS)
def test_each_portion_holds_one_package_and_nothing_else(layer: str) -> None:
    found = {path.name for path in (ROOT / layer / "mnemic").iterdir()}
    program = {"__main__.py"} if layer == "adapters" else set()
    assert found - {"__pycache__", "__init__.py"} == {layer} | program


def test_no_source_folder_holds_too_many_modules() -> None:
    full = {
        folder.relative_to(ROOT).as_posix(): size
        for folder, size in folder_sizes(modules()).items()
        if size > FOLDER_MAX
    }
    assert full == {}


@pytest.mark.parametrize("layer", LAYERS)
def test_each_package_is_marked_as_typed(layer: str) -> None:
    assert (ROOT / layer / "mnemic" / layer / "py.typed").read_bytes() == b""


def test_modules_are_named_for_what_they_hold() -> None:
    assert emptily_named(path.relative_to(ROOT) for path in project_files()) == []


@pytest.mark.parametrize(
    "path",
    ["kernel/utils.py", "tests/helpers/clock.py", "a/manager.py", "a/test_common.py", "base.py"],
)
def test_an_empty_name_is_found(path: str) -> None:
    assert emptily_named([PurePath(path)]) == [path]


def test_a_name_that_only_contains_an_empty_one_passes() -> None:
    assert emptily_named([PurePath("kernel/database.py"), PurePath("docs/helpers.md")]) == []


def test_project_files_name_no_path_of_a_machine() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in project_files()
        if path.suffix in TEXT_SUFFIXES
        and (lines := machine_paths(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


@pytest.mark.parametrize("folder", ["home", "root", "Users", "tmp", "work"])
def test_a_path_of_a_machine_is_found(folder: str) -> None:
    line = f"open('/{folder}/alice/agent.db')"
    assert machine_paths(f"fine\n{line}\n") == [line]


@pytest.mark.parametrize(
    "line", ["https://example.org/home/page", "./work/plan.md", "docs/tmp/x", "#!/usr/bin/env bash"]
)
def test_an_address_or_a_relative_path_passes(line: str) -> None:
    assert machine_paths(line) == []
