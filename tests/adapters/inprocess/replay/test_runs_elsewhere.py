"""Backtests and replays on any runner: the same result, and a run that was stopped goes on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.adapters.inprocess.replay.policy_answers import answering
from mnemic.adapters.inprocess.replay.policy_search import shares
from mnemic.adapters.inprocess.replay.space_work import SpaceWork
from mnemic.adapters.runners.in_process import in_process
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import FieldRefused, HistoryReplaced
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.results import Backtest, ReplaySummary

RECALLS = 40


def weighing(name: str, *weights: float, **changes: Any) -> Policy:
    """Return the default policy with other weights of frame ``answer``."""
    given: dict[str, Any] = dict(zip(SIGNALS, weights, strict=True))
    frames = tuple(evolve(f, **given) if f.name == "answer" else f for f in DEFAULT.frames)
    return evolve(DEFAULT, name=name, frames=frames, **changes)


POLICIES = [
    weighing("even", *shares([1.0] * len(SIGNALS))),
    weighing("sure", 0.2, 0.0, 0.0, 0.8, 0.0, 0.0, 0.0, top_k=3),
    evolve(DEFAULT, name="steep", relevance_width=0.05),
]


def lived(store: Any) -> SyncMemory:
    """Return a memory with recalls, some of which explored, and outcomes.

    Some blocks may take only a share of an answer, and one text is erased.
    """
    memory = SyncMemory.open(
        store,
        embedder=HashEmbedder(),
        clock=ManualClock(),
        entropy=SeededEntropy("runs"),
        policy=evolve(DEFAULT, name="first", top_k=4),
    )
    ids = [
        memory.learn(f"fact {n} of harbour {n % 5}", confidence=n / 20).block_id for n in range(20)
    ]
    for block in ids[1:20:3]:
        memory.rezone(block, "external")
    for number in range(RECALLS):
        found = memory.recall(f"harbour {number % 5}", explore=0.6)
        memory.outcome(list(found.block_ids[:2]), signal=(number % 3) / 2)
    memory.erase(ids[0])
    return memory


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "m.db"
    lived(path).close()
    return path


@pytest.fixture(scope="module")
def memory(file: Path) -> Generator[SyncMemory]:
    with SyncMemory.open(file, read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def here(memory: SyncMemory) -> tuple[Backtest, ReplaySummary]:
    return memory.backtest(POLICIES), memory.replay_all()


@pytest.mark.extended
@pytest.mark.parametrize(
    "runner",
    [
        "processes",
        pytest.param(
            "ray",
            marks=[
                pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray"),
                pytest.mark.filterwarnings("ignore"),  # Ray's own
            ],
        ),
    ],
)
def test_every_runner_gives_the_same_result(
    runner: str, memory: SyncMemory, here: tuple[Backtest, ReplaySummary]
) -> None:
    assert memory.backtest(POLICIES, runner=runner) == here[0]
    assert memory.replay_all(runner=runner) == here[1]


def test_a_run_that_was_stopped_goes_on(
    memory: SyncMemory, here: tuple[Backtest, ReplaySummary], tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"

    def stop(done: int, total: int) -> None:
        if done < total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.backtest(POLICIES, rows=rows, progress=stop)
    kept = rows.read_text("utf-8").splitlines()
    assert len(kept) == 1 + len(POLICIES)
    assert memory.backtest(POLICIES, rows=rows) == here[0]
    whole = rows.read_text("utf-8").splitlines()
    assert whole[: len(kept)] == kept

    def never(_: Any) -> Any:
        return in_process(_Refusing())

    assert memory.backtest(POLICIES, rows=rows, runner=never) == here[0]
    assert rows.read_text("utf-8").splitlines() == whole


class _Refusing:
    """A work that does no task: all rows are known."""

    def begin(self) -> Any:
        return nullcontext(None)


FILES = Path("/proc/self/fd")


@pytest.mark.skipif(not FILES.exists(), reason="lists the open files of the process")
def test_a_worker_that_finds_another_history_closes_its_store(memory: SyncMemory) -> None:
    host: Any = memory  # the engine under the operation
    here = SpaceWork.on(host._open(), host._models, answering)  # noqa: SLF001
    assert here.stored is not None
    work = evolve(here, stored=evolve(here.stored, digest=b"another"), handle=None)
    with evolve(here, handle=None).begin():
        pass  # SQLite keeps a closed descriptor of a file that is open elsewhere, for its next use
    before = len(list(FILES.iterdir()))
    with pytest.raises(HistoryReplaced) as refused, work.begin():
        pass
    assert "was replaced while decisions were answered" in str(refused.value)
    assert len(list(FILES.iterdir())) == before


def test_a_store_in_memory_stays_in_this_process() -> None:
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder()) as memory:
        with pytest.raises(FieldRefused, match="cannot be opened by another process"):
            memory.backtest([], runner="processes")
        with pytest.raises(FieldRefused, match="runner must be one of"):
            memory.replay_all(runner="threads")
        assert memory.backtest([], runner="auto").decisions == 0


@settings(max_examples=5)
@given(
    weights=st.lists(
        st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7).filter(any), min_size=2, max_size=4
    ),
    top_k=st.integers(1, 8),
)
def test_policies_that_share_a_ranking_answer_as_they_would_alone(
    memory: SyncMemory, weights: list[list[float]], top_k: int
) -> None:
    policies = [weighing(f"p{n}", *shares(each)) for n, each in enumerate(weights)]
    policies.append(evolve(policies[0], name="longer", top_k=top_k))
    host: Any = memory  # the engine under the operation
    space, models = host._open(), host._models  # noqa: SLF001
    versions = reevaluation.decision_versions(space.view())[-3:]
    asked = list(reevaluation.decisions(space, versions))
    kept: reevaluation.Kept = {}
    *_, together = (  # the second time, what is shared is kept for the third
        list(reevaluation.reruns(space, models, asked, policies, kept=kept)) for _ in range(3)
    )
    assert all(kept.values())
    for place, policy in enumerate(policies):
        for mine, rerun in zip(
            reevaluation.reruns(space, models, asked, [policy]), together, strict=True
        ):
            alone, shared = mine.answers[0], rerun.answers[place]
            assert alone is not None
            assert shared is not None
            assert [(r.block, r.score, r.via) for r in shared.rows] == [
                (r.block, r.score, r.via) for r in alone.rows
            ]
            assert shared.runners_up == alone.runners_up
            assert rerun.judgments[place] == mine.judgments[0]
