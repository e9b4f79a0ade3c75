"""The program of a host: it serves a store by several workers, with a model that it brings along.

Called with the address of the store, the file of tokens, and how many workers.
"""

from __future__ import annotations

import json
import logging
import sys

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.server import run
from mnemic.adapters.http.settings import Settings


def announce(url: str) -> None:
    """Say where the server can be asked."""
    sys.stdout.write(f"{json.dumps({'url': url})}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    address, tokens, workers = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="[%(process)d] %(levelname)s %(message)s")
    run(
        Spaces(address, embedder=HashEmbedder()),
        Keyring.open(tokens),
        Settings(port=0),
        announce=announce,
        workers=int(workers),
    )
