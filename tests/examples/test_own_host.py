"""A host needs the kernel and the projections alone, and docs/embedding.md shows how."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import own_host
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/own_host.py"
PAGE = (ROOT / "docs/embedding.md").read_text(encoding="utf-8")
SOURCE = EXAMPLE.read_text(encoding="utf-8")
PRINTED = """\
d8: The gateway times out after 30 s
now: The gateway times out after 60 s
0.050 active hours in: The gateway times out after 30 s
replayed: the same answer
"""


def test_the_host_recalls_scores_revises_and_replays(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        own_host.main()
        assert capsys.readouterr().out == PRINTED


def test_the_host_uses_public_names_of_the_kernel_and_the_projections_alone() -> None:
    imported = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.ImportFrom)]
    modules = {node.module or "" for node in imported}
    own = {each for each in modules if each.startswith("mnemic")}
    assert modules - own == {"__future__", "hashlib", "typing"}
    assert {each.split(".")[1] for each in own} == {"kernel", "projections"}
    names = [alias.name for node in imported for alias in node.names]
    parts = [part for name in (*own, *names) for part in name.split(".")]
    assert [part for part in parts if part.startswith("_")] == []


def loaded(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after running *code*."""
    script = f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=EXAMPLE.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.splitlines())


WORLDLY = {"asyncio", "eventsourcing", "psycopg", "sqlite3", "socket"}


def test_the_host_loads_no_adapter_and_no_store() -> None:
    found = loaded("import own_host; own_host.main()")
    assert {each for each in found if each.startswith("mnemic.adapters")} == set()
    assert found & WORLDLY == set()


def test_the_chain_and_the_codec_load_no_store_and_no_adapter_but_themselves() -> None:
    found = loaded("import mnemic.adapters.codec, mnemic.adapters.stores.logs.chain")
    adapters = {each for each in found if each.startswith("mnemic.adapters.")}
    allowed = ("mnemic.adapters.codec", "mnemic.adapters.stores.logs.chain")
    packages = {"mnemic.adapters.stores", "mnemic.adapters.stores.logs"}
    assert {each for each in adapters - packages if not each.startswith(allowed)} == set()
    assert "mnemic.projections" not in found
    assert found & WORLDLY == set()


def test_the_page_quotes_the_example_as_it_is() -> None:
    quoted = re.findall(
        r"(?:^ {4}.*\n|^\n(?= {4}))+", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL), re.MULTILINE
    )
    excerpts = [textwrap.dedent(each).strip() for each in quoted if "def " in each]
    assert len(excerpts) == 4
    for excerpt in excerpts:
        assert textwrap.indent(excerpt, "    ") in SOURCE
