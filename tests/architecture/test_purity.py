"""Kernel and projections compute from their arguments alone.

No time, no randomness, no I/O, no order that depends on a process, and no transcendental function
outside ``kernel/arithmetic``: numpy, the C library and different processors disagree about the last
bit of those, and the last bit decides a rank. Square roots are exact by IEEE 754 and stay allowed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARITHMETIC = ROOT / "kernel/mnemic/kernel/numeric/arithmetic.py"
PAGES = ROOT / "projections/mnemic/projections/storage/mapped_arrays.py"
"""Allocates memory from the system, which is as pure as ``np.zeros``; it may use ``mmap``."""
LOCKS = ROOT / "projections/mnemic/projections/storage/extension_lock.py"
"""The lock of threads that would compute the same; what they compute does not depend on it."""
VALUES = ROOT / "kernel/mnemic/kernel/values.py"
"""Defines ``__hash__`` as attrs would, with the hash of the fields."""

# Whole modules that perform I/O or depend on the environment.
WORLDLY_MODULES = frozenset(
    """
    anyio asyncio concurrent ctypes filelock getpass glob http importlib io locale logging mmap
    multiprocessing os pathlib platform queue random requests sched secrets select selectors shelve
    shutil signal socket sqlite3 ssl subprocess sys tempfile threading time trio urllib warnings
    zoneinfo
    """.split()
)

# Single names in modules that are otherwise fine.
WORLDLY_NAMES = frozenset(
    """
    datetime.date.today datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow
    numpy.fromfile numpy.genfromtxt numpy.load numpy.loadtxt numpy.memmap numpy.random numpy.save
    numpy.savetxt numpy.savez numpy.savez_compressed
    uuid.getnode uuid.uuid1 uuid.uuid4 uuid.uuid6 uuid.uuid7
    """.split()
)

# Builtins: the console and the disk, code that cannot be checked here, and numbers that differ from
# process to process (a salted hash, an address).
WORLDLY_BUILTINS = frozenset("__import__ breakpoint eval exec hash id input open print".split())

TRANSCENDENTAL = frozenset(
    f"{module}.{function}"
    for module in ("math", "numpy", "scipy.special")
    for function in """
        acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
        cbrt cos cosh erf erfc exp exp2 expit expm1 float_power gamma lgamma log log10 log1p log2
        logaddexp logaddexp2 logit logsumexp pow power sin sinh softmax tan tanh
    """.split()
)


def origins(tree: ast.AST) -> dict[str, str]:
    """Return the full dotted name behind each imported name of a module."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.partition(".")[0]
                known[name.asname or top] = name.name if name.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                known[name.asname or name.name] = f"{node.module}.{name.name}"
    return known


def dotted(node: ast.expr, known: dict[str, str]) -> str | None:
    """Return the full name behind ``a.b.c``, None where it does not begin with an import."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value, known)):
        return f"{owner}.{node.attr}"
    return None


def names_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything imported, of every use of it, and of every builtin."""
    known = origins(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Name | ast.Attribute) and (name := dotted(node, known)):
            yield node.lineno, name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.lineno, f"builtins.{node.id}"


