"""What no part of mnemic does: run what it reads, compare secrets by ``==``, trust a path.

``EXCEPTIONS`` is the whole list of places that come near to the first, each with its reason.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from mnemic.adapters.wire.verbs import verbs
from tests.architecture.test_purity import names_in

ROOT = Path(__file__).parents[2]
LAYERS = ("kernel", "projections", "adapters", "specs")

# --- nothing that is read is run ------------------------------------------------------------------

DANGEROUS = frozenset(
    """
    builtins.__import__ builtins.breakpoint builtins.compile builtins.eval builtins.exec
    cloudpickle code codeop ctypes dbm dill imp importlib.import_module joblib jsonpickle marshal
    multiprocessing numpy.fromfile numpy.load numpy.loadtxt numpy.memmap numpy.save numpy.savez
    os.execl os.execv os.execve os.fork os.forkpty os.popen os.posix_spawn os.spawnl os.spawnv
    os.system pickle pty runpy shelve shutil.unpack_archive subprocess tarfile.TarFile tarfile.open
    tempfile.mktemp xml yaml zipfile
    """.split()
)
"""Whatever runs text, makes objects out of bytes, starts programs, or unpacks where it is told."""
SETTINGS = {"allow_pickle": True, "shell": True, "verify": False, "check_hostname": False}
"""What no call of any library is told."""

EXCEPTIONS: Mapping[tuple[str, str], str] = {
    ("adapters/mnemic/adapters/codec/readers.py", "builtins.exec"): (
        "writes readers out of our own classes: no word of a log is in them, see below"
    ),
    ("adapters/mnemic/adapters/codec/readers.py", "builtins.compile"): "the same",
    ("adapters/mnemic/adapters/heap.py", "ctypes.CDLL"): (
        "asks the C library of this process to give memory back; no argument comes from outside"
    ),
    ("adapters/mnemic/adapters/heap.py", "ctypes"): "the same",
    ("adapters/mnemic/adapters/http/supervision.py", "os.fork"): (
        "makes the workers of `serve --workers`: they run what the parent runs, and no program"
    ),
    ("adapters/mnemic/adapters/proximity/library.py", "subprocess"): (
        "tries a compiled library out in a process of its own, with a program that stands there"
    ),
    ("adapters/mnemic/adapters/proximity/library.py", "subprocess.DEVNULL"): "the same",
    ("adapters/mnemic/adapters/proximity/library.py", "subprocess.SubprocessError"): "the same",
    ("adapters/mnemic/adapters/proximity/library.py", "subprocess.run"): "the same",
    ("specs/mnemic/specs/contracts/durability.py", "os.fork"): (
        "a contract for tests: a process of its own writes and is killed"
    ),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module of every layer, by its path."""
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


def dangers(tree: ast.AST) -> set[str]:
    """Return every dangerous name that a module imports or uses."""
    return {
        name
        for _, name in names_in(tree)
        if any(name == each or name.startswith(f"{each}.") for each in DANGEROUS)
    }


def settings(tree: ast.AST) -> list[str]:
    """Return every call of a module that is told what no call should be."""
    return [
        f"{node.lineno}: {keyword.arg}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in SETTINGS
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is SETTINGS[keyword.arg]
    ]


def test_nothing_that_is_read_is_ever_run() -> None:
    found = {(path, name) for path, tree in modules() for name in dangers(tree)}
    assert found == set(EXCEPTIONS)


def test_no_library_is_told_to_be_careless() -> None:
    assert {path: told for path, tree in modules() if (told := settings(tree))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import numpy as np\nnp.load('x')",
        "eval('1')",
        "import os\nos.system('true')",
        "from subprocess import run\nrun('true')",
        "import tarfile\ntarfile.open('x').extractall()",
        "def late():\n    import yaml",
    ],
)
def test_a_danger_is_found(source: str) -> None:
    assert dangers(ast.parse(source)) != set()


@pytest.mark.parametrize("told", ["allow_pickle=True", "shell=True", "verify=False"])
def test_carelessness_is_found(told: str) -> None:
    assert settings(ast.parse(f"call(1, {told})")) == [f"1: {told.partition('=')[0]}"]


COMPILING = """
import sys
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory

sources = []

def heard(event, facts):
    if event == "compile" and str(facts[1]).startswith("<read("):
        sources.append(bytes(facts[0]) if isinstance(facts[0], bytes) else facts[0].encode())

word = sys.argv[1]
with SyncMemory.open(sys.argv[2], embedder=HashEmbedder(), checkpoints=False) as memory:
    a = memory.learn(f"{word} gate", tags=[word], author=word, thread=word, metadata={word: word},
                     category=word, source=word, zone=word).block_id
    b = memory.learn(f"{word} oil", tags=[word]).block_id
    memory.consolidate()
    memory.connect(a, b, relation=word, note=word)
    memory.recall(word, where={"tags": word, "metadata": {word: word}})
    lane = memory.compose([a, b], tool=word, mode=word, query=word).composition_id
    memory.label(lane, "helpful", source=word, notes=word)
    memory.revise(a, f"{word} lamp", reason=word)
sys.addaudithook(heard)
with SyncMemory.open(sys.argv[2], embedder=HashEmbedder(), checkpoints=False) as memory:
    memory.log(after=-1, limit=1000)
    memory.verify()
sys.stdout.buffer.write(b"\\n\\n".join(sorted(sources)))
"""
"""Fills a store with one word, and tells which readers are written when it is opened again."""
HOSTILE = "\"]'''\n__import__('os')._exit(7) #{}"


