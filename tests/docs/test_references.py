"""Links and commands of all pages refer to something that exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.adapters.cli.application import whole
from tests.docs.pages import DOCS

ROOT = DOCS.parent
GENERATED = ROOT / "docs/reference"
"""Pages of this folder may be made during the build of the site, which checks links to them."""
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
COMMAND = re.compile(r"^(?: {4,}|\$ )(mnemic .*)$", re.MULTILINE)
INSTALLATION = re.compile(r"(?:pipx?|uv tool) install .*\bmnemic\b")
REST = re.compile(r" [|>#] ?.*$| \$\(.*$")
"""The part of a line after the command: a redirection, a pipe or a comment."""
PLACEHOLDER = re.compile(r"[A-Z]{2,}\b|…|\.\.\.")


def pages() -> list[Path]:
    """Return every Markdown page that people read."""
    folders = ("docs", "examples", "specs", "tests", "benchmarks", "kernel", "projections")
    return sorted(
        [*ROOT.glob("*.md"), *(page for name in folders for page in (ROOT / name).rglob("*.md"))]
    )


def broken_links(page: Path) -> list[str]:
    """Return the targets of relative links that do not exist."""
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    return [
        target
        for target in targets
        if not (place := (page.parent / target).resolve()).exists()
        and not place.is_relative_to(GENERATED)
    ]


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of every complete ``mnemic`` command in *text*."""
    for line in COMMAND.findall(text):
        command = REST.sub("", line)
        if not PLACEHOLDER.search(command):
            yield shlex.split(command)[1:]


def parse(arguments: list[str]) -> None:
    """Parse a command line as the application does, and carry nothing out.

    Raises:
        CycloptsError: A command or an option does not exist, or an argument is missing.
    """
    app = whole()
    _, bound, _ = app.meta.parse_args(arguments, print_error=False, exit_on_error=False)
    app.parse_args(bound.args, print_error=False, exit_on_error=False)


def test_relative_links_lead_to_a_file() -> None:
    found = {str(page.relative_to(ROOT)): broken_links(page) for page in pages()}
    assert {page: links for page, links in found.items() if links} == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md), [b](gone.md#here), [c](https://example.org)", encoding="utf-8")
    assert broken_links(page) == ["gone.md"]


def test_mnemic_is_installed_from_the_clone() -> None:
    """The name is not on the package index, so no line may ask for it there."""
    lines = [
        line
        for page in pages()
        for line in page.read_text(encoding="utf-8").splitlines()
        if INSTALLATION.search(line)
    ]
    assert lines
    assert [line for line in lines if "./mnemic" not in line] == []


@pytest.mark.parametrize(
    "page",
    [*DOCS.glob("*.md"), *(DOCS / "how-to").glob("*.md"), ROOT / "README.md"],
    ids=lambda page: page.stem,
)
def test_every_command_on_a_page_can_be_parsed(page: Path) -> None:
    for arguments in commands(page.read_text(encoding="utf-8")):
        parse(arguments)


def test_commands_are_found_and_checked() -> None:
    text = "    mnemic log  # all\n$ mnemic recall 'x' | less\n    mnemic token create NAME\n"
    assert list(commands(text)) == [["log"], ["recall", "x"]]
    with pytest.raises(Exception, match="Unknown option"):
        parse(["recall", "x", "--nope"])
