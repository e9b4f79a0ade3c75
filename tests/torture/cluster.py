"""Campaign: a cluster is used while its processes are killed, stopped and cut off in turn."""
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

from attrs import field, frozen

from mnemic.adapters.stores.postgres import PostgresStore
from tests.adapters.cluster.cluster_hosts import HostProcess, hosts, until
from tests.adapters.cluster.links import LOOPBACK, Link, Network, network
from tests.adapters.stores.postgres.server_group import DATABASE, ServerGroup, server_group
from tests.torture.clusters.adversary import MISFORTUNES, Adversary
from tests.torture.clusters.audit import differing, left, record_epochs, two_leaders
from tests.torture.clusters.clients import Client, clients
from tests.torture.figures import Effort, Figures

PROMISE: Final = (
    "When hosts, the primary, standbys or a move are killed, stopped or cut off, each acknowledged "
    "command is done once, hosts answer alike, and no epoch has two leaders."
)
SPACES: Final = ("one", "two", "three")
MOVED: Final = SPACES[0]
TARGET: Final = "elsewhere"
"""Schema to which a space is moved."""
HOME: Final = f"{DATABASE}?target_session_attrs=read-write&answer_timeout=5&connect_timeout=2"
"""Address of the database, whose servers each process finds by variables of its own."""
TARGET_ADDRESS: Final = f"{HOME}&schema={TARGET}"
READ_FROM: Final = f"{DATABASE}?target_session_attrs=standby&answer_timeout=2&connect_timeout=2"
STANDBYS: Final = 2
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
    misfortunes: tuple[str, ...] = MISFORTUNES


WHOLE: Final = Size(rounds=5, hosts=4, clients=8, play_s=60.0, pause_s=1.0)
SHORT: Final = Size(
    rounds=1,
    hosts=3,
    clients=2,
    play_s=1.0,
    pause_s=0.2,
    misfortunes=("move", "fail over", "freeze", "cut from the database"),
)
SMALL: Final = 0.1
"""A share below it is the short form."""


@frozen(kw_only=True)
class Lines:
    """The network of a cluster, which begins with the links of its standbys."""

    network: Network
    of_standbys: dict[int, Link] = field(factory=dict)

    def reach(self, standby: int, socket: Path) -> str:
        """Return how a standby reaches a server, over a link of its own."""
        if standby not in self.of_standbys:
            self.of_standbys[standby] = self.network.link(socket)
        link = self.of_standbys[standby]
        link.target = socket
        return f"host={LOOPBACK} port={link.port}"


@frozen(kw_only=True)
class Play:
    """Clusters that are used, and what is counted."""

    size: Size
    counts: Counter[str]
    waits_s: list[float] = field(factory=list)
    """The longest time without writes, of each."""
    answers_s: list[float] = field(factory=list)
    """The slowest answer of a host that was cut off from the database, of each."""
    returns_s: list[float] = field(factory=list)
    """The longest time until such a host served again, of each."""

    def used(self, servers: ServerGroup, lines: Lines, folder: Path, seed: int) -> list[str]:
        """Use one cluster; return what is wrong with it afterwards."""
        target = f"{servers.address}&schema={TARGET}"
        for address in (servers.address, target):
            with closing(PostgresStore(address)) as store:
                store.leadership.enable()
        record_epochs(servers.address, ("mnemic", TARGET))
        with hosts(
            folder,
            HOME,
            self.size.hosts,
            *("--read-from", READ_FROM),
            lease_s=LEASE_S,
            linking=lambda port: lines.network.host_links(port, servers.sockets),
        ) as made:
            for space in SPACES:
                made[0].client.put(f"/v1/spaces/{space}").raise_for_status()
            adversary = Adversary(
                servers=servers,
                network=lines.network,
                standby_links=tuple(lines.of_standbys.values()),
                hosts=made,
                chance=random.Random(seed),
                lease_s=LEASE_S,
                moved=MOVED,
                home=HOME,
                target=TARGET_ADDRESS,
                counts=self.counts,
            )
            with clients(made, SPACES, count=self.size.clients, seed=seed) as members:
                until(lambda: all(len(each.done) >= WARM for each in members))
                begun_s = time.monotonic()
                adversary.work(self.size.misfortunes, self.size.play_s, self.size.pause_s)
            failures = [failure for each in members for failure in each.failures]
            failures += differing(made, heads(members, made))
        self.counts["commands acknowledged"] += sum(len(each.done) for each in members)
        self.counts["sent again by clients"] += sum(each.repeated for each in members)
        self.counts["own writes read"] += sum(each.reads for each in members)
        self.counts["receipts checked"] += sum(len(each.receipts) for each in members)
        self.waits_s.append(longest_wait_s(members, begun_s))
        self.answers_s.append(adversary.slowest_answer_s)
        self.returns_s.append(adversary.slowest_return_s)
        addresses = dict.fromkeys(SPACES, servers.address) | {MOVED: target}
        failures += left(addresses, members, self.counts)
        epochs, doubled = two_leaders(servers.address)
        self.counts["epochs"] += epochs
        return [*failures, *doubled]


def campaign(folder: Path, effort: Effort) -> Figures:
    """Use clusters while misfortune comes upon them, and check what each leaves behind."""
    size = SHORT if effort.share < SMALL else WHOLE
    counts = Counter[str]()
    failures = list[str]()
    play = Play(size=size, counts=counts)
    for number in range(effort.of(size.rounds)):
        seed = effort.seed * 1_000 + number
        place = folder / str(number)
        place.mkdir()
        with network() as made:
            lines = Lines(network=made)
            with server_group(standbys=STANDBYS, synchronous=True, reach=lines.reach) as servers:
                wrong = play.used(servers, lines, place, seed)
        failures += [f"seed {seed}: {each}" for each in wrong]
        effort.tell(f"{number + 1} clusters, {counts['commands acknowledged']:,} acknowledged")
    longest = {
        "longest time without writes, s": play.waits_s,
        "slowest refusal of a host cut off from the database, s": play.answers_s,
        "longest until it served again, s": play.returns_s,
    }
    facts: dict[str, int | float | str] = dict(counts)
    return Figures(
        promise=PROMISE,
        facts=facts | {name: round(max(each), 1) for name, each in longest.items()},
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
