"""Imports point inwards: adapters → projections → kernel, and specs → kernel.

What a layer may import is written out in ``LAYERS``. A library or a module of the standard library
that is missing there is refused until it is added, with a reason.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from tests.architecture.imports import cycles, module_graph, modules, package_graph

ROOT = Path(__file__).parents[2]

# Modules that compute from their arguments alone. Excluded: anything that can read the time, the
# environment, the disk, the network, another thread, or import by name.
PURE_STANDARD_LIBRARY = frozenset(
    """
    __future__ abc array base64 binascii bisect collections contextlib copy datetime decimal enum
    fractions functools hashlib heapq hmac itertools json math numbers operator re string struct
    textwrap types typing unicodedata uuid
    """.split()
)


@frozen(kw_only=True)
class Layer:
    """What one package may import."""

    inner: frozenset[str]
    """Packages of mnemic, its own included."""
    libraries: frozenset[str]
    """Import names of third-party libraries."""
    standard_library: frozenset[str] = frozenset(sys.stdlib_module_names)
    """Modules of the standard library."""


LAYERS = {
    "kernel": Layer(
        inner=frozenset({"kernel"}),
        libraries=frozenset({"attrs", "numpy"}),
        standard_library=PURE_STANDARD_LIBRARY,
    ),
    "projections": Layer(
        inner=frozenset({"kernel", "projections"}),
        libraries=frozenset({"Stemmer", "attrs", "cattrs", "numpy", "orjson", "scipy"}),
        # Each of the two in one module: see test_purity.
        standard_library=PURE_STANDARD_LIBRARY | {"mmap", "threading"},
    ),
    "specs": Layer(
        inner=frozenset({"kernel", "specs"}),
        libraries=frozenset({"attrs", "hypothesis", "numpy", "pytest"}),
    ),
    "adapters": Layer(
        inner=frozenset({"kernel", "projections", "adapters"}),
        libraries=frozenset(
            """
            agent_framework anthropic anyio attrs bpe_openai cattrs cmaes cryptography cyclopts
            eventsourcing filelock google hnswlib httptools httpx httpx_sse ijson langchain_core
            langgraph litestar markdown_it matplotlib mcp msgspec numpy obstore onnxruntime
            opentelemetry orjson prometheus_client psycopg psycopg_pool pydantic pydantic_ai ray
            rich scipy starlette tenacity tokenizers uvicorn yaml
            """.split()
        ),
    ),
}


def imported(source: str, *, package: str) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything that *source*, a module of *package*, imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for name in node.names:
                yield node.lineno, f"{origin}.{name.name}"


def outward_imports(source: str, *, layer: str, package: str = "mnemic") -> tuple[str, ...]:
    """Return ``line: name`` of every import that *layer* may not have."""
    allowed = LAYERS[layer]
    refused: list[str] = []
    for line, name in imported(source, package=package):
        top, _, rest = name.partition(".")
        if top == "mnemic":
            fine = rest.partition(".")[0] in allowed.inner
        else:
            fine = top in allowed.libraries | allowed.standard_library
        if not fine:
            refused.append(f"{line}: {name}")
    return tuple(refused)


def modules_of(layer: str) -> list[Path]:
    return sorted((ROOT / layer / "mnemic" / layer).rglob("*.py"))


def package_of(module: Path, layer: str) -> str:
    return ".".join(module.relative_to(ROOT / layer).parent.parts)


@pytest.mark.parametrize("layer", LAYERS)
def test_every_import_of_a_layer_points_inwards(layer: str) -> None:
    refused = {
        str(module.relative_to(ROOT)): found
        for module in modules_of(layer)
        if (
            found := outward_imports(
                module.read_text(encoding="utf-8"), layer=layer, package=package_of(module, layer)
            )
        )
    }
    assert refused == {}


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("kernel", "import mnemic.projections.view"),
        ("kernel", "from mnemic.adapters import stores"),
        ("kernel", "from mnemic import adapters"),
        ("kernel", "import mnemic"),
        ("kernel", "import orjson"),
        ("kernel", "import scipy"),
        ("kernel", "import os"),
        ("kernel", "import importlib"),
        ("kernel", "def late():\n    from pathlib import Path"),
        ("kernel", "if TYPE_CHECKING:\n    import mnemic.specs"),
        ("projections", "from mnemic.adapters.inprocess import Memory"),
        ("projections", "import sqlite3"),
        ("projections", "import mnemic.specs"),
        ("specs", "import mnemic.projections.view"),
        ("specs", "from mnemic.adapters.inprocess import Memory"),
        ("adapters", "import mnemic.specs"),
        ("adapters", "import hypothesis"),
    ],
)
def test_an_outward_import_is_found(layer: str, source: str) -> None:
    assert len(outward_imports(source, layer=layer)) == 1


def test_a_relative_import_is_followed_to_where_it_leads() -> None:
    source = "from . import sibling\nfrom ...projections import view"
    found = outward_imports(source, layer="kernel", package="mnemic.kernel.decisions")
    assert found == ("2: mnemic.projections.view",)


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("kernel", "from __future__ import annotations\nimport math\nimport numpy as np"),
        ("kernel", "from mnemic.kernel.events import Event"),
        ("projections", "from mnemic.kernel import events\nimport scipy.sparse as sparse"),
        ("specs", "import tomllib\nimport hypothesis.strategies\nimport mnemic.kernel.policy"),
        ("adapters", "import sqlite3\nimport mnemic.projections.view\nimport anyio.to_thread"),
    ],
)
def test_an_inward_import_passes(layer: str, source: str) -> None:
    assert outward_imports(source, layer=layer) == ()


@pytest.mark.parametrize("layer", LAYERS)
def test_there_is_something_to_check(layer: str) -> None:
    assert modules_of(layer) != []


def test_no_module_imports_itself_in_a_circle() -> None:
    assert cycles(module_graph(modules())) == []


def test_no_package_imports_itself_in_a_circle() -> None:
    assert cycles(package_graph(modules())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import mnemic.b.two",
        "from mnemic.b import two",
        "from mnemic.b.two import Two",
        "def late():\n    from mnemic.b.two import Two",
        "if TYPE_CHECKING:\n    from mnemic.b.two import Two",
    ],
)
def test_a_cycle_is_found_whichever_way_it_is_imported(tmp_path: Path, source: str) -> None:
    files = {
        "mnemic.a": tmp_path / "a/__init__.py",
        "mnemic.a.one": tmp_path / "a/one.py",
        "mnemic.a.other": tmp_path / "a/other.py",
        "mnemic.b": tmp_path / "b/__init__.py",
        "mnemic.b.two": tmp_path / "b/two.py",
    }
    for path in files.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
    files["mnemic.a.one"].write_text(source, encoding="utf-8")
    files["mnemic.b.two"].write_text("from mnemic.a.other import Other", encoding="utf-8")
    assert cycles(module_graph(files)) == []
    assert cycles(package_graph(files)) == [["mnemic.a", "mnemic.b"]]
    files["mnemic.a.other"].write_text("from mnemic.a import one", encoding="utf-8")
    assert cycles(module_graph(files)) == [["mnemic.a.one", "mnemic.a.other", "mnemic.b.two"]]
