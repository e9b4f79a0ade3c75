"""The holes in the wall: what the kernel needs from the world, and nothing more.

Every port is small enough to be implemented in an afternoon, and each has a contract test in
``mnemic.specs.contracts`` or in the tests that a host can run against its own adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.vectors import Vector

GENESIS_DIGEST = bytes(32)
"""What the first record of a log names as its predecessor."""


class Clock(Protocol):
    """Where the shell gets its time from."""

    def now_us(self) -> int:
        """Return microseconds since the epoch, UTC. It may step back, repeat and jump."""
        ...


class Entropy(Protocol):
    """Where the shell gets unguessable bytes from: salts, nonces, payload keys, ids."""

    def token(self, size: int) -> bytes:
        """Return *size* fresh bytes."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors. Called off every lock; never called by a replay."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension and digest of the weights: two models never share one space."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return one row per text, shape (len(texts), dimension), finite floats."""
        ...


@frozen(kw_only=True)
class Passage:
    """What an analyst is shown of one block."""

    content: str
    category: str = "knowledge"
    tags: tuple[str, ...] = ()
    """As declared by the caller, sorted."""
    author: str | None = None
    source: str = "api"


@frozen(kw_only=True)
class Analysis:
    """What an analyst makes of one block."""

    tags: tuple[str, ...] = ()
    """Extra tags, added to the declared ones."""
    alignment: float | None = None
    """How much the block belongs to the agent's self. Range: [0, 1]."""
    summary: str | None = None


class Analyst(Protocol):
    """Reads new blocks before they are promoted. A failure degrades to no analysis."""

    @property
    def name(self) -> str:
        """Who analyses, as a person would say it."""
        ...

    def analyse(self, passages: Sequence[Passage]) -> Iterable[Analysis | None]:
        """Return or yield one analysis per passage, in order; None where it failed.

        When the host's time limit comes, what has been yielded by then counts.
        """
        ...


class Judge(Protocol):
    """What an analyst may offer besides: whether two texts contradict each other."""

    def contradicts(self, pairs: Sequence[tuple[Passage, Passage]]) -> Iterable[bool | None]:
        """Return or yield one verdict per pair, in order; None where it cannot tell."""
        ...


