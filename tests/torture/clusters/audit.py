"""What a cluster has left behind: every acknowledged command once, and one truth on every host."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Final

import psycopg

from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.cluster.cluster_hosts import HostProcess
from tests.torture.clusters.clients import Client, text

PAGE: Final = 1000
TRIES: Final = 20
ACTOR: Final = "all"
"""Of the clients; a command id belongs to an actor."""
EPOCHS: Final = b"SELECT space, epoch, leader FROM torture.epochs"
RECORD: Final = """
CREATE SCHEMA IF NOT EXISTS torture;
CREATE TABLE IF NOT EXISTS torture.epochs
    (space text, epoch bigint, leader text, PRIMARY KEY (space, epoch, leader));
CREATE OR REPLACE FUNCTION torture.record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO torture.epochs VALUES (NEW.name, NEW.epoch, NEW.leader) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recorded AFTER UPDATE ON {schema}.spaces FOR EACH ROW
    WHEN (NEW.leader IS NOT NULL) EXECUTE FUNCTION torture.record()"""
"""Keeps every leader that an epoch of a space ever had, in whichever schema it was."""


def record_epochs(server: str, schemas: Sequence[str]) -> None:
    """Let a server keep every leader that an epoch of a space ever had."""
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        for schema in schemas:
            connection.execute(RECORD.format(schema=schema).encode())


def two_leaders(server: str) -> tuple[int, list[str]]:
    """Return how many epochs there were, and those that had two leaders."""
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        rows = connection.execute(EPOCHS).fetchall()
    leaders = defaultdict[tuple[str, int], list[str]](list)
    for space, epoch, leader in rows:
        leaders[space, epoch].append(leader)
    return len(leaders), [
        f"epoch {epoch} of {space!r} was led by {' and '.join(found)}"
        for (space, epoch), found in leaders.items()
        if len(found) > 1
    ]


def left(
    addresses: dict[str, str], clients: Sequence[Client], counts: Counter[str]
) -> Generator[str]:
    """Yield what is wrong in the logs, of each space at its address."""
    for space, address in addresses.items():
        done = [each for client in clients for each in client.done if each.space == space]
        with SyncMemory.open(address, space=space, actor=ACTOR) as memory:
            verified, head = memory.verify(), memory.status().version
            if not verified.sound:
                yield f"{space}: {verified.summary}"
            found = Counter(_texts(memory))
            for each in done:
                times = found[text(each.command_id)]
                if times != 1:
                    counts["commands lost or doubled"] += 1
                    yield f"{space}: {each.command_id} is {times} times there"
                again = memory.learn(text(each.command_id), command_id=each.command_id)
                if again.version != each.version:
                    yield f"{space}: {each.command_id} was at {each.version}, is at {again.version}"
            if memory.status().version != head:
                yield f"{space}: an acknowledged command was written again"
            for client in clients:
                for of, receipt in client.receipts:
                    verdict = memory.verify_receipt(receipt).verdict if of == space else "confirmed"
                    if verdict != "confirmed":
                        yield f"{space}: the receipt of {receipt.decision_id} is {verdict}"
            counts["events"] += head + 1


def _texts(memory: SyncMemory) -> Generator[str | None]:
    """Yield the texts of all blocks."""
    after: int | None = -1
    while after is not None:
        page = memory.blocks(after=after, limit=PAGE)
        yield from (each.content for each in page.items)
        after = page.next_after


def differing(hosts: Sequence[HostProcess], heads: dict[str, int]) -> Generator[str]:
    """Yield the spaces of which hosts do not answer the same at the same version.

    A leader may still write what it had put off, so hosts are asked until they are at one version.
    """
    for space, head in heads.items():
        version, found = head, set[tuple[str, bytes]]()
        for _ in range(TRIES):
            wanted = {"Mnemic-Min-Version": str(version)}
            path = f"/v1/spaces/{space}/blocks?limit={PAGE}"
            answers = [host.client.get(path, headers=wanted).raise_for_status() for host in hosts]
            found = {(each.headers["etag"], each.content) for each in answers}
            version = max(int(each.headers["mnemic-version"]) for each in answers)
            if len({tag for tag, _ in found}) == 1:
                break
        if len(found) != 1:
            yield f"{space}: hosts answer {', '.join(sorted(tag for tag, _ in found))}"
