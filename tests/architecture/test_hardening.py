"""Insecure practices that no part of mnemic uses: running input, comparing secrets by ``==``.

``EXCEPTIONS`` lists all places that come close to running input, each with its reason.
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

from mnemic.adapters.remote.operations import operations
from tests.architecture.test_purity import names_in

ROOT = Path(__file__).parents[2]
LAYERS = ("kernel", "projections", "adapters", "specs")

# --- no input is executed -------------------------------------------------------------------------

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
"""Functions that run text, unpickle bytes, start programs, or unpack to any path."""
SETTINGS = {"allow_pickle": True, "shell": True, "verify": False, "check_hostname": False}
"""Arguments that no call of any library may have."""

EXCEPTIONS: Mapping[tuple[str, str], str] = {
    ("adapters/mnemic/adapters/codec/compiled_readers.py", "builtins.exec"): (
        "compiles readers from our own classes: they contain no text of a log, see below"
    ),
    ("adapters/mnemic/adapters/codec/compiled_readers.py", "builtins.compile"): "the same",
    ("adapters/mnemic/adapters/system/heap.py", "ctypes.CDLL"): (
        "asks the C library of this process to give memory back; no argument comes from outside"
    ),
    ("adapters/mnemic/adapters/system/heap.py", "ctypes"): "the same",
    ("adapters/mnemic/adapters/http/workers.py", "pickle"): (
        "sends the settings of a server to its own workers; nothing from outside is unpickled"
    ),
    ("adapters/mnemic/adapters/http/workers.py", "pickle.dumps"): "the same",
    ("adapters/mnemic/adapters/http/workers.py", "multiprocessing"): (
        "asks for the parent of a worker that uvicorn has spawned"
    ),
    ("adapters/mnemic/adapters/http/workers.py", "multiprocessing.parent_process"): "the same",
    ("adapters/mnemic/adapters/ann/library.py", "subprocess"): (
        "tries a compiled library out in a separate process, with a fixed program"
    ),
    ("adapters/mnemic/adapters/ann/library.py", "subprocess.DEVNULL"): "the same",
    ("adapters/mnemic/adapters/ann/library.py", "subprocess.SubprocessError"): "the same",
    ("adapters/mnemic/adapters/ann/library.py", "subprocess.run"): "the same",
    ("adapters/mnemic/adapters/cli/serving/explore.py", "subprocess"): (
        "builds the example of the clone that this module is in, by its fixed path"
    ),
    ("adapters/mnemic/adapters/cli/serving/explore.py", "subprocess.run"): "the same",
    ("adapters/mnemic/adapters/importers/memories/texts.py", "yaml"): (
        "front matter, by the loader that makes plain values only"
    ),
    ("adapters/mnemic/adapters/importers/memories/texts.py", "yaml.safe_load"): "the same",
    ("adapters/mnemic/adapters/importers/memories/texts.py", "yaml.YAMLError"): "the same",
    ("adapters/mnemic/adapters/importers/memories/readers/letta.py", "subprocess"): (
        "reads the commits of a repository with git: no shell, and no command that runs programs "
        "which the repository names"
    ),
    ("adapters/mnemic/adapters/importers/memories/readers/letta.py", "subprocess.run"): "the same",
    ("adapters/mnemic/adapters/runners/processes.py", "multiprocessing"): (
        "starts workers of this process, and sends them tasks; nothing from outside is unpickled"
    ),
    ("adapters/mnemic/adapters/runners/processes.py", "multiprocessing.get_context"): "the same",
    ("adapters/mnemic/adapters/runners/processes.py", "multiprocessing.parent_process"): "the same",
    ("specs/mnemic/specs/contracts/durability.py", "os.fork"): (
        "a contract for tests: a process of its own writes and is killed"
    ),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module of every layer, by its path."""
    for layer in LAYERS:
        for path in sorted((ROOT / layer / "mnemic" / layer).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


def dangers(tree: ast.AST) -> set[str]:
    """Return every dangerous name that a module imports or uses."""
    return {
        name
        for _, name in names_in(tree)
        if any(name == each or name.startswith(f"{each}.") for each in DANGEROUS)
    }


def settings(tree: ast.AST) -> list[str]:
    """Return every call of a module with one of ``SETTINGS``."""
    return [
        f"{node.lineno}: {keyword.arg}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in SETTINGS
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is SETTINGS[keyword.arg]
    ]


def test_no_code_runs_what_it_reads() -> None:
    found = {(path, name) for path, tree in modules() for name in dangers(tree)}
    assert found == set(EXCEPTIONS)


def test_no_library_call_uses_an_unsafe_setting() -> None:
    assert {path: setting for path, tree in modules() if (setting := settings(tree))} == {}


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
def test_a_dangerous_name_is_found(source: str) -> None:
    assert dangers(ast.parse(source)) != set()


@pytest.mark.parametrize("setting", ["allow_pickle=True", "shell=True", "verify=False"])
def test_an_unsafe_setting_is_found(setting: str) -> None:
    assert settings(ast.parse(f"call(1, {setting})")) == [f"1: {setting.partition('=')[0]}"]


COMPILING = """
import sys
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory

sources = []

def record(event, facts):
    if event == "compile" and str(facts[1]).startswith("<read("):
        sources.append(bytes(facts[0]) if isinstance(facts[0], bytes) else facts[0].encode())

word = sys.argv[1]
with SyncMemory.open(sys.argv[2], embedder=HashEmbedder(), checkpoints=False) as memory:
    text = word.replace("; ", chr(10))  # a label is one line
    a = memory.learn(f"{text} gate", tags=[word], author=word, thread=word, metadata={word: word},
                     category=word, source=word, zone=word).block_id
    b = memory.learn(f"{word} oil", tags=[word]).block_id
    memory.consolidate()
    memory.connect(a, b, relation=word, note=word)
    memory.recall(word, where={"tags": word, "metadata": {word: word}})
    lane = memory.compose([a, b], tool=word, mode=word, query=word).composition_id
    memory.label(lane, "helpful", source=word, notes=word)
    memory.revise(a, f"{word} lamp", reason=word)
sys.addaudithook(record)
with SyncMemory.open(sys.argv[2], embedder=HashEmbedder(), checkpoints=False) as memory:
    memory.log(after=-1, limit=1000)
    memory.verify()
sys.stdout.buffer.write(b"\\n\\n".join(sorted(sources)))
"""
"""Fills a store with one word, and prints the readers compiled when it is opened again."""
HOSTILE = "\"]'''; __import__('os')._exit(7) #{}"


def written(word: str, folder: Path) -> str:
    """Return the source of all readers that the codec compiles for a log full of one word."""
    setting = subprocess.run(
        [sys.executable, "-c", COMPILING, word, str(folder / "agent.db")],
        capture_output=True,
        check=True,
    )
    return setting.stdout.decode()


def test_compiled_readers_contain_no_text_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "hostile").mkdir()
    plain = written("plain", tmp_path / "plain")
    assert plain.count("def read(") > 10
    assert written(HOSTILE, tmp_path / "hostile") == plain


