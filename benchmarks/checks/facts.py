"""Facts that look alike, facts that changed, the README's questions, and what is said twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import ClassVar

from checks.figures import Check, Data, Figure, Row, answer, told
from checks.hand_written import Book, books, changes
from peers.port import Ability, Answer, Item
from peers.scripts import LIST, Outcome, Script, ask, pass_time, revise, write

NOW = "2026-11-01T09:00:00+00:00"
SPREAD_DAYS = 60
OLD_DAYS, NEW_DAYS = 40, 20
FIRST_FIVE = 5

TEMPLATES = (
    (
        "The contact of branch {number} is {person}. Its letters go to box {number}.",
        "Who is the contact of branch {number}?",
    ),
    ("Printer prt-{number} is in {town}.", "where is prt-{number}?"),
    ("Guest {number} wants {thing} for breakfast.", "what does guest {number} want for breakfast?"),
)
COPIES = 30
TOWNS = "Aarhus Bilbao Cork Delft Essen Faro Ghent Huelva Imola Jena".split()
THINGS = "porridge eggs yoghurt toast waffles".split()


def dated(item: Item, days: float) -> Item:
    """Return *item*, said *days* before now."""
    at = datetime.fromisoformat(NOW).replace(tzinfo=None) - timedelta(days=days)
    return Item(
        id=item.id, text=item.text, at=at.isoformat(timespec="seconds"), category=item.category
    )


def fact(name: str, text: str) -> Item:
    """Return a piece of knowledge."""
    return Item(id=name, text=text, category="knowledge")


class LookAlikes(Check):
    """Ninety facts of three templates: each question names one of them."""

    title = "facts that look alike"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("alike_first", "the right one of 90 look-alikes comes first", "=", 90),
        Row("alike_kept", "look-alikes that are still kept", "=", 90),
    )

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        random = Random(3)
        self._items: list[Item] = []
        self._questions: list[tuple[str, str]] = []
        for kind, (text, question) in enumerate(TEMPLATES):
            for number in range(COPIES):
                words = {
                    "number": number,
                    "person": f"Person{number}",
                    "town": TOWNS[number % len(TOWNS)],
                    "thing": THINGS[number % len(THINGS)],
                }
                item = fact(f"{kind}/{number}", text.format(**words))
                self._items.append(dated(item, random.uniform(0, SPREAD_DAYS)))
                self._questions.append((question.format(**words), item.id))

    def scripts(self) -> list[Script]:
        asked = [ask(question) for question, _ in self._questions]
        return [
            Script(steps=[write(*self._items), *asked], now=NOW),
            Script(steps=[write(*self._items), LIST], now=NOW, needs={Ability.LISTING}),
        ]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        found, kept = outcomes
        right = [item for _, item in self._questions]
        return told(
            {
                "alike_first": None if found is None else Figure(_first(found, right), len(right)),
                "alike_kept": None if kept is None else Figure(len(kept[0]), len(right)),
            }
        )


class Changes(Check):
    """Ten facts that changed, among others: the newer one comes first, the older one is shown."""

    title = "changed facts"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("change_newest", "the newest of a changed fact comes first", "=", 10),
        Row("change_older", "the older one is among the first five", "=", 10),
    )

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self._changes = changes()

    def scripts(self) -> list[Script]:
        random = Random(3)
        items: list[Item] = []
        for number, change in enumerate(self._changes):
            items.append(dated(fact(f"old/{number}", change.old), OLD_DAYS))
            items.append(dated(fact(f"new/{number}", change.new), NEW_DAYS))
        items += [dated(other, random.uniform(0, SPREAD_DAYS)) for other in facts_of(books())]
        asked = [ask(change.question) for change in self._changes]
        return [Script(steps=[write(*items), *asked], now=NOW)]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        (found,) = outcomes
        assert found is not None, "it needs nothing"
        count = len(self._changes)
        shown = sum(
            f"old/{number}" in answer(each).ids[:FIRST_FIVE] for number, each in enumerate(found)
        )
        newest = _first(found, [f"new/{number}" for number in range(count)])
        return {
            "change_newest": Figure(newest, count),
            "change_older": Figure(shown, count),
        }


class Readme(Check):
    """The tour of the README: two questions before a revision, after it, and beside more facts."""

    title = "the README's questions"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("readme_before", "README: the retry fact first, before the revision", "=", 2),
        Row("readme_after", "README: the revised one first, after it", "=", 2),
        Row("readme_beside", "README: the same beside two later facts", "=", 2),
    )
    questions = ("how long until a payment is retried?", "when is a payment retried?")

    def scripts(self) -> list[Script]:
        asked = [ask(question) for question in self.questions]
        timeout = Item(
            id="30 s", text="The retry timeout is 30 s.", author="Ines", category="knowledge"
        )
        refund = Item(
            id="refund",
            text="A refund over 500 EUR needs a second pair of eyes.",
            category="decision",
        )
        later = (
            fact("limit", "Card refunds are limited to 2,000 EUR a day."),
            fact("alarm", "A third retry within an hour pages the person on call."),
        )
        revision = Item(
            id="60 s", text="The retry timeout is 60 s.", author="Ines", category="knowledge"
        )
        steps = [write(timeout, refund), *asked, revise(timeout.id, revision), *asked]
        return [Script(steps=[*steps, write(*later), *asked], now=NOW)]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        (found,) = outcomes
        assert found is not None, "it needs nothing"
        keys = [row.key for row in self.rows]
        right = {keys[0]: "30 s", keys[1]: "60 s", keys[2]: "60 s"}
        count = len(self.questions)
        return {
            key: Figure(_first(found[count * place :][:count], [right[key]] * count), count)
            for place, key in enumerate(keys)
        }


class Repeats(Check):
    """What is said again: by the same, by another user, and in the same conversation."""

    title = "what is said again"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("restated_first", "running, stopped, running: the last one comes first", "=", 1),
        Row("users_found", "two users who say the same: both find it", "=", 2),
        Row("yes_kept", "messages kept of “yes”, said twice", "=", 2),
    )
    states = ("The mill is running.", "The mill is stopped.", "The mill is running.")
    trait = "I am left-handed."

    def scripts(self) -> list[Script]:
        said = [write(fact(f"{place}", text)) for place, text in enumerate(self.states)]
        one_day = pass_time(1)
        now = ask("what is the mill doing?")
        again = [said[0], one_day, said[1], one_day, said[2], one_day, now]
        undated = [*said, now]
        users = ("ann", "bob")
        ours = [Item(id=user, text=self.trait, user=user, category="knowledge") for user in users]
        asked = [ask("which hand do I write with, am I left-handed?", user=user) for user in users]
        talk = [
            Item(id=f"{place}", text=text, author=author, thread="talk/1")
            for place, (author, text) in enumerate(
                [("Ann", "Shall I close the gate?"), ("Bob", "Yes."), ("Ann", "And lock it?")]
            )
        ]
        yes = [*talk, Item(id="3", text="Yes.", author="Bob", thread="talk/1")]
        return [
            Script(steps=again, now=NOW, needs={Ability.CLOCK}),
            Script(steps=undated, now=NOW),
            Script(steps=[write(*ours), *asked], now=NOW, needs={Ability.USERS}),
            Script(steps=[write(*yes), LIST], now=NOW, needs={Ability.LISTING}),
        ]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        again, undated, users, yes = outcomes
        restated = undated if again is None else again
        assert restated is not None, "it needs nothing"
        first = answer(restated[0]).ids[:1]
        return told(
            {
                "restated_first": Figure(float(first in (["0"], ["2"])), 1),
                "users_found": None if users is None else Figure(_first(users, ["ann", "bob"]), 2),
                "yes_kept": None if yes is None else Figure(len({"1", "3"} & set(yes[0])), 2),
            }
        )


def facts_of(all_books: Sequence[Book]) -> list[Item]:
    """Return the facts of all books."""
    return [
        fact(f"{book.name}/{place}", text)
        for book in all_books
        for place, (text, _) in enumerate(book.facts)
    ]


def _first(found: Sequence[dict[str, object]], right: Sequence[str]) -> int:
    """Return how many answers begin with the right item."""
    tops: list[Answer] = [answer(each) for each in found]
    return sum(top.ids[:1] == [item] for top, item in zip(tops, right, strict=True))
