"""Measures recall of conversations with extracted facts beside their messages, and without.

Every conversation is added twice, session by session: the messages alone, and with the facts that
the extractor ``rules`` finds in them. Every question is asked of both at the end, and of views as
of the end of every session by which some of its evidence has been said. A fact counts for the
messages that it quotes. A negative difference at any of these moments would mean that facts crowd
out what was said.

    python benchmarks/facts_beside_messages.py                   the data sets, some five minutes
    python benchmarks/facts_beside_messages.py --at-end          at the end alone
    python benchmarks/facts_beside_messages.py --extract every   the first two sentences of every
                                                                 message as facts: many more
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen
from conversations import FOLDER, Conversation, Turn, data_sets, load
from retrieval_scores import DEPTH

from mnemic import SyncMemory
from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.extractors.rules import RulesExtractor
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.ports import Embedder, Extract, Fact, KnownBlock, Message, Span

NO_BUDGET = 1_000_000
ROLES = ("user", "assistant")
SENTENCE_MIN = 4
"""Words of the shortest sentence that ``EverySentence`` takes for a fact."""


class EverySentence:
    """Extractor that takes the first two sentences of every message for facts."""

    name, model, prompt, window, compares = "every", "", "", 64, False

    def extract(
        self,
        messages: Sequence[Message],
        known: Sequence[KnownBlock],  # noqa: ARG002 - of the port
    ) -> Extract:
        """Return the facts in *messages*."""
        facts = [
            Fact(text=text, quotes=(Span(message=place, text=text),), relation="unrelated")
            for place, message in enumerate(messages)
            for text in _sentences(message.content)[:2]
        ]
        return Extract(facts=tuple(facts))


def _sentences(content: str) -> list[str]:
    parts = content.replace("! ", ". ").split(". ")
    found = [part.strip() for part in parts]
    return [each for each in found if len(each.split()) >= SENTENCE_MIN and each in content]


@frozen(kw_only=True)
class Added:
    """A conversation in a space of its own."""

    memory: SyncMemory
    turns: dict[str, set[str]]
    """By block: the turn of a message, the turns that a fact quotes."""
    versions: list[int]
    """Version of the log after each session."""

    def ranks(self, text: str, evidence: frozenset[str], session: int) -> list[int]:
        """Return the rank at which each turn of the evidence is first in the answer, if it is."""
        view = self.memory.as_of(version=self.versions[session])
        answer = view.recall(text, top_k=DEPTH, token_budget=NO_BUDGET, min_probability=0.0)
        found: dict[str, int] = {}
        for rank, block in enumerate(answer.block_ids, start=1):
            for turn in self.turns[block] & evidence:
                found.setdefault(turn, rank)
        return list(found.values())


def added(conversation: Conversation, extract: str, embedder: Embedder) -> Added:
    """Return a conversation, added and consolidated session by session."""
    clock, known = ManualClock(), 0
    extractor = EverySentence() if extract == "every" else RulesExtractor()
    memory = SyncMemory.open(MemoryStore(), embedder=embedder, clock=clock, extractor=extractor)
    turns: dict[str, set[str]] = {}
    versions: list[int] = []
    for session in conversation.sessions():
        known += len(session)
        clock.set(conversation.after(known))
        thread = f"{conversation.id}/{session[0].session}"
        result = memory.add(map(message, session), extract=extract, thread=thread)
        for turn, each in zip(session, result.results, strict=True):
            turns[each.block_id] = {turn.id}
        for fact in result.facts:
            quoted = (turns[quote.message_id] for quote in fact.quotes)
            turns[fact.block_id] = turns.get(fact.block_id, set()).union(*quoted)
        memory.consolidate()
        versions.append(memory.status().version)
    return Added(memory=memory, turns=turns, versions=versions)


def message(turn: Turn) -> dict[str, str]:
    """Return a turn as a message."""
    by_role = turn.speaker in ROLES
    said = {"role": turn.speaker} if by_role else {"role": "user", "name": turn.speaker}
    return {**said, "content": turn.text, "created_at": f"{turn.at}Z", "id": turn.id}


def measure(path: Path, options: argparse.Namespace, embedder: Embedder) -> None:
    """Print the scores of a data set without and with facts, at the end and as of every session."""
    found: dict[str, list[tuple[list[float], list[float]]]] = {"at the end": [], "before": []}
    facts = 0
    for conversation in load(path):
        sides = [added(conversation, each, embedder) for each in ("none", options.extract)]
        facts += len(sides[1].turns) - len(sides[0].turns)
        said: set[str] = set()
        sessions = conversation.sessions()
        for number, session in enumerate(sessions):
            said |= {turn.id for turn in session}
            is_last = number + 1 == len(sessions)
            if options.at_end and not is_last:
                continue
            for question in conversation.questions:
                evidence = question.evidence & said
                if evidence:
                    plain, beside = (
                        scores(side.ranks(question.text, evidence, number), len(evidence))
                        for side in sides
                    )
                    found["at the end" if is_last else "before"].append((plain, beside))
        for side in sides:
            side.memory.close()
    print(f"{path.stem}: {facts} facts")
    for name, pairs in found.items():
        if pairs:
            print(f"  {name}, {len(pairs)} questions: {compared(pairs)}")


def scores(ranks: Sequence[int], evidence: int) -> list[float]:
    """Return R@5, R@10 and the reciprocal rank of one answer, in per cent."""
    at_5, at_10 = (100 * sum(rank <= k for rank in ranks) / evidence for k in (5, DEPTH))
    return [at_5, at_10, 100 / min(ranks) if ranks else 0.0]


def compared(pairs: Sequence[tuple[list[float], list[float]]]) -> str:
    """Return the means without and with facts, and how many questions gained and lost."""
    parts = []
    for place, name in enumerate(("R@5", "R@10", "MRR")):
        plain, beside = ([pair[side][place] for pair in pairs] for side in (0, 1))
        more = sum(b > a for a, b in zip(plain, beside, strict=True))
        less = sum(b < a for a, b in zip(plain, beside, strict=True))
        means = f"{statistics.fmean(plain):.2f} -> {statistics.fmean(beside):.2f}"
        parts.append(f"{name} {means} (+{more} -{less})")
    return ", ".join(parts)


def main() -> None:
    """Print two lines per data set."""
    parser = argparse.ArgumentParser(description="Recall with facts beside messages.")
    parser.add_argument("--data", type=Path, nargs="+", help="files with conversations")
    parser.add_argument("--extract", choices=("rules", "every"), default="rules")
    parser.add_argument("--at-end", action="store_true", help="ask at the end alone")
    options = parser.parse_args()
    embedder = BundledEmbedder()
    for path in options.data or data_sets(FOLDER):
        measure(path, options, embedder)


if __name__ == "__main__":
    main()
