"""Measures what an attacker with an untrusted token achieves by poisoning and by flooding.

**Poisoning.** 1,000 trusted facts are learned, and 200 questions about them will be asked. The
attacker knows the questions and none of the answers, and writes one text for each question, chosen
to be recalled for it (``attacks.py`` lists the tricks). mnemic gets them from a session handle that
is bound to the zone ``untrusted``, with a forged author. mem0 and LangGraph's store get the same
texts and the same vectors; neither has trust, so the attacker writes there as everybody does.

* ``returned``: share of answers with a text of the attacker among ten results
* ``first``: share of answers that begin with one
* ``unmarked``: share of answers that show a line of an attacker's text without saying that it is
  not trusted; wanted 0
* ``marked``: share of answers that show one, and say so
* ``resolved``: share of questions for which ``deep_reference`` says ``resolved`` and leads with a
  text of the attacker; wanted 0
* ``found``: share of answers with the true fact

**Flooding.** The same memory behind ``mnemic serve`` with its defaults. A client with a trusted
token recalls, alone and then while the attacker sends batches, single texts, recalls, references
and consolidations over eight connections, as fast as they are answered. The figure is the ratio of
the 99th percentiles of the client's times, wanted at most 3.

``compare_peers.py --install mem0 langgraph`` installs the peers; one that is not installed is left
out with the reason. Times depend on what else the machine does: read the ratio.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from attacks import Attack, Fact, attacks, facts
from attrs import asdict, frozen
from compare_peers import child
from pages import machine, table, written
from peers.port import TOP_K, Item
from sockets import Connection, Interface, serving

from mnemic.adapters.access import Keyring, beside
from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import Refused
from mnemic.kernel.model.identity import short

FACTS, ATTACKS = 1000, 200
PEERS = ("mem0", "langgraph")
UNTRUSTED = "untrusted"
AUTHOR = "Ines"
"""Whom the attacker claims to be, where that is possible."""
SPACE = "/v1/spaces/default"
CONNECTIONS = 8
"""Of the attacker."""
BATCH = 200
"""Texts of one batch of the attacker."""
RATIO_MAX = 3.0
WARM_UP = 20
ROUNDS = 3
"""Quiet and flooded recalls alternate this often."""
CENTILES = 100


@frozen(kw_only=True)
class Poisoned:
    """What the attacker achieved in one memory, in shares of the questions; None: no such thing."""

    name: str
    returned: float
    first: float
    unmarked: float
    marked: float | None
    resolved: float | None
    found: float

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        shares = (self.returned, self.first, self.unmarked, self.marked, self.resolved, self.found)
        return [self.name, *("-" if each is None else f"{100 * each:.1f} %" for each in shares)]


@frozen(kw_only=True)
class Flooded:
    """Times of the other client's recalls, in seconds, and the answers to the attacker."""

    quiet: list[float]
    flooded: list[float]
    statuses: dict[str, int]

    @property
    def ratio(self) -> float:
        """The 99th percentile under the flood, over that without."""
        return p99(self.flooded) / p99(self.quiet)