class NearestRows(Protocol):
    """Finds the nearest of many vectors, and misses none. Rows are only ever added."""

    def append(self, block: int, vector: Vector) -> int:
        """Add a vector of the block with ordinal *block* and return its row, counted from 0.

        Raises:
            VectorRefused: Its size differs from that of the first.
        """
        ...

    def top(
        self, query: Vector, rows: NDArray[np.int64] | None, k: int, *, ids: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the *k* rows nearest to *query* and their cosines in nano-units, best first.

        Args:
            query: Of the same size.
            rows: Which rows count; None: all.
            k: How many at most, >= 1.
            ids: Public ids by block ordinal. Equal cosines are ordered by them.

        Raises:
            VectorRefused: The query is of another size.
            IndexError: A row does not exist.
        """
        ...


class FarRows(Protocol):
    """Where the vectors of one embedder stand, if it is not this process.

    Rows have the numbers that an index gives them. Some of those asked for may not be there: their
    vectors were erased. Whoever asks knows which should be, and what they should be like.
    """

    def stretch(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Return those of the rows from *first* to before *end* that are there, and their vectors.

        Returns:
            Row numbers in any order, and the vector of each, shape (rows, dimension).
        """
        ...

    def some(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Return those of *rows* that are there, and their vectors, as ``stretch`` does."""
        ...

    @property
    def multiplies(self) -> bool:
        """Whether ``products`` may be asked for."""
        ...

    def products(self, query: Vector, end: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return those of the rows before *end* that are there, and what each makes with *query*.

        Returns:
            Row numbers in any order, and exact products.
        """
        ...

    def catch_up(self) -> None:
        """See to it that everything is there that the log has."""
        ...

    def refusal(self, row: int) -> MnemicError:
        """Return what to raise since *row* is not there, or not the vector that was appended."""
        ...


class TokenCounter(Protocol):
    """Counts tokens the way the reader of a recall does."""

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens in *text*, at least 1 for a text that is not empty."""
        ...


# --- the log, byte by byte ------------------------------------------------------------------


class Record(NamedTuple):
    """One stored event: what the hash chain covers."""

    version: int
    """Contiguous from 0 within one space."""
    topic: str
    """Stable, versioned wire name, such as ``block-learned.1``."""
    body: bytes


class PayloadRow(NamedTuple):
    """One forgettable payload as stored beside the log.

    The event holds *id* and a MAC over the bytes; the key lives here and dies with the row.
    """

    version: int
    """Version of the event that names it."""
    slot: int
    """Its place among the payloads of that event, from 0."""
    id: str
    key: bytes
    owners: tuple[str, ...]
    """Ids of the one or two things whose erasure takes this payload along."""
    data: bytes


@frozen
class Head:
    """Where a log ends."""

    version: int
    """-1 for an empty log."""
    digest: bytes
    """Chain digest of the last record; ``GENESIS_DIGEST`` for an empty log."""


@frozen
class CommandRow:
    """A remembered command: its id, what was asked, and the events that answered it."""

    id: str
    request: bytes
    """Digest of the request, keyed with those of the payloads that it wrote, if any."""
    first: int
    last: int
    """Versions of the first and last event written."""


class Log(Protocol):
    """The one stream of one space. All methods are synchronous and thread-compatible."""

    @property
    def name(self) -> str:
        """The space's name."""
        ...

    def head(self) -> Head:
        """Return where the log ends now, other writers' events included."""
        ...

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        The chain is checked on the way.

        Raises:
            LogCorrupt: With the fact ``version`` at the first record that does not fit; all
                records before it have been yielded.
        """
        ...

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*, computed from its stored bytes.

        It is what that record's successor must name as its predecessor. A store that keeps the
        predecessor's digest beside each record needs one look, however long the log is; then
        it says nothing about the soundness of the records before.

        Returns:
            None if the log has no such record, or cannot read it.
        """
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to append, fairly among processes. Re-entrant: no."""
        ...

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        command: CommandRow | None = None,
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything in one transaction, or nothing, and return the new head.

        Args:
            records: Versions contiguous from ``head().version + 1``.
            payloads: Of these records.
            command: Remembered in the same transaction.
            erase: Owners whose payloads are destroyed in the same transaction.
            erase_all: Destroy every payload of the space instead, the new ones included.

        Raises:
            VersionConflict: Another writer was first; nothing was written.
            StoreFull, StoreBusy, StoreFailed: Nothing was written.
        """
        ...

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        ...

    def close(self) -> None:
        """Let go of files and connections. Closing twice is fine."""
        ...


class Prompt(Protocol):
    """What a log may offer besides: the right to append at once, or not at all."""

    def writing_if_free(self) -> AbstractContextManager[bool]:
        """Hold the right to append if nobody has it or waits for it; say whether it is held.

        It is never waited for. Re-entrant: no.
        """
        ...


class Telling(Protocol):
    """What a log may offer besides: word of what is written, by whatever process."""

    def wait(self, after: int, timeout_s: float) -> bool:
        """Wait until the log goes on beyond version *after*; False: the time is up.

        Whatever the world does to the word itself, what is written is noticed within seconds.
        """
        ...

    def hear(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell*, on another thread, whenever the log may have moved on.

        Word can be lost: whoever wants to be sure looks besides, now and then.

        Returns:
            What ends it. Calling that twice is fine.
        """
        ...


class Store(Protocol):
    """Holds many spaces."""

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        ...

    def log(self, space: str, *, create: bool = True) -> Log:
        """Return the log of *space*.

        Raises:
            PointOutOfRange: If the space does not exist and *create* is false.
        """
        ...

    def close(self) -> None:
        """Close every log and connection."""
        ...


@runtime_checkable
class DraftingStore(Store, Protocol):
    """What a store may offer besides: spaces that appear whole, however many appends they take."""

    def draft(self, space: str) -> AbstractContextManager[Log]:
        """Give the log of a space that nobody sees before the ``with`` block has ended well.

        After a block that did not end well nothing is left. What a maker who was killed has left
        stays unseen, and goes when somebody makes a space of that name.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Somebody else has begun to make it since.
        """
        ...
