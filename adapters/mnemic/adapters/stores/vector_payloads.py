"""Detection of block vectors among the payloads of a log, for a store, which handles only bytes.

Queries have vectors too, and those are skipped here: they are never searched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemic.adapters.codec.codec import Codec
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.codec.sealing import LOCKED
from mnemic.adapters.stores.logs.vector_detection import DetectedVector, DetectedVectors
from mnemic.kernel.events import BlocksPromoted, EmbedderAdopted, VectorsStaged
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.ports import PayloadRow, Record


class Embeddings:
    """Detects which vectors a log names, of which blocks and which embedder.

    Args:
        codec: Decodes the events.
        registry: The topics to expect; the same as the codec's.
    """

    def __init__(self, codec: Codec, registry: Registry | None = None) -> None:
        self._codec = codec
        kinds = (Registry() if registry is None else registry).kinds
        self._topics = {
            topic: kind.event
            for topic, kind in kinds.items()
            if kind.event in {BlocksPromoted, EmbedderAdopted, VectorsStaged}
        }

    def sightings(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow]
    ) -> DetectedVectors:
        """Return the vectors that *records*, in order, name; *payloads* are theirs, in any order.

        Raises:
            StoreTooNew, LogCorrupt: A record cannot be read.
        """
        rows = {(row.version, row.slot): row for row in payloads}
        adopted: str | None = None
        seen: list[DetectedVector] = []
        for record in records:
            kind = self._topics.get(record.topic)
            if kind is EmbedderAdopted:
                adopted = self._embedder(record)
            elif kind is VectorsStaged:
                seen += self._seen(record, rows, self._embedder(record))
            elif kind is BlocksPromoted:
                seen += self._seen(record, rows, adopted)
        return DetectedVectors(vectors=tuple(seen), adopted=adopted)

    def verify(self, record: Record, payloads: Sequence[PayloadRow]) -> None:
        """Refuse *payloads* unless *record* names them and their bytes match its commitments.

        Raises:
            StoreTooNew, LogCorrupt: With the fact ``version``.
            KeysMissing: They are encrypted.
        """
        self._codec.decode(record, payloads)

    def _embedder(self, record: Record) -> str:
        event = self._codec.decode(record).event
        assert isinstance(event, EmbedderAdopted | VectorsStaged), record.topic  # noqa: S101
        return event.embedder.id

    def _seen(
        self, record: Record, rows: dict[tuple[int, int], PayloadRow], embedder: str | None
    ) -> Iterator[DetectedVector]:
        for slot, kind in enumerate(self._codec.kinds(record)):
            if kind is Embedding:
                row = rows.get((record.version, slot))
                if row is None or row.key.startswith(LOCKED):
                    yield DetectedVector(record.version, slot, embedder)
                else:
                    yield DetectedVector(record.version, slot, embedder, row.owners[0], row.data)