def written(word: str, folder: Path) -> str:
    """Return the source of all readers that a log full of one word lets the codec write."""
    told = subprocess.run(
        [sys.executable, "-c", COMPILING, word, str(folder / "agent.db")],
        capture_output=True,
        check=True,
    )
    return told.stdout.decode()


def test_no_word_of_a_log_is_in_what_the_codec_compiles(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "hostile").mkdir()
    plain = written("plain", tmp_path / "plain")
    assert plain.count("def read(") > 10
    assert written(HOSTILE, tmp_path / "hostile") == plain


# --- secrets --------------------------------------------------------------------------------------

SECRET = re.compile(r"(^|_)(secret|secrets|digest|password|api_key|bearer|token_text)$")
DOORS = ("access", "http", "mcp", "client", "endpoints", "hosting")
"""Folders whose code meets secrets that somebody far away shows or guesses. Elsewhere a digest is
one of a log, and no secret."""


def compared_secrets(tree: ast.AST) -> list[str]:
    """Return every comparison of a secret that may end at the first difference.

    With a constant it may: whether something was shown at all is no secret. To look a digest up
    among others by its hash would be fine too, since nobody can steer it; there is no such place.
    """
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and not any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops)
        and not any(isinstance(each, ast.Constant) for each in node.comparators)
        and any(map(is_secret, [node.left, *node.comparators]))
    ]


def is_secret(node: ast.expr) -> bool:
    """Return whether an expression is called like a secret."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return SECRET.search(name) is not None


def test_secrets_are_compared_in_the_same_time_wherever_they_differ() -> None:
    found = {
        path: compared
        for path, tree in modules()
        if path.split("/")[3] in DOORS and (compared := compared_secrets(tree))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source", ["token.digest == digest", "secret in secrets", "a.password != b", "shown == api_key"]
)
def test_a_hasty_comparison_is_found(source: str) -> None:
    assert len(compared_secrets(ast.parse(source))) == 1


@pytest.mark.parametrize(
    "source", ["secret == ''", "secret is None", "compare_digest(secret, other)", "digest_at == 1"]
)
def test_what_gives_nothing_away_passes(source: str) -> None:
    assert compared_secrets(ast.parse(source)) == []


# --- paths ----------------------------------------------------------------------------------------

PATH = re.compile(r"(^|_)(path|file|folder|directory|into|dir|db|uri|url|address)$")


def test_no_verb_over_a_wire_takes_a_path() -> None:
    found = [
        f"{verb.name}.{name}"
        for verb in verbs().values()
        for past in (False, True)
        for name, each in verb.taking(past=past).items()
        if PATH.search(name) or "Path" in str(each.type)
    ]
    assert found == []


# --- licences -------------------------------------------------------------------------------------

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|0BSD|Zlib|CC0)", re.IGNORECASE
)
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|MPL|Mozilla|EPL|EUPL|CDDL)", re.IGNORECASE)
WEAK: Mapping[str, str] = {
    "certifi": "MPL-2.0: a list of certificates, used as it comes",
    "hypothesis": "MPL-2.0: only for tests and specs",
    "orjson": "MPL-2.0 beside Apache-2.0 or MIT: used as it comes",
    "psycopg": "LGPL-3.0: only in the extra postgres, imported as a library",
    "psycopg-binary": "LGPL-3.0: the same",
    "psycopg-pool": "LGPL-3.0: the same",
    "tqdm": "MPL-2.0 beside MIT: comes with others, used as it comes",
}
"""Whose changed files would have to stay open; mnemic changes none of them."""
EXTRA_ONLY = frozenset({"psycopg", "psycopg-binary", "psycopg-pool"})


def installed(requirements: list[str], extras: Mapping[str, list[str]]) -> dict[str, Distribution]:
    """Return all that some requirements bring along, by normalised name."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(each), frozenset[str]()) for each in requirements]
    while waiting:
        wanted, among = waiting.pop()
        if wanted.marker and not any(
            wanted.marker.evaluate({"extra": extra}) for extra in ("", *among)
        ):
            continue
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name == "mnemic":
            waiting += [
                (Requirement(line), frozenset())
                for extra in wanted.extras
                for line in extras[extra]
            ]
        elif name not in found:
            found[name] = distribution(wanted.name)
            waiting += [
                (Requirement(line), frozenset(wanted.extras)) for line in found[name].requires or ()
            ]
    return found


def licence(of: Distribution) -> str:
    """Return what a distribution says about its licence, in one line."""
    said = of.metadata.get_all("Classifier") or []
    words = [
        *(of.metadata.get_all("License-Expression") or []),
        *(each[:200] for each in of.metadata.get_all("License") or []),
        *(each for each in said if each.startswith("License ::")),
    ]
    return " ".join(" ".join(words).split())


def project() -> tuple[list[str], dict[str, list[str]]]:
    """Return what mnemic requires, always and by extra."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found["dependencies"], found["optional-dependencies"]


def test_all_that_is_installed_with_mnemic_has_a_permissive_licence_or_a_reason() -> None:
    always, extras = project()
    found = installed([*always, *extras["all"]], extras)
    odd = {
        name: licence(each)
        for name, each in found.items()
        if COPYLEFT.search(licence(each)) or not PERMISSIVE.search(licence(each))
    }
    assert odd.keys() == WEAK.keys() & found.keys()


def test_a_plain_installation_brings_nothing_under_the_lgpl() -> None:
    always, extras = project()
    assert installed(always, extras).keys() & EXTRA_ONLY == set()
