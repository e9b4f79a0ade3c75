"""Vectors from an endpoint: ``POST /v1/embeddings``, in batches, every number checked.

A text that is longer than the model reads is cut here, not by the server: some servers refuse it,
some cut it silently. It is reported (`TextTruncated`) and counted.
"""

from __future__ import annotations

import time
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mnemic.adapters.endpoints.connection import Connected, Endpoint, Sleep, at_least
from mnemic.kernel.errors import FieldRefused, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.model.vectors import DIMENSION_MAX
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.validation import checked_name

INPUT_TOKENS_MAX: Final = 8191
"""Input limit of OpenAI's hosted embedding models; local ones often read 512."""
BATCH_TOKENS_MAX: Final = 100_000
"""Per request. OpenAI takes 300,000; an estimate of the count may be far off."""


class TextTruncated(UserWarning):
    """A text was longer than the model reads, and only its beginning was embedded."""


class EndpointEmbedder(Connected):
    """One embedding model behind an address."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimension: int | None = None,
        shorten: bool = False,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        backoff_s: float = 0.5,
        batch_size: int = 128,
        max_input_tokens: int = INPUT_TOKENS_MAX,
        tokens: TokenCounter | None = None,
        sleep: Sleep = time.sleep,
    ) -> None:
        """Prepare; nothing is sent before a vector or an unknown dimension is requested.

        Args:
            base_url: See `Endpoint`.
            model: As the server calls it.
            dimension: Of its vectors. None: one short text is embedded to see it, which needs the
                server at every opening of a space. Range: [1, 4096].
            shorten: Ask the server for vectors of *dimension*, for models that can do that.
            api_key: See `Endpoint`.
            timeout_s: See `Endpoint`.
            retries: See `Endpoint`.
            backoff_s: See `Endpoint`.
            batch_size: Texts per request, at least 1.
            max_input_tokens: What the model reads of a text, at least 1.
            tokens: How the model counts; None: four characters to one, right for English only.
            sleep: What waits between two tries.
        Raises:
            FieldRefused: One of them is out of range.
        """
        at_least("batch_size", batch_size, 1)
        at_least("max_input_tokens", max_input_tokens, 1)
        if dimension is not None and (type(dimension) is not int or not _is_possible(dimension)):
            raise FieldRefused(
                f"dimension must be a count up to {DIMENSION_MAX}, got {dimension!r}",
                field="dimension",
            )
        if shorten and dimension is None:
            raise FieldRefused("shorten needs a dimension", field="dimension")
        self.truncated = 0
        """Texts that were cut so far."""
        self._model = checked_name("model", model)
        self._dimension = dimension
        self._shorten = {"dimensions": dimension} if shorten else {}
        self._batch_size = batch_size
        self._input_max = max_input_tokens
        self._tokens = tokens or EstimatedTokens()
        self._endpoint = Endpoint(
            base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            retries=retries,
            backoff_s=backoff_s,
            sleep=sleep,
        )

    @property
    def identity(self) -> EmbedderIdentity:
        """The model's name and dimension; servers do not identify the weights.

        Raises:
            VectorRefused, EndpointUnavailable, EndpointRefused: The dimension had to be asked for.
        """
        if self._dimension is None:
            self._dimension = len(self._request(["dimension"])[0])
        return EmbedderIdentity(name=f"openai:{self._model}", dimension=self._dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, as the server gave it. Lone surrogates count as question marks.

        Raises:
            VectorRefused: The answer is not one finite vector of the right size per text.
            EndpointUnavailable, EndpointRefused: There was no answer.
        """
        dimension = self.identity.dimension
        fitting = self._fitting(texts)
        rows = [self._request(batch) for batch in self._batches(fitting)]
        return np.concatenate([np.empty((0, dimension), dtype=np.float32), *rows])

    # --- texts ------------------------------------------------------------------------------

    def _fitting(self, texts: Sequence[str]) -> list[str]:
        """Return *texts* cut to what the model reads, with a warning if any was cut."""
        fitting = [self._cut(text.encode(errors="replace").decode()) for text in texts]
        cut = sum(len(kept) < len(text) for kept, text in zip(fitting, texts, strict=True))
        if cut:
            self.truncated += cut
            warnings.warn(
                f"{cut} of {len(texts)} texts are longer than the {self._input_max} tokens that "
                f"{self._model} reads; only their beginnings were embedded",
                TextTruncated,
                stacklevel=3,
            )
        return fitting

    def _cut(self, text: str) -> str:
        """Return the longest beginning of *text* that fits."""
        if self._tokens.count(text) <= self._input_max:
            return text
        fits = bisect_right(
            range(1, len(text)), self._input_max, key=lambda size: self._tokens.count(text[:size])
        )
        return text[: max(1, fits)]

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Yield *texts* in order, as many at once as a server takes."""
        batch: list[str] = []
        size = 0
        for text in texts:
            more = self._tokens.count(text)
            if batch and (len(batch) == self._batch_size or size + more > BATCH_TOKENS_MAX):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += more
        if batch:
            yield batch

    # --- vectors ----------------------------------------------------------------------------

    def _request(self, batch: Sequence[str]) -> NDArray[np.float32]:
        document = {"model": self._model, "input": list(batch), **self._shorten}
        return self._rows(self._endpoint.post("/embeddings", document), len(batch))

    def _rows(self, body: bytes, count: int) -> NDArray[np.float32]:
        """Return the vectors of an answer in the order of the texts.

        Raises:
            VectorRefused: They are not *count* finite ones of one known size.
        """
        try:
            found = {entry["index"]: entry["embedding"] for entry in _entries(body, count)}
            rows = np.asarray([found[place] for place in range(count)])
        except (KeyError, TypeError, ValueError) as error:
            raise self._unusable(f"no list of {count} numbered vectors") from error
        if rows.ndim != 2 or rows.dtype.kind not in "fi":  # noqa: PLR2004 - rows and columns
            raise self._unusable(f"{rows.dtype} of shape {rows.shape}")
        size = rows.shape[1]
        if size != (self._dimension or size) or not _is_possible(size):
            raise self._unusable(
                f"vectors of {size} numbers, not {self._dimension or f'1 to {DIMENSION_MAX}'}"
            )
        with np.errstate(over="ignore"):
            narrow: NDArray[np.float32] = rows.astype(np.float32)
        if not np.isfinite(narrow).all():
            raise self._unusable("numbers that are not finite")
        return narrow

    def _unusable(self, what: str) -> VectorRefused:
        return VectorRefused(
            f"{self._model} at {self._endpoint.address} gave {what}",
            recovery="Check the model and its dimension; nothing of this chunk was promoted.",
            model=self._model,
        )


def _is_possible(dimension: int) -> bool:
    return 1 <= dimension <= DIMENSION_MAX


def _entries(body: bytes, count: int) -> Sequence[Any]:
    """Return the numbered vectors of an answer.

    Raises:
        KeyError, TypeError, ValueError: There are none, or not *count*.
    """
    entries = orjson.loads(body)["data"]
    if not isinstance(entries, list) or len(entries) != count:
        raise ValueError("not one entry per text")
    return entries
