"""Exact token counts, by the vocabularies of well-known models. Extra ``tokens``.

Without one a budget is kept by estimate, see ``mnemic.kernel.model.tokens``: accurate for English
prose, too low for code, tables and most other languages.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from mnemic.adapters.extras import require
from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from mnemic.kernel.ports import TokenCounter

Encoding = Literal["cl100k_base", "o200k_base", "voyage3_base"]
"""Encodings whose vocabulary is in the package, so that nothing is ever downloaded."""
CounterName = Literal["estimate", "cl100k_base", "o200k_base", "voyage3_base"]
"""Names for a command line or a setting."""

ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)


class BpeTokens:
    """Counts with a vocabulary of the package ``bpe-openai``; linear in time for any text.

    Implements ``mnemic.kernel.ports.TokenCounter``. The name goes into the recipe of each
    decision, and a replay needs the same counter. The vocabulary is loaded at the first count,
    which takes about half a second.
    """

    def __init__(self, encoding: Encoding = "o200k_base") -> None:
        """Count as the models of *encoding* do.

        Args:
            encoding: ``o200k_base`` (OpenAI from GPT-4o on), ``cl100k_base`` (GPT-4 and
                text-embedding-3) or ``voyage3_base`` (Voyage 3).

        Raises:
            FieldRefused: There is no such encoding.
            Unavailable: The extra is not installed.
        """
        if encoding not in ENCODINGS:
            raise FieldRefused(
                f"unknown encoding {encoding!r}",
                recovery=f"Choose from {', '.join(ENCODINGS)}.",
                field="encoding",
            )
        require(
            "bpe_openai",
            "tokens",
            "the package bpe_openai, which counts tokens, is not installed",
            instead="; or count by estimate",
            package="bpe_openai",
        )
        self.name = f"bpe/{encoding}"
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Return the number of tokens in *text*; marks such as ``<|endoftext|>`` are text.

        Raises:
            ValueError: *text* has a million characters or more, or 200,000 tokens.
        """
        return len(_vocabulary(self._encoding).encode_ordinary(text))


def counter_named(name: CounterName) -> TokenCounter:
    """Return the counter of this name.

    Raises:
        Unavailable: It needs the extra, which is not installed.
    """
    from mnemic.kernel.model.tokens import EstimatedTokens

    return EstimatedTokens() if name == "estimate" else BpeTokens(name)


@cache
def _vocabulary(encoding: str) -> Any:
    with warnings.catch_warnings():
        # The package opens its data in a way that Python 3.11 calls deprecated, and 3.13 does not.
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai

        return bpe_openai.get_encoding(encoding)
