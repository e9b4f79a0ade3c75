"""Commands for tests of lost answers, and the log when all were written once."""

from __future__ import annotations

from mnemic.adapters.stores.postgres import PostgresLog
from mnemic.specs.contracts.log_entries import answered, payload, records


def append(log: PostgresLog, version: int) -> int:
    after = log.tip if log.tip.version == version - 1 else log.head()
    return log.append(
        records(version, 1), [payload(version)], after=after, commands=(answered(version),)
    ).version


def whole(count: int) -> list[object]:
    return [(record, (payload(record.version),)) for record in records(0, count)]