# --- secrets --------------------------------------------------------------------------------------

SECRET = re.compile(r"(^|_)(secret|secrets|digest|password|api_key|bearer|token_text)$")
INTERFACES = frozenset({"access", "http", "mcp", "client", "endpoints", "hosting"})
"""Folders whose code handles secrets presented by remote clients. Elsewhere a digest is one of a
log, and no secret."""


def compared_secrets(tree: ast.AST) -> list[str]:
    """Return every comparison of a secret that may end at the first difference.

    Comparison with a constant may: whether a secret was given at all is no secret. A hash look-up
    of a digest would be fine too, since it cannot be steered; there is no such place.
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
    """Return whether an expression has the name of a secret."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return SECRET.search(name) is not None


def test_secrets_are_compared_in_constant_time() -> None:
    found = {
        path: compared
        for path, tree in modules()
        if INTERFACES.intersection(path.split("/")[3:4]) and (compared := compared_secrets(tree))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source", ["token.digest == digest", "secret in secrets", "a.password != b", "shown == api_key"]
)
def test_a_comparison_in_variable_time_is_found(source: str) -> None:
    assert len(compared_secrets(ast.parse(source))) == 1


@pytest.mark.parametrize(
    "source", ["secret == ''", "secret is None", "compare_digest(secret, other)", "digest_at == 1"]
)
def test_a_safe_comparison_passes(source: str) -> None:
    assert compared_secrets(ast.parse(source)) == []


# --- paths ----------------------------------------------------------------------------------------

PATH = re.compile(r"(^|_)(path|file|folder|directory|into|dir|db|uri|url|address)$")


def test_no_operation_over_a_wire_takes_a_path() -> None:
    found = [
        f"{operation.name}.{name}"
        for operation in operations().values()
        for past in (False, True)
        for name, each in operation.taking(past=past).items()
        if PATH.search(name) or "Path" in str(each.type)
    ]
    assert found == []


# --- licences -------------------------------------------------------------------------------------

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|0BSD|Zlib|CC0)", re.IGNORECASE
)
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|MPL|Mozilla|EPL|EUPL|CDDL)", re.IGNORECASE)
WEAK: Mapping[str, str] = {
    "certifi": "MPL-2.0: a list of certificates, used unmodified",
    "hypothesis": "MPL-2.0: only for tests and specs",
    "orjson": "MPL-2.0 and Apache-2.0 or MIT: used unmodified",
    "psycopg": "LGPL-3.0: only in the extra postgres, imported as a library",
    "psycopg-binary": "LGPL-3.0: the same",
    "psycopg-pool": "LGPL-3.0: the same",
    "tqdm": "MPL-2.0 and MIT: a transitive dependency, used unmodified",
}
"""Licences under which modified files must stay open; mnemic modifies none of them."""
EXTRA_ONLY = frozenset({"psycopg", "psycopg-binary", "psycopg-pool"})


def installed(requirements: list[str], extras: Mapping[str, list[str]]) -> dict[str, Distribution]:
    """Return all distributions installed by some requirements, by normalised name."""
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
    """Return the licence metadata of a distribution, in one line."""
    said = of.metadata.get_all("Classifier") or []
    words = [
        *(of.metadata.get_all("License-Expression") or []),
        *(each[:200] for each in of.metadata.get_all("License") or []),
        *(each for each in said if each.startswith("License ::")),
    ]
    return " ".join(" ".join(words).split())


def project() -> tuple[list[str], dict[str, list[str]]]:
    """Return the requirements of mnemic: always, and by extra."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found["dependencies"], found["optional-dependencies"]


def test_every_dependency_has_a_permissive_licence_or_a_reason() -> None:
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
