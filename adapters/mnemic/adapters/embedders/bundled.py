"""The default embedder: static token vectors, read from the files of the wheel ``wordllama``.

No code of that package runs, since importing it would load pydantic, requests and its own logging,
and nothing is ever downloaded: the table of vectors is mapped into memory, and ``tokenizers`` reads
the vocabulary, as soon as there is more to read than a few short texts. Texts are pooled one by
one, so that one very long text does not pad its whole batch to its own length.

A text's vector is the mean of its tokens' rows, added in order. It does not depend on the batch
that the text came in, and is bit-equal on all machines with IEEE float32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
import orjson
from attrs import define, field
from numpy.typing import NDArray

from mnemic.adapters.embedders.short_texts import ShortTexts, is_short
from mnemic.kernel.errors import Unavailable
from mnemic.kernel.events import EmbedderIdentity
from mnemic.projections.lexical.languages.words import content

DIMENSION: Final = 256
NAME: Final = "wordllama/l2_supercat"
_loading = Lock()
_WEIGHTS: Final = f"weights/l2_supercat_{DIMENSION}.safetensors"
_VOCABULARY: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR: Final = "embedding.weight"
SHORT_TEXTS: Final = 8
"""So many of a process are read without the library; loading it costs as much as 200 of them."""
_LENGTH_SIZE: Final = 8
"""Bytes in front of the header of a safetensors file; they hold its length."""


class BundledEmbedder:
    """Mean of static token vectors: small, offline, some 15,000 short texts a second.

    Everything is loaded lazily: the files at the first access to `identity`, the tokeniser at the
    first `embed`. All instances share one model.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension, and a digest over weights and tokeniser.

        Raises:
            Unavailable: The package or a file of it is missing.
        """
        return _identity()

    def load(self) -> None:
        """Load the model now, starting no thread of ours: processes forked later share it.

        Raises:
            Unavailable: The package or a file of it is missing.
        """
        _model().library()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, shape (len(texts), 256), not normalised.

        A text without a token (the empty one) has the zero vector. Lone surrogates count as
        question marks.

        Raises:
            Unavailable: The package or a file of it is missing.
        """
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        if not len(texts):
            return rows
        model = _model()
        # The tokeniser refuses what has no UTF-8 form.
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        for row, tokens in zip(rows, model.tokens(readable), strict=True):
            if tokens:
                total = model.vectors.take(tokens, axis=0).astype(np.float32).sum(axis=0)
                np.divide(total, np.float32(len(tokens)), out=row)
        return rows

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Return the vector of the question's content words, shape (256,).

        A mean of tokens is moved towards the middle by every word that says nothing about what is
        asked.
        """
        row: NDArray[np.float32] = self.embed([content(question)])[0]
        return row


@define
class _Model:
    vectors: NDArray[np.float16]
    """One row per token of the vocabulary, mapped from the file."""
    _library: Any = field(default=None, init=False)
    """A ``tokenizers.Tokenizer``; None: it has not been needed yet."""
    _short: ShortTexts | None = field(default=None, init=False)
    _read: int = field(default=0, init=False)
    """How many texts were read, at least: concurrent threads may count as one."""

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Return the token numbers of each text."""
        self._read += len(texts)
        if self._library is None and self._read <= SHORT_TEXTS and all(map(is_short, texts)):
            short = self._short or ShortTexts.read(_folder() / _VOCABULARY)
            self._short = short  # another thread may drop it
            return [short.tokens(text) for text in texts]
        encoded = self.library().encode_batch(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def library(self) -> Any:
        """Return the ``tokenizers.Tokenizer``, which neither pads nor truncates; loaded once."""
        with _loading:
            if self._library is None:
                self._library, self._short = _tokeniser(), None
            return self._library


@cache
def _folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise Unavailable(
            "the package wordllama, which carries the bundled embedder, is not installed",
            recovery="Install mnemic again with its dependencies, or pass another embedder.",
        )
    return Path(spec.origin).parent


@cache
def _digest() -> str:
    total = hashlib.sha256()
    for name in (_WEIGHTS, _VOCABULARY):
        try:
            with (_folder() / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
        except OSError as error:
            raise Unavailable(
                f"the bundled embedder cannot read its file {name}: {error.strerror}",
                recovery="Install wordllama again, or pass another embedder.",
                file=name,
            ) from error
        # A digest of digests marks where one file ends and the next begins.
        total.update(digest)
    return total.hexdigest()[:16]


@cache
def _identity() -> EmbedderIdentity:
    return EmbedderIdentity(name=NAME, dimension=DIMENSION, weights=_digest())


def _model() -> _Model:
    """Return the shared model; loaded once, also with several threads."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> _Model:
    _digest()  # the files are there
    return _Model(_mapped_table(_folder() / _WEIGHTS))


def _tokeniser() -> Any:
    from tokenizers import Tokenizer

    tokeniser = Tokenizer.from_file(str(_folder() / _VOCABULARY))
    tokeniser.no_padding()
    tokeniser.no_truncation()
    # Its cache holds whole texts, beyond their erasure; without word boundaries it saves no time.
    tokeniser.model._resize_cache(0)  # noqa: SLF001 - there is no other way to empty it
    return tokeniser


def _mapped_table(path: Path) -> NDArray[np.float16]:
    """Map the table of a safetensors file: its header is JSON that says where the bytes are."""
    with path.open("rb") as file:
        data = mmap(file.fileno(), 0, access=ACCESS_READ)
    first = _LENGTH_SIZE + int.from_bytes(data[:_LENGTH_SIZE], "little")
    tensor = orjson.loads(data[_LENGTH_SIZE:first])[_TENSOR]
    begin, end = tensor["data_offsets"]
    numbers = np.frombuffer(memoryview(data)[first + begin : first + end], np.float16)
    return numbers.reshape(tensor["shape"])
