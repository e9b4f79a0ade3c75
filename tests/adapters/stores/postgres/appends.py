"""Commands as tests of lost answers write them, and what stands when all were written once."""

from __future__ import annotations

from mnemic.adapters.stores.postgres import PostgresLog
from mnemic.specs.contracts.entries import answered, payload, records


def append(log: PostgresLog, version: int) -> int:
    return log.append(records(version, 1), [payload(version)], command=answered(version)).version


def whole(count: int) -> list[object]:
    return [(record, (payload(record.version),)) for record in records(0, count)]
