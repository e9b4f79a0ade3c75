"""The import graph of the sources, for the tests of the layout.

Every import counts: at the top of a module, inside a function, under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYERS = ("adapters", "kernel", "projections", "specs")

Graph = Mapping[str, frozenset[str]]
"""Edges by source: what each module, or package, imports."""


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return the file of every module of the four layers, by full name; packages included."""
    found: dict[str, Path] = {}
    for layer in LAYERS:
        for path in sorted((root / layer / "mnemic" / layer).rglob("*.py")):
            parts = path.relative_to(root / layer).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def module_graph(files: Mapping[str, Path]) -> Graph:
    """Return which modules each module imports, itself aside."""
    return {
        name: frozenset(_imported(path.read_text(encoding="utf-8"), files)) - {name}
        for name, path in files.items()
    }


def package_graph(files: Mapping[str, Path]) -> Graph:
    """Return the imports between packages.

    A package without subpackages is one node. A module next to subpackages is a separate node:
    the modules at the root of a layer do not form a unit.
    """
    parents = {name.rpartition(".")[0] for name in files}
    nested = {parent for parent in parents if any(p.startswith(parent + ".") for p in parents)}

    def node(name: str) -> str:
        if files[name].name == "__init__.py":
            return f"{name}.__init__" if name in nested else name
        parent = name.rpartition(".")[0]
        return name if parent in nested else parent

    graph: dict[str, set[str]] = {node(name): set() for name in files}
    for name, targets in module_graph(files).items():
        graph[node(name)] |= {node(target) for target in targets} - {node(name)}
    return {name: frozenset(targets) for name, targets in graph.items()}


def cycles(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components of more than one node, each sorted (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def single_importers(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the modules that exactly one other module imports, with that module.

    A package that only re-exports its own modules does not count as an importer.
    """
    importers: dict[str, set[str]] = {name: set() for name in files}
    for name, targets in module_graph(files).items():
        for target in targets:
            is_reexport = files[name].name == "__init__.py" and target.startswith(name + ".")
            if not is_reexport:
                importers[target].add(name)
    return {
        name: next(iter(by))
        for name, by in sorted(importers.items())
        if len(by) == 1 and files[name].name != "__init__.py"
    }


def folder_sizes(files: Mapping[str, Path]) -> dict[Path, int]:
    """Return how many modules each folder holds, ``__init__`` aside; the fullest first."""
    counts: dict[Path, int] = {}
    for path in files.values():
        if path.name != "__init__.py":
            counts[path.parent] = counts.get(path.parent, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))


def _imported(source: str, files: Mapping[str, Path]) -> Iterable[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in files:
                    yield full
                elif node.module in files:
                    yield node.module
