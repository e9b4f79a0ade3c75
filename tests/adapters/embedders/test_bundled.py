from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.kernel.events import EmbedderIdentity

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
import json, logging, os, sys
seen = []
def watch(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto", "os.mkdir"}:
        seen.append([event, repr(args)])
    if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        seen.append([event, repr(args)])
sys.addaudithook(watch)

from mnemic.adapters.embedders.bundled import BundledEmbedder
embedder = BundledEmbedder()
after_making = "tokenizers" in sys.modules
identity = embedder.identity
after_identity = "tokenizers" in sys.modules
rows = embedder.embed(["a text", "another"])
after_short_texts = "tokenizers" in sys.modules
embedder.embed(["naïve"])
print(json.dumps({
    "seen": seen,
    "loaded": [after_making, after_identity, after_short_texts, "tokenizers" in sys.modules],
    "shape": rows.shape,
    "root logger": [len(logging.getLogger().handlers), logging.getLogger().level],
}))
"""


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_it_loads_late_and_touches_neither_network_nor_disk_nor_the_root_logger() -> None:
    child = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", WATCHED],
        capture_output=True,
        check=True,
        text=True,
    )
    assert child.stderr == ""
    assert json.loads(child.stdout) == {
        "seen": [],
        "loaded": [False, False, False, True],
        "shape": [2, 256],
        "root logger": [0, 30],
    }


def test_its_identity_names_the_weights() -> None:
    """Other weights are another model: their vectors must not be compared with these."""
    assert BundledEmbedder().identity == EmbedderIdentity(
        name="wordllama/l2_supercat", dimension=256, weights="461d9f720e7921ac"
    )


def test_a_batch_has_one_finite_row_per_text() -> None:
    rows = BundledEmbedder().embed(TEXTS)
    assert (rows.shape, rows.dtype.name) == ((6, 256), "float32")
    assert np.isfinite(rows).all()


def test_no_texts_have_no_rows() -> None:
    assert BundledEmbedder().embed([]).shape == (0, 256)


def test_an_empty_text_has_the_zero_vector() -> None:
    assert not BundledEmbedder().embed([""]).any()


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_a_vector_does_not_depend_on_the_batch_it_came_in(number: int) -> None:
    alone = BundledEmbedder().embed([TEXTS[number]])
    among = BundledEmbedder().embed(TEXTS)
    assert alone[0].tobytes() == among[number].tobytes()


def test_texts_of_like_meaning_are_closer_than_others() -> None:
    cat, sitting_cat, rates = BundledEmbedder().embed(TEXTS[:3])
    assert cosine(cat, sitting_cat) > 0.7
    assert cosine(cat, rates) < 0.3


# The library that the wheel was made for, in its own process: importing it configures logging.
BY_THE_LIBRARY = """
import json, sys
from pathlib import Path
import wordllama
folder = Path(wordllama.__file__).parent
model = wordllama.WordLlama.load(dim=256, disable_download=True, cache_dir=folder)
model.tokenizer.no_padding()
for text in json.loads(sys.argv[1]):
    tokens = model.tokenizer.encode(text, add_special_tokens=False).ids
    print(model.embedding[tokens].mean(axis=0).tobytes().hex())
"""


def test_vectors_are_bit_equal_to_those_of_the_library() -> None:
    texts = [*TEXTS[:3], "<s> naïve 漢字\n\t— 🙂", "a long story " * 50]
    child = subprocess.run(
        [sys.executable, "-c", BY_THE_LIBRARY, json.dumps(texts)],
        capture_output=True,
        check=True,
        text=True,
    )
    rows = BundledEmbedder().embed(texts)
    assert [row.tobytes().hex() for row in rows] == child.stdout.split()


# One process, so that the model is not loaded yet: many threads ask for it at the same time.
AT_ONCE = """
import sys, threading
from mnemic.adapters.embedders.bundled import BundledEmbedder
loads = []
def look(frame, event, _):
    if event == "call" and frame.f_code.co_name == "_mapped_table":
        loads.append(1)
threading.setprofile(look)
start = threading.Barrier(4)
def ask():
    start.wait()
    BundledEmbedder().embed(["a text"])
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(loads))
"""


def test_it_is_loaded_once_however_many_threads_ask_for_it_first() -> None:
    child = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", AT_ONCE],
        capture_output=True,
        check=True,
        text=True,
    )
    assert (child.stdout, child.stderr) == ("1\n", "")
