"""The program of a host: it serves a store by several workers, with a model of its own.

Called with the address of the store, the file of tokens, how many workers, and settings as JSON.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.server import run
from mnemic.adapters.http.settings import Settings

ENDLESS = "Count to the end."
"""A text at which the model keeps the interpreter lock for ever."""


class Model(HashEmbedder):
    """A model with a fault."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Embed; one text holds the interpreter lock for ever."""
        if ENDLESS in texts:
            sum(range(2**62))
        return super().embed(texts)


def log() -> None:
    """Write the log of requests to standard error."""
    logging.basicConfig(level=logging.INFO, format="[%(process)d] %(levelname)s %(message)s")


def announce(url: str) -> None:
    """Print the address of the server."""
    sys.stdout.write(f"{json.dumps({'url': url})}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    address, tokens, workers, settings = sys.argv[1:]
    run(
        Spaces(address, embedder=Model()),
        Keyring.open(tokens),
        Settings(port=0, **json.loads(settings)),
        announce=announce,
        prepare=log,
        workers=int(workers),
    )
