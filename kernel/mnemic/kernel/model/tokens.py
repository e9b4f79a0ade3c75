"""Counting tokens without a model's vocabulary."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4


class EstimatedTokens:
    """Token counter that assumes four characters per token, rounded up; needs no download.

    The estimate is about right for English.

    Implements ``mnemic.kernel.ports.TokenCounter``.
    """

    name = "estimate-4"

    def count(self, text: str) -> int:
        """Return the estimated number of tokens in *text*; 0 for an empty one."""
        return -(-len(text) // CHARACTERS_PER_TOKEN)
