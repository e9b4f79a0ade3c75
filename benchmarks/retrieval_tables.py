"""Tables of ``retrieval.py``: text for the terminal, Markdown for a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen
from pages import table
from retrieval_scores import ALL, Difference, Scores, Table


@frozen(kw_only=True)
class Measured:
    """What was measured on one data set in one grain with one embedder."""

    data: str
    """Name of the file, without its suffix."""
    digest: str
    """First digits of the SHA-256 of the file."""
    grain: str
    """What an item is; empty: as the file has it."""
    embedder: str
    conversations: int
    items: int
    seconds: float
    """Processor time of all of it: learning, embedding, asking every system."""
    table: Table

    @property
    def name(self) -> str:
        """The data set and its grain."""
        return f"{self.data}, {self.grain}" if self.grain else self.data

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        return next(iter(self.table[ALL].values())).questions


# --- terminal -------------------------------------------------------------------------------


def heading(found: Measured) -> str:
    """Return a line on the data and on what the run cost."""
    return (
        f"\n{found.name} ({found.digest}), {found.embedder}: {found.conversations} conversations, "
        f"{found.items:,} items, {found.questions:,} questions, {found.seconds:.0f} s"
    )


def report(rows: Table) -> None:
    """Print a table, in per cent and milliseconds."""
    width = max(map(len, rows)) + 2
    print(
        f"{'':{width}} {'':12}{'n':>6}{'R@5':>7}{'R@10':>7}{'±':>5}{'hit@10':>8}{'MRR':>7}{'ms':>8}"
    )
    for group, systems in rows.items():
        for place, (system, row) in enumerate(systems.items()):
            print(
                f"{'' if place else group:{width}} {system:12}{row.questions:>6}"
                f"{100 * row.recall_5:>7.1f}{100 * row.recall_10:>7.1f}{points(row.error):>5}"
                f"{100 * row.hit:>8.1f}{100 * row.mrr:>7.1f}{row.ms:>8.2f}"
                + "".join(f"   {signed(each)} to {each.other}" for each in row.differences)
            )


def signed(found: Difference) -> str:
    """Return a difference and its standard error, in points."""
    return f"{100 * found.mean:+.1f}".replace("-", "−") + f" ± {points(found.error)}"


def points(error: float | None) -> str:
    """Return a standard error in points; "?" where one question says nothing about it."""
    return "?" if error is None else f"{100 * error:.1f}"


# --- page -----------------------------------------------------------------------------------


def page(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the tables of a page, by embedder, the last recipe with differences."""
    yield from _data(measured)
    for embedder in dict.fromkeys(each.embedder for each in measured):
        found = [each for each in measured if each.embedder == embedder]
        yield from ("", f"## R@10, embedder {embedder}", "")
        yield from _overall(found)
        yield from ("", f"## R@5 and MRR, embedder {embedder}", "")
        yield from _depths(found)
        yield from ("", f"## R@10 by kind of question, embedder {embedder}")
        for each in found:
            if not each.grain:
                yield from ("", f"{each.name}:", "")
                yield from _kinds(each)


def _data(measured: Sequence[Measured]) -> list[str]:
    rows = {
        each.name: (
            each.name,
            f"`{each.digest}`",
            f"{each.conversations}",
            f"{each.items:,}",
            f"{each.questions:,}",
        )
        for each in measured
    }
    columns = ("data set", "SHA-256 of the file", "conversations", "items", "questions")
    return table(columns, list(rows.values()), right=(2, 3, 4))


def _systems(found: Sequence[Measured]) -> list[str]:
    return list(found[0].table[ALL])


def _overall(found: Sequence[Measured]) -> list[str]:
    columns = ["data set", *_systems(found), *_compared(found[0].table[ALL])]
    return table(columns, [_row(each.name, each.table[ALL]) for each in found])


def _depths(found: Sequence[Measured]) -> list[str]:
    rows = [
        [
            each.name,
            *(
                f"{100 * row.recall_5:.1f} / {100 * row.mrr:.1f}"
                for row in each.table[ALL].values()
            ),
        ]
        for each in found
    ]
    return table(["data set", *_systems(found)], rows)


def _kinds(found: Measured) -> list[str]:
    columns = ["kind", "questions", *_systems([found]), *_compared(found.table[ALL])]
    rows = []
    for group, systems in found.table.items():
        name, *cells = _row(group, systems)
        rows.append([name, f"{next(iter(systems.values())).questions}", *cells])
    return table(columns, rows)


def _compared(systems: dict[str, Scores]) -> list[str]:
    """Return the headings of the differences of the last system."""
    last, row = list(systems.items())[-1]
    return [
        f"{last} − {'best' if place == 0 else each.other}"
        for place, each in enumerate(row.differences)
    ]


def _row(name: str, systems: dict[str, Scores]) -> list[str]:
    differences = list(systems.values())[-1].differences
    return [
        name,
        *(f"{100 * row.recall_10:.1f}" for row in systems.values()),
        *(
            f"{signed(each)} ({each.other})" if place == 0 else signed(each)
            for place, each in enumerate(differences)
        ),
    ]
