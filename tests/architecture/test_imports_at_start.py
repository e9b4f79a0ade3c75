"""Which modules a start loads: what takes time at every start of a process is imported late.

Modules are counted, since measured times would judge the machine; ``benchmarks/startup.py`` has the
times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory

NEVER = frozenset(
    """
    aiohttp certifi charset_normalizer cmaes cryptography fastmcp filelock hnswlib
    httpcore httpx huggingface_hub hypothesis idna importlib.metadata litestar matplotlib mcp
    numpy.ma numpy.random onnxruntime opentelemetry prometheus_client psycopg pydantic pydantic_core
    pytest requests safetensors scipy ssl starlette toml tomllib urllib.request urllib3 uvicorn
    wordllama yaml zoneinfo
    """.split()
)
"""Libraries that neither a library host nor a recall on the command line needs."""
LATE = frozenset(
    f"mnemic.{name}"
    for name in """
        adapters.embedders adapters.inprocess.consolidation.consolidation adapters.inprocess.results
        adapters.inprocess.recall.recalling adapters.transfer.copies.logs
        adapters.transfer.copies.pipeline adapters.transfer.destination kernel.decisions.coretrieval
        kernel.decisions.learning kernel.decisions.promotion kernel.decisions.recalling
        kernel.results.blocks kernel.results.edges kernel.results.recalls kernel.results.spaces
        kernel.results.upkeep kernel.statements projections.retrieval.packing
        projections.retrieval.recipes projections.retrieval.request
    """.split()
) | {
    "asyncio",
    "anyio",
    "cattrs",
    "concurrent",
    "http",
    "logging",
    "secrets",
    "subprocess",
    "tokenizers",
}
"""What the first operation needs, and opening does not."""
COMMAND_LINE = frozenset({"cyclopts", "markdown_it", "rich"})
RARE = frozenset(
    f"mnemic.{name}"
    for name in """
        adapters.http adapters.mcp adapters.client adapters.explorer adapters.importers
        adapters.integrations adapters.inprocess.memory adapters.inprocess.replay.backtest
        adapters.inprocess.replay.what_if adapters.inprocess.replay.calibration
        adapters.stores.memory adapters.stores.postgres adapters.stores.encrypted
        adapters.transfer.exports adapters.transfer.receipts kernel.results.backtests
        kernel.results.chronicles kernel.results.exchange projections.evaluation
        projections.frontier projections.references.evidence specs
    """.split()
)
"""Packages and modules of mnemic that only other operations need."""
REPORT = "\nimport json, sys; sys.stderr.write(json.dumps(sorted(sys.modules)))"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a store with one block and one decision."""
    path = tmp_path_factory.mktemp("start") / "memory.db"
    with SyncMemory.open(path) as memory:
        memory.learn("Ines moved the demo to Thursday.")
        memory.recall("When is the demo?")
    return path


def loaded(program: str, *arguments: str) -> list[str]:
    """Return the modules that a fresh interpreter has loaded after *program*."""
    done = subprocess.run(
        [sys.executable, "-c", program + REPORT, *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    names: list[str] = json.loads(done.stderr)
    return names


def of(packages: Collection[str], names: Collection[str]) -> list[str]:
    """Return those of *names* that are in one of *packages*."""
    return sorted(
        name
        for name in names
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    )


def ours(names: Collection[str]) -> int:
    return sum(name.startswith("mnemic.") for name in names)


def test_importing_the_package_alone_loads_none_of_its_modules() -> None:
    names = loaded("import mnemic")
    assert (ours(names), of({"numpy", "attrs"} | NEVER, names)) == (0, [])


def test_opening_a_memory_loads_what_opening_needs(store: Path) -> None:
    program = "import sys\nfrom mnemic import SyncMemory\nSyncMemory.open(sys.argv[1]).close()"
    names = loaded(program, str(store))
    assert of(NEVER | COMMAND_LINE | RARE | LATE, names) == []
    assert ours(names) <= 277


def test_a_recall_on_the_command_line_loads_what_it_needs(store: Path) -> None:
    program = "import sys\nfrom mnemic.adapters.cli import main\nmain()"
    names = loaded(program, "--db", str(store), "recall", "When is the demo?")
    assert of(NEVER | RARE | {"anyio", "asyncio", "tokenizers"}, names) == []
    assert ours(names) <= 343
    others = {"mnemic.adapters.cli.commands.queries", "mnemic.adapters.cli.commands"}
    assert set(of({"mnemic.adapters.cli.commands"}, names)) == others


def test_the_version_is_printed_without_the_parser() -> None:
    names = loaded("from mnemic.adapters.cli import main\nmain(['--version'])")
    never = NEVER - {"importlib.metadata"} | COMMAND_LINE | {"attrs", "numpy", "mnemic.kernel"}
    assert of(never, names) == []
