"""The pieces of ``benchmarks/rightness.py``: scripts, figures, and some checks on mnemic.

The conversations here are a few turns; the real ones are in no checkout.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rightness
from attrs import frozen
from checks.abstention import Abstention, renamed
from checks.ages import Ages
from checks.duplicates import Duplicates
from checks.erasure import Erasure
from checks.facts import Changes, LookAlikes, Readme, Repeats
from checks.figures import Check, Data, Figure, Row, auroc
from conversations import Conversation, Question, Turn
from peers import scripted
from peers.ours import Release
from peers.port import Ability, Answer, Item, Peer, Vectors
from peers.registry import entry
from peers.scripts import Outcome, Script, played

from mnemic.adapters.embedders.hashing import HashEmbedder

LINES = (
    ("Ann", "I painted the boat green in May."),
    ("Bob", "My sister moved to Oslo."),
    ("Ann", "The dentist is on Tuesday."),
    ("Bob", "The oven needs a new door."),
)


def talk(name: str, first: str = "Ann", second: str = "Bob") -> Conversation:
    names = {"Ann": first, "Bob": second}
    turns = tuple(
        Turn(
            id=f"t{place}",
            session=1,
            at=f"2026-03-02T18:0{place}:00",
            speaker=names[who],
            text=text,
        )
        for place, (who, text) in enumerate(LINES)
    )
    asked = (
        ("What colour is the boat?", "t0"),
        (f"Where did the sister of {second} move?", "t1"),
        ("When is the dentist?", "t2"),
    )
    questions = tuple(
        Question(text=text, kind="single-hop", evidence=frozenset({turn})) for text, turn in asked
    )
    return Conversation(id=name, turns=turns, questions=questions)


PAIRS = (
    {"label": "SAME", "old": "The gate is green.", "new": "the gate is green"},
    {"label": "DIFFERENT", "old": "Gate 1 is green.", "new": "Ovens cost 700 EUR in Oslo."},
    {"label": "CONTRADICTS", "old": "The gate is open.", "new": "The gate is closed."},
)
DATA = Data(conversations=(talk("one"), talk("two", "Kim", "Lou")), pairs=PAIRS, quick=True)


class FirstLines(Peer):
    """Keeps lines in order, and answers any question with the first of them."""

    name = "first lines"
    abilities = frozenset({Ability.LISTING})

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        super().__init__(folder, vectors)
        self._items: list[str] = []

    def write(self, item: Item) -> None:
        self._items.append(item.id)

    def write_many(self, items: Any) -> None:
        for item in items:
            self.write(item)

    def ask(self, question: str) -> list[str]:
        del question
        return self._items[:2]

    def listed(self) -> list[str]:
        return self._items


@frozen
class Player:
    """Plays checks, with vectors of words."""

    folder: Path

    def figures(self, check: Check, kind: type[Peer]) -> dict[str, Figure]:
        return check.figures([self.outcome(script, kind) for script in check.scripts()])

    def outcome(self, script: Script, kind: type[Peer]) -> Outcome:
        texts = [text.strip() for text in script.texts()]
        vectors = Vectors(texts, HashEmbedder(64).embed(texts))
        return played(script, kind, self.folder, vectors)


@pytest.fixture
def player(tmp_path: Path) -> Player:
    return Player(tmp_path)


# --- figures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("positives", "negatives", "expected"),
    [([3, 2], [1, 0], 1.0), ([0], [1], 0.0), ([1, 1], [1], 0.5), ([1, 3], [2, 0], 0.75)],
)
def test_the_area_under_the_curve_is_the_share_of_pairs_in_order(
    positives: list[float], negatives: list[float], expected: float
) -> None:
    assert auroc(positives, negatives) == expected


@pytest.mark.parametrize(
    ("sign", "value", "met"),
    [
        (">=", 0.9, True),
        (">=", 0.8, False),
        ("<=", 0.8, True),
        ("<=", 0.91, False),
        ("=", 1, False),
    ],
)
def test_a_row_says_whether_its_goal_is_met(sign: str, value: float, *, met: bool) -> None:
    assert Row("key", "what", sign, 0.9).met(value) is met


def test_an_answer_without_a_verdict_is_as_sure_as_its_best_score() -> None:
    assert Answer(ids=["a", "b"], scores=[0.4, 0.2]).sureness == 0.4
    assert Answer(ids=["a"], scores=[0.4], answerable=0.9).sureness == 0.9
    assert Answer(ids=[], scores=[]).sureness == 0.0


def test_speakers_are_renamed_all_at_once() -> None:
    swapped = talk("other", "Bob", "Ann")
    assert renamed("Did Ann call Bob, or Annette?", talk("one"), swapped) == (
        "Did Ann call Bob, or Annette?"
    )
    assert renamed("Did Ann call Bob, or Annette?", talk("one"), talk("two", "Kim", "Lou")) == (
        "Did Kim call Lou, or Annette?"
    )


# --- scripts --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", rightness.CHECKS)
def test_scripts_are_the_same_every_time_and_survive_json(kind: type[Check]) -> None:
    scripts = [each.plain() for each in kind(DATA).scripts()]
    assert scripts == [each.plain() for each in kind(DATA).scripts()]
    restored = [Script.restored(json.loads(json.dumps(each))).plain() for each in scripts]
    assert json.dumps(restored) == json.dumps(scripts)


def test_a_memory_that_keeps_everything_loses_no_pair_and_finds_what_is_first(
    player: Player,
) -> None:
    assert player.figures(Duplicates(DATA), FirstLines) == {
        "pairs_lost": Figure(0, 2),
        "merge_recall": Figure(0.0),
    }
    assert player.figures(LookAlikes(DATA), FirstLines) == {
        "alike_first": Figure(1, 90),
        "alike_kept": Figure(90, 90),
    }
    assert player.figures(Readme(DATA), FirstLines) == {
        "readme_before": Figure(2, 2),
        "readme_after": Figure(0, 2),
        "readme_beside": Figure(0, 2),
    }


def test_what_a_memory_cannot_be_asked_has_no_figure(player: Player) -> None:
    assert player.figures(Ages(DATA), FirstLines) == {
        "r1_dated": Figure(1 / 3),
        "r10_dated": Figure(2 / 3),
    }
    assert player.figures(Erasure(DATA), FirstLines) == {}
    assert player.figures(Repeats(DATA), FirstLines) == {
        "restated_first": Figure(1, 1),
        "yes_kept": Figure(2, 2),
    }
    assert set(player.figures(Abstention(DATA), FirstLines)) == {
        "auroc_other",
        "auroc_swapped",
        "auroc_books",
    }


# --- mnemic ---------------------------------------------------------------------------------


def test_mnemic_plays_the_hand_written_checks(player: Player) -> None:
    ours = entry(rightness.OURS)
    for kind in (Changes, Readme, Repeats, Duplicates):
        found = player.figures(kind(DATA), ours)
        missing = {row.key for row in kind.rows} - set(found)
        assert missing <= {"link_precision", "link_recall"}
    ages = Ages(DATA)
    assert set(player.figures(ages, ours)) == {row.key for row in ages.rows}


def test_users_become_scopes_where_the_release_has_them() -> None:
    item = Item(id="1", text="I am left-handed.", user="ann")
    ann = {"user": "ann"}
    newer = Release(scopes=True, verdicts=True, links=True)
    older = Release(scopes=False, verdicts=False, links=False)
    assert newer.lesson(item)["scope"] == ann
    assert newer.asked_by("ann") == {"scope": ann}
    assert older.lesson(item)["metadata"] == ann
    assert older.asked_by("ann") == {"where": {"metadata": ann}}
    assert newer.asked_by(None) == older.asked_by(None) == {}
    assert "scope" not in newer.lesson(Item(id="2", text="It rains."))


def test_an_erasure_seals_or_spares_every_recorded_answer(player: Player) -> None:
    found = player.figures(Erasure(DATA), entry(rightness.OURS))
    counts = {key: figure.value for key, figure in found.items()}
    assert sum(counts.values()) == 33
    assert counts["replay_differs"] == 0
    assert counts["replay_sealed"] > 0


def test_a_child_writes_outcomes_that_become_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks: list[Check] = [Readme(DATA)]
    scripts = {check.title: check.scripts() for check in checks}
    rightness.prepare(scripts, HashEmbedder(64), tmp_path)
    found = scripted.outcomes(tmp_path, "mnemic")
    assert len(capsys.readouterr().out.splitlines()) == 1
    results: rightness.Results = {
        "mnemic": {"version": "1", "figures": rightness.figures(checks, found)},
        "mem0": {"skipped": "not installed"},
    }
    again = tmp_path / "results.json"
    again.write_text(json.dumps(rightness.plain(results)))
    assert rightness.saved(str(again)) == results
    lines = rightness.report(results, [*Readme.rows, *Erasure.rows])
    assert lines[0] == "| what | wanted | mnemic 1 |"
    assert lines[2].startswith("| README: the retry fact first, before the revision | 2 | ")
    assert lines[-3].endswith("| n/a |")
    assert lines[-1] == "Left out. mem0 (infer=False, faiss): not installed."


def test_an_absent_folder_is_named_and_leaves_the_hand_written_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = rightness.given(tmp_path, quick=True)
    assert data == Data(quick=True)
    assert "near-duplicates-dev.json: rows that need it are left out" in capsys.readouterr().err
    assert Ages(data).scripts() == []
    assert len(Abstention(data).scripts()) == 4