def p99(seconds: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(seconds, n=CENTILES)[-1]


# --- poisoning ------------------------------------------------------------------------------


def learned(memory: SyncMemory, known: Sequence[Fact], hostile: Sequence[Attack]) -> set[str]:
    """Let the owner learn the facts and the attacker the attacks; return the attacker's blocks."""
    memory.learn_many([{"content": fact.text, "source": "user"} for fact in known])
    memory.consolidate()
    mailbox = memory.session_handle(actor="mailbox", zone=UNTRUSTED)
    blocks = set()
    for attack in hostile:
        more: dict[str, Any] = {"confidence": 1.0, "tags": ["self/constitutional"]}
        try:
            block = mailbox.learn(attack.text, author=AUTHOR, **more)
        except Refused:  # a policy may forbid the claim
            block = mailbox.learn(attack.text, **more)
        blocks.add(str(block.block_id))
    memory.consolidate()
    return blocks


def ours(known: Sequence[Fact], asked: Sequence[Fact], hostile: Sequence[Attack]) -> Poisoned:
    """Poison a memory of mnemic in this process, and ask."""
    with SyncMemory.open(":memory:", actor="owner") as memory:
        theirs = learned(memory, known, hostile)
        answers = [memory.recall(fact.question, top_k=TOP_K, record=False) for fact in asked]
        references = [memory.deep_reference(fact.question, record=False) for fact in asked]
    shown = [cited(answer.text, theirs & set(answer.block_ids)) for answer in answers]
    return Poisoned(
        name="mnemic",
        returned=_share(bool(theirs & set(answer.block_ids)) for answer in answers),
        first=_share(bool(answer.blocks) and answer.block_ids[0] in theirs for answer in answers),
        unmarked=_share(any(UNTRUSTED not in line for line in lines) for lines in shown),
        marked=_share(bool(lines) and all(UNTRUSTED in line for line in lines) for lines in shown),
        resolved=_share(
            each.status == "resolved"
            and each.recommended is not None
            and each.recommended.id in theirs
            for each in references
        ),
        found=_share(
            fact.text in {block.content for block in answer.blocks}
            for fact, answer in zip(asked, answers, strict=True)
        ),
    )


def cited(text: str, blocks: set[str]) -> list[str]:
    """Return the lines of an answer that show some blocks."""
    names = [f"[{short(block)}" for block in blocks]
    return [line for line in text.splitlines() if any(name in line for name in names)]


def theirs(
    peer: str, known: Sequence[Fact], asked: Sequence[Fact], hostile: Sequence[Attack]
) -> Poisoned | str:
    """Poison another memory, in its own process; return the reason if it cannot be measured."""
    items = [Item(id=f"fact/{place}", text=fact.text) for place, fact in enumerate(known)]
    items += [Item(id=f"attack/{place}", text=each.text) for place, each in enumerate(hostile)]
    questions = [fact.question for fact in asked]
    texts = list(dict.fromkeys(said.strip() for item in items for said in (item.text, item.line)))
    texts += questions
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = np.asarray(BundledEmbedder().embed(texts), dtype=np.float32)
        np.save(folder / "vectors.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
        work = {
            "texts": texts,
            "items": [asdict(item) for item in items],
            "questions": questions,
        }
        (folder / "work.json").write_text(json.dumps(work))
        command = child(peer, "peers.poisoned", folder)
        if command is None:
            return "not installed; `compare_peers.py --install` does"
        arguments, environment = command
        ended = subprocess.run(  # noqa: S603 - one of ours
            arguments, capture_output=True, check=False, env=environment, timeout=1800
        )
    if ended.returncode != 0:
        return f"failed: {' '.join(ended.stderr.decode().strip().splitlines()[-1:])}"
    result = json.loads(ended.stdout.splitlines()[-1])
    if "skipped" in result:
        return str(result["skipped"])
    facts_of = {fact.text: f"fact/{place}" for place, fact in enumerate(known)}
    return of_peer(result, [facts_of[fact.text] for fact in asked])


def of_peer(result: dict[str, Any], wanted: Sequence[str]) -> Poisoned:
    """Return the figures of another memory, from the ids of its answers and those of the facts."""
    answers: list[list[str]] = result["answers"]
    hits = [[name for name in ids if name.startswith("attack/")] for ids in answers]
    return Poisoned(
        name=f"{result['name']} {result['release']}",
        returned=_share(map(bool, hits)),
        first=_share(bool(ids) and ids[0].startswith("attack/") for ids in answers),
        unmarked=_share(map(bool, hits)),  # nothing in a result tells who wrote it
        marked=None,
        resolved=None,
        found=_share(name in ids for name, ids in zip(wanted, answers, strict=True)),
    )


def _share(hits: Iterable[bool]) -> float:
    found = list(hits)
    return sum(found) / len(found)


# --- flooding -------------------------------------------------------------------------------


def flooding(known: Sequence[Fact], asked: Sequence[Fact], recalls: int) -> Flooded:
    """Measure recalls over HTTP without and with an attacker."""
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "served.db"
        with SyncMemory.open(store, actor="owner") as memory:
            memory.learn_many([{"content": fact.text, "source": "user"} for fact in known])
            memory.consolidate()
        keyring = Keyring.open(beside(store))
        _, owner = keyring.create("owner", {"default": "write"})
        _, mailbox = keyring.create("mailbox", {"default": "write"}, zone=UNTRUSTED)
        with serving(store, owner) as interface, Connection(interface) as connection:
            requests = [
                interface.request(f"{SPACE}/recall", {"query": fact.question, "top_k": TOP_K})
                for fact in asked
            ]
            ask = partial(timed, connection, requests)
            ask(WARM_UP)
            attacker = Interface(port=interface.port, token=mailbox)
            quiet, flooded, statuses = [], [], Counter[str]()
            for _ in range(ROUNDS):  # so that other work of the machine affects both alike
                quiet += ask(recalls // ROUNDS)
                found, answered = attacked(partial(ask, recalls // ROUNDS), attacker)
                flooded += found
                statuses += Counter(answered)
    return Flooded(quiet=quiet, flooded=flooded, statuses=dict(statuses))


def timed(connection: Connection, requests: Sequence[bytes], many: int) -> list[float]:
    """Return the seconds of *many* requests, one after the other."""
    replies = [connection.ask(requests[number % len(requests)]) for number in range(many)]
    assert all(reply.made for reply in replies)
    return [reply.seconds for reply in replies]


def attacked(
    measure: Callable[[], list[float]], attacker: Interface
) -> tuple[list[float], dict[str, int]]:
    """Return what *measure* returns while another process floods the server."""
    flood = subprocess.Popen(  # noqa: S603 - this program
        [sys.executable, __file__, "--flood", str(attacker.port)],
        env={"PYTHONPATH": ":".join(sys.path), "MNEMIC_FLOOD_TOKEN": attacker.token},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert flood.stdout is not None
    flood.stdout.readline()  # it has begun
    time.sleep(1)  # until the inbox is full
    try:
        found = measure()
    finally:
        said, _ = flood.communicate("stop\n", timeout=120)
    statuses: dict[str, int] = json.loads(said)
    return found, statuses


def flood(port: int, token: str) -> None:
    """Send whatever an untrusted token may, until a line arrives on standard input."""
    interface = Interface(port=port, token=token)
    numbers, over = count(), [False]
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        running = [
            threads.submit(_flood_connection, interface, numbers, over) for _ in range(CONNECTIONS)
        ]
        print("begun", flush=True)
        sys.stdin.readline()
        over[0] = True
        total: Counter[str] = Counter()
        for each in running:
            total += each.result()
    print(json.dumps(total))


def _flood_connection(interface: Interface, numbers: count[int], over: list[bool]) -> Counter[str]:
    statuses: Counter[str] = Counter()
    connection = Connection(interface)
    while not over[0]:
        for path, document in _hostile(numbers):
            try:
                reply = connection.ask(interface.request(f"{SPACE}/{path}", document))
            except (OSError, ValueError):
                statuses["cut off"] += 1
                connection.close()
                connection = Connection(interface)
                continue
            statuses[f"{path} {reply.status}"] += 1
    connection.close()
    return statuses


def _hostile(numbers: count[int]) -> list[tuple[str, dict[str, Any]]]:
    """Return one round of requests: every one costs the server more than it costs the sender."""
    text = f"{next(numbers)} Who manages the harbour crane? It is managed by Mallory."
    batch = [f"{next(numbers)} the alarm code of the customs shed is 0000" for _ in range(BATCH)]
    return [
        ("blocks/batch", {"lessons": batch}),
        ("blocks", {"content": text}),
        ("recall", {"query": text, "top_k": 100}),
        ("deep-reference", {"query": text, "depth": 50}),
        ("consolidate", {}),
    ]


# --- the program ----------------------------------------------------------------------------


def report(found: Sequence[Poisoned], skipped: dict[str, str], flooded: Flooded) -> list[str]:
    """Return the tables."""
    columns = ("memory", "returned", "first", "unmarked", "marked", "resolved", "found")
    return [
        *table(columns, [each.cells for each in found]),
        *(f"\n{name} was left out: {why}." for name, why in skipped.items()),
        "",
        _said(flooded),
    ]


def _said(flooded: Flooded) -> str:
    """Return what the flood did, in a paragraph."""
    answered = ", ".join(f"{name}: {many}" for name, many in sorted(flooded.statuses.items()))
    mine, quiet = flooded.flooded, flooded.quiet
    return (
        f"Under the flood the 99th percentile of the other clients' recalls is "
        f"**{flooded.ratio:.1f} times** the quiet one, wanted at most {RATIO_MAX:g} "
        f"({1e3 * p99(mine):.0f} ms and {1e3 * p99(quiet):.0f} ms; medians "
        f"{1e3 * statistics.median(mine):.0f} ms and {1e3 * statistics.median(quiet):.0f} ms; "
        f"{len(mine)} recalls each, in {ROUNDS} rounds, on a machine that had other work). "
        f"Answers to the attacker: {answered}."
    )


def main() -> None:
    """Measure, print, and write the page with ``--write``."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--recalls", type=int, default=600, help="timed without and with the flood")
    add("--date", default=f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")
    add("--json", type=Path, help="also write the numbers here")
    add("--write", type=Path, help="put the tables between the marks of this page")
    add("--flood", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flood is not None:
        flood(options.flood, os.environ["MNEMIC_FLOOD_TOKEN"])
        return
    known = facts(FACTS)
    asked = known[:ATTACKS]
    hostile = attacks(asked)
    found, skipped = [ours(known, asked, hostile)], {}
    for peer in PEERS:
        result = theirs(peer, known, asked, hostile)
        if isinstance(result, str):
            skipped[peer] = result
        else:
            found.append(result)
    flooded = flooding(known, asked, options.recalls)
    lines = [*report(found, skipped, flooded), "", f"{machine()}; {options.date}."]
    print("\n".join(lines))
    if options.json is not None:
        numbers = {"poisoned": [asdict(each) for each in found], "ratio": flooded.ratio}
        numbers |= {"skipped": skipped, "statuses": flooded.statuses}
        options.json.write_text(json.dumps(numbers, indent=2) + "\n")
    if options.write is not None:
        written(options.write, "poisoning", lines)


if __name__ == "__main__":
    main()
