"""Spaces whose row in the table of spaces is gone, while their events are still there.

A row is never deleted by mnemic. Without it neither the name nor the end of a log is known, so a
new space of any name might overwrite the one that was lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from psycopg.sql import Identifier

from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.format import filled
from mnemic.kernel.errors import LogCorrupt

# Each number that was assigned and has no row is looked up by itself: a join might read all events.
_SELECT = """WITH
    ends AS (SELECT greatest((SELECT max(id) FROM {schema}.spaces),
            (SELECT max(space) FROM {schema}.payloads),
            CASE WHEN has_sequence_privilege(ids, 'USAGE, SELECT')
                THEN pg_sequence_last_value(ids) END) AS last
        FROM (SELECT pg_get_serial_sequence(%b, 'id')::regclass AS ids) AS identity),
    missing AS MATERIALIZED (SELECT number FROM ends, generate_series(1, last) AS number
        WHERE NOT EXISTS (SELECT FROM {schema}.spaces WHERE id = number))
    SELECT number, version FROM missing, LATERAL (SELECT max(originator_version) AS version
        FROM {schema}.stored_events WHERE originator_id = number::text) AS events
    WHERE version IS NOT NULL ORDER BY number"""


def orphans(datastore: Datastore) -> dict[int, int]:
    """Return the last version of each space that has events and no row, by number."""
    schema = datastore.schema
    table = Identifier(schema, "spaces").as_string(None)
    return dict(datastore.rows(filled(_SELECT, schema), (table,)))


def lost_row(datastore: Datastore, lost: Mapping[int, str | None]) -> LogCorrupt:
    """Return the error for spaces whose rows are gone.

    Args:
        datastore: Where.
        lost: Their names by number; None: not known.
    """
    shown = datastore.address.shown
    left = orphans(datastore)
    spaces = "; ".join(
        (f"space number {number}" if name is None else f"space {name!r} (number {number})")
        + (f", with events up to version {left[number]}" if number in left else ", without events")
        for number, name in lost.items()
    )
    return LogCorrupt(
        f"{shown} has lost rows of its table of spaces: {spaces}",
        recovery="Restore the row (id, name, version, digest) from a backup of the database; or "
        "delete what has that number in stored_events, payloads and commands.",
        version=0,
        path=shown,
    )
