"""The options that select a memory: its file or server, space, actor, and retrieval settings."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from attrs import frozen

from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.stores.addresses import Address, told
from mnemic.adapters.tokens import CounterName
from mnemic.kernel.errors import StoreFailed
from mnemic.kernel.values import Value

SPACE = "default"
"""The default space."""
VALUED = frozenset(
    {
        "--db",
        "--keys",
        "--space",
        "--actor",
        "--session",
        "--embedder",
        "--tokens",
        "--retriever",
        "--chat-url",
        "--chat-model",
    }
)
"""Options of every command with a value."""
RetrieverName = Literal["exact", "ann"]
"""How near vectors are found. ``auto`` would always be exact here: a process that asks a single
question never recovers the time that loading the graphs takes."""


def variable(option: str) -> str:
    """Return the environment variable that an option of ``VALUED`` is read from without it."""
    return f"MNEMIC_{option.removeprefix('--').upper().replace('-', '_')}"


@frozen(kw_only=True)
class MemoryOptions(Value):
    """The options that select a memory and how it is opened."""

    path: Address
    """The store: its file, or the address of a server, which may hold a password."""
    keys: Path | None = None
    """The file of keys that encrypt its texts; None: they are not encrypted."""
    space: str
    actor: str | None = None
    """The actor in the log; None: the command line's default."""
    session: str | None = None
    """The open session to continue; None: none."""
    embedder: EmbedderName | None = None
    """None: the one that the space was built with."""
    counter: CounterName = "estimate"
    """How tokens are counted."""
    retriever: RetrieverName = "exact"
    """``ann``: by the graphs next to the file. None is ever built."""
    chat_url: str | None = None
    """The endpoint of the extractor ``chat``; None: there is no such extractor."""
    chat_model: str | None = None
    """Its model, as the endpoint calls it."""
    given: frozenset[str] = frozenset()
    """The options that were on the command line, like ``--space``."""

    def is_there(self) -> bool:
        """Return whether the file exists; always true for a server, which is not queried here."""
        if not isinstance(self.path, Path):
            return True
        try:
            return self.path.exists()
        except OSError:  # a name that no file can have
            return False

    def check_is_there(self) -> None:
        """Refuse to go on without the file.

        Raises:
            StoreFailed: There is none.
        """
        if not self.is_there():
            raise StoreFailed(
                f"there is no file {self.path}",
                recovery="Name another with --db or MNEMIC_DB, or let `mnemic ingest` or "
                "`mnemic learn` create it.",
                path=str(self.path),
            )

    @property
    def store(self) -> str:
        """The store as it may be shown: the file's full path, or the address without password."""
        return str(self.path.resolve()) if isinstance(self.path, Path) else told(self.path)
