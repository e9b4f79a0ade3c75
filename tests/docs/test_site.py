"""The documentation site builds strictly, is complete, and loads nothing from other hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.adapters.remote.operations import operations
from tests.docs.pages import DOCS

pytestmark = pytest.mark.extended

ELSEWHERE = r"(?:https?:)?//"
LOADED = (
    re.compile(rf"<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\ssrc=[\"']?{ELSEWHERE}"),
    re.compile(rf"<(?:link|object|image|use)\b[^>]*\s(?:href|data)=[\"']?{ELSEWHERE}"),
    re.compile(rf"url\([\"']?{ELSEWHERE}"),
    re.compile(rf"@import\s+[\"']{ELSEWHERE}"),
    re.compile(r"<(?:pre|div) class=\"mermaid"),  # the theme would fetch mermaid from unpkg.com
)
"""What a browser would load from another host. Links that a reader follows are not meant."""


def loaded(text: str) -> list[str]:
    """Return what a page or a style sheet loads from another host."""
    return [match[0] for pattern in LOADED for match in pattern.finditer(text)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=DOCS.parent,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css", ".svg"}]
    assert len(files) > 40
    found = {str(path): loaded(path.read_text(encoding="utf-8")) for path in files}
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/a.js">',
        "<img alt=a src=//example.org/a.png>",
        '<link rel="stylesheet" href="http://fonts.example/a.css">',
        "src: url(https://fonts.example/a.woff2)",
        '@import "https://fonts.example/a.css"',
        '<pre class="mermaid">',
    ],
)
def test_what_another_host_would_serve_is_found(text: str) -> None:
    assert loaded(text)


def test_links_for_readers_may_lead_elsewhere() -> None:
    assert not loaded('<a href="https://example.org">a</a> <img src="a.png">')


def test_every_operation_has_a_section(site: Path) -> None:
    pages = (site / "reference/operations").glob("*.html")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    described = set(re.findall(r'id="mnemic\.adapters\.inprocess\.sync\.SyncMemory\.(\w+)"', text))
    assert set(operations()) - described == set()


def test_commands_errors_and_paths_are_listed(site: Path) -> None:
    for page, expected in {
        "command-line.html": "mnemic why-not",
        "error-codes.html": "embedder-mismatch",
        "http-paths.html": "/v1/spaces/{space}/recall",
        "http-schemas.html": "RecallResult",
        "openapi.json": '"openapi": "3.1.1"',
    }.items():
        assert expected in (site / "reference" / page).read_text(encoding="utf-8")
