"""Campaign: a cluster is used while its hosts, its database and a move are killed and stopped."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.stores.postgres import PostgresStore
from tests.adapters.cluster.cluster_hosts import HostProcess, hosts, until
from tests.adapters.stores.postgres.server_pair import ServerPair, server_pair
from tests.torture.clusters.adversary import Adversary
from tests.torture.clusters.audit import differing, left, record_epochs, two_leaders
from tests.torture.clusters.clients import Client, clients
from tests.torture.figures import Effort, Figures

PROMISE: Final = (
    "When hosts, the primary or a move are killed, stopped or ended, each acknowledged command is "
    "done once, hosts answer alike, and no epoch has two leaders."
)
SPACES: Final = ("one", "two", "three")
MOVED: Final = SPACES[0]
TARGET: Final = "elsewhere"
"""Schema to which a space is moved."""
LEASE_S: Final = 2.0
WARM: Final = 3
"""Commands of each client before anything happens."""


@frozen(kw_only=True)
class Size:
    """How large a cluster is, and how long it is used."""

    rounds: int
    """Each with servers of its own, and a seed of its own."""
    hosts: int
    clients: int
    play_s: float
    """Duration of each round; until everything has happened once, at least."""
    pause_s: float
    """Mean time between two misfortunes."""


WHOLE: Final = Size(rounds=5, hosts=4, clients=8, play_s=120.0, pause_s=2.0)
SHORT: Final = Size(rounds=1, hosts=3, clients=2, play_s=1.0, pause_s=0.2)
SMALL: Final = 0.1
"""A share below it is the short form."""


@frozen(kw_only=True)
class Play:
    """Clusters that are used, and what is counted."""

    size: Size
    counts: Counter[str]
    waits_s: list[float]
    """The longest time without writes, of each."""

    def used(self, pair: ServerPair, folder: Path, seed: int) -> list[str]:
        """Use one cluster; return what is wrong with it afterwards."""
        target = f"{pair.address}&schema={TARGET}"
        for address in (pair.address, target):
            with closing(PostgresStore(address)) as store:
                store.leadership.enable()
        record_epochs(pair.address, ("mnemic", TARGET))
        options = ("--read-from", pair.standby)
        with hosts(folder, pair.address, self.size.hosts, *options, lease_s=LEASE_S) as made:
            for space in SPACES:
                made[0].client.put(f"/v1/spaces/{space}").raise_for_status()
            adversary = Adversary(
                pair=pair,
                hosts=made,
                chance=random.Random(seed),
                lease_s=LEASE_S,
                moved=MOVED,
                target=target,
                counts=self.counts,
            )
            with clients(made, SPACES, count=self.size.clients, seed=seed) as members:
                until(lambda: all(len(each.done) >= WARM for each in members))
                begun_s = time.monotonic()
                adversary.work(self.size.play_s, self.size.pause_s)
            failures = [failure for each in members for failure in each.failures]
            failures += differing(made, heads(members, made))
        self.counts["commands acknowledged"] += sum(len(each.done) for each in members)
        self.counts["sent again by clients"] += sum(each.repeated for each in members)
        self.counts["own writes read"] += sum(each.reads for each in members)
        self.counts["receipts checked"] += sum(len(each.receipts) for each in members)
        self.waits_s.append(longest_wait_s(members, begun_s))
        addresses = dict.fromkeys(SPACES, pair.address) | {MOVED: target}
        failures += left(addresses, members, self.counts)
        epochs, doubled = two_leaders(pair.address)
        self.counts["epochs"] += epochs
        return [*failures, *doubled]


def campaign(folder: Path, effort: Effort) -> Figures:
    """Use clusters while misfortune comes upon them, and check what each leaves behind."""
    size = SHORT if effort.share < SMALL else WHOLE
    counts = Counter[str]()
    failures = list[str]()
    waits_s = list[float]()
    play = Play(size=size, counts=counts, waits_s=waits_s)
    for number in range(effort.of(size.rounds)):
        seed = effort.seed * 1_000 + number
        place = folder / str(number)
        place.mkdir()
        with server_pair(synchronous=True) as pair:
            failures += [f"seed {seed}: {each}" for each in play.used(pair, place, seed)]
        effort.tell(f"{number + 1} clusters, {counts['commands acknowledged']:,} acknowledged")
    facts: dict[str, int | float | str] = dict(counts)
    return Figures(
        promise=PROMISE,
        facts=facts | {"longest time without writes, s": round(max(waits_s, default=0.0), 1)},
        failures=tuple(failures),
    )


def heads(members: Sequence[Client], made: Sequence[HostProcess]) -> dict[str, int]:
    """Return the last version of each space, which a write on its leader gives."""
    found = {}
    for space in members[0].memories:
        answer = made[0].client.post(f"/v1/spaces/{space}/blocks", json={"content": "The end."})
        answer.raise_for_status()
        found[space] = int(answer.headers["mnemic-version"])
    return found


def longest_wait_s(members: Sequence[Client], begun_s: float) -> float:
    """Return for how long no command at all was acknowledged."""
    times = sorted(each.at_s for client in members for each in client.done if each.at_s > begun_s)
    return max(later - earlier for earlier, later in pairwise([begun_s, *times]))