def reads_the_local_zone(node: ast.AST) -> bool:
    """Whether a call reads the local zone, as ``x.astimezone()`` and ``x.fromtimestamp(t)`` do."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    enough = {"astimezone": 1, "fromtimestamp": 2}.get(node.func.attr, 0)
    return len(node.args) + len(node.keywords) < enough


def is_worldly(name: str, *, transcendental: bool) -> bool:
    top, _, rest = name.partition(".")
    if top == "builtins":
        return rest in WORLDLY_BUILTINS
    if top in WORLDLY_MODULES:
        return True
    banned = WORLDLY_NAMES if transcendental else WORLDLY_NAMES | TRANSCENDENTAL
    return any(name == one or name.startswith(f"{one}.") for one in banned)


def impurities(source: str, *, transcendental: bool = False) -> tuple[str, ...]:
    """Return ``line: name`` of everything in *source* that does not follow from its arguments.

    Args:
        source: Text of a module.
        transcendental: True where exp, ln and their family are allowed.
    """
    tree = ast.parse(source)
    found = {
        (line, name)
        for line, name in names_in(tree)
        if is_worldly(name, transcendental=transcendental)
    }
    found |= {
        (node.lineno, "local zone")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and reads_the_local_zone(node)
    }
    return tuple(f"{line}: {name}" for line, name in sorted(found))


def test_kernel_and_projections_compute_from_their_arguments_alone() -> None:
    modules = [
        path
        for layer in ("kernel", "projections")
        for path in (ROOT / layer / "mnemic" / layer).rglob("*.py")
    ]
    found = {
        str(module.relative_to(ROOT)): impure
        for module in sorted(modules)
        if (
            impure := impurities(
                module.read_text(encoding="utf-8"), transcendental=module == ARITHMETIC
            )
        )
        and module not in {PAGES, LOCKS, VALUES}
    }
    assert found == {}


def test_the_extension_lock_is_all_that_is_used_of_threads() -> None:
    named = {name for _, name in names_in(ast.parse(LOCKS.read_text(encoding="utf-8")))}
    assert named == {"__future__.annotations", "threading.Lock"}


def test_values_use_the_hash_of_their_fields_and_nothing_else() -> None:
    source = VALUES.read_text(encoding="utf-8")
    assert {each.partition(": ")[2] for each in impurities(source)} == {"builtins.hash"}


def test_mapped_arrays_use_mmap_for_anonymous_memory_only() -> None:
    source = PAGES.read_text(encoding="utf-8")
    named = {each.partition(": ")[2] for each in impurities(source)}
    assert named == {"mmap", "mmap.MAP_ANONYMOUS", "mmap.MAP_PRIVATE", "mmap.mmap"}
    assert source.count("mmap.mmap(") == source.count("mmap.mmap(-1, ") == 1


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import time", "1: time"),
        ("import os.path", "1: os.path"),
        ("from pathlib import Path", "1: pathlib.Path"),
        ("def late():\n    import threading", "2: threading"),
        ("import asyncio", "1: asyncio"),
        ("import anyio", "1: anyio"),
        ("import sqlite3", "1: sqlite3"),
        ("import socket", "1: socket"),
        ("import secrets", "1: secrets"),
        ("import random", "1: random"),
        ("from datetime import datetime\ndatetime.now()", "2: datetime.datetime.now"),
        ("from datetime import datetime as dt\ndt.utcnow()", "2: datetime.datetime.utcnow"),
        ("import datetime\ndatetime.date.today()", "2: datetime.date.today"),
        ("moment.astimezone()", "1: local zone"),
        ("moment.fromtimestamp(seconds)", "1: local zone"),
        ("import uuid\nuuid.uuid4().hex", "2: uuid.uuid4"),
        ("from uuid import uuid1", "1: uuid.uuid1"),
        ("import numpy as np\nnp.random", "2: numpy.random"),
        ("from numpy.random import default_rng", "1: numpy.random.default_rng"),
        ("import numpy as np\nnp.load(file)", "2: numpy.load"),
        ("import numpy as np\nfold = np.exp", "2: numpy.exp"),
        ("import math\nmath.log(x)", "2: math.log"),
        ("from math import exp", "1: math.exp"),
        ("import scipy.special\nscipy.special.expit(x)", "2: scipy.special.expit"),
        ("open(file)", "1: builtins.open"),
        ("print(x)", "1: builtins.print"),
        ("input()", "1: builtins.input"),
        ("sorted(xs, key=hash)", "1: builtins.hash"),
        ("id(x)", "1: builtins.id"),
        ("__import__('time')", "1: builtins.__import__"),
    ],
)
def test_an_impurity_is_found(source: str, name: str) -> None:
    assert impurities(source)[0] == name


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import UTC, datetime\ndatetime.fromisoformat(text).astimezone(UTC)",
        "from datetime import UTC, datetime\ndatetime.fromtimestamp(seconds, UTC)",
        "import numpy as np\nnp.sqrt(np.asarray([1.0]))",
        "from uuid import UUID\nUUID(hex=text)",
        "import math\nmath.fsum(xs)",
        "class A:\n    def __hash__(self): return 1",
        "digest.time",
        "block.id",
    ],
)
def test_a_pure_line_passes(source: str) -> None:
    assert impurities(source) == ()


def test_arithmetic_alone_may_use_transcendental_functions() -> None:
    source = "import math\nmath.exp(x)\nmath.fsum(open(file))"
    assert impurities(source, transcendental=True) == ("3: builtins.open",)
