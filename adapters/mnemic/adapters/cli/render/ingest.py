"""The outcome of an ingestion, counted and drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import Factory, asdict, define
from rich.text import Text

from mnemic.adapters.cli.invocation.context import plain, plural

if TYPE_CHECKING:
    from mnemic.adapters.importers import Item

REFUSALS_SHOWN = 20


@define
class Tally:
    """Counts of the outcomes of the items of all files."""

    files: int = 0
    sessions: int = 0
    created: int = 0
    reactivated: int = 0
    duplicates: int = 0
    undated: int = 0
    """Dates that could not be read; these blocks are of unknown age."""
    promoted: int = 0
    superseded: int = 0
    near_duplicates: int = 0
    edges_created: int = 0
    version: int = -1
    hour: float = 0.0
    """Active hours after the ingestion."""
    refused: list[dict[str, str]] = Factory(list)
    """Place, code, detail and recovery of each file or item that could not be learned."""
    skipped: list[dict[str, str]] = Factory(list)
    """Place and reason of what holds nothing to learn."""

    def count(self, item: Item, action: str) -> None:
        """Count an item that was learned, or known already."""
        self.created += action == "created"
        self.reactivated += action == "reactivated"
        known = action in {"duplicate", "restated"}
        self.duplicates += known
        self.undated += item.undated and not known

    def refuse(self, place: str, code: str, detail: str, recovery: str) -> None:
        """Record an item that could not be learned."""
        self.refused.append({"place": place, "code": code, "detail": detail, "recovery": recovery})

    def skip(self, place: str, reason: str) -> None:
        """Record a file that is empty, or that a folder holds besides."""
        self.skipped.append({"place": place, "reason": reason})

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        return asdict(self)

    @property
    def learned(self) -> str:
        """One line on learning."""
        where = f" in {plural(self.sessions, 'session')}" if self.sessions else ""
        return f"Learned{where}: {self.counts}."

    @property
    def counts(self) -> str:
        """The counts, in a phrase."""
        counts = (
            (self.created, "new"),
            (self.reactivated, "back from the archive"),
            (self.duplicates, "known already"),
            (len(self.refused), "refused"),
            (self.undated, "of unknown age (unreadable dates)"),
        )
        parts = [f"{count} {what}" for count, what in counts if count]
        return ", ".join(parts) or "nothing"

    @property
    def consolidated(self) -> str:
        """One line on promotion."""
        counts = (
            (self.promoted, f"{self.promoted} promoted"),
            (self.superseded, f"{self.superseded} superseded"),
            (self.near_duplicates, plural(self.near_duplicates, "near-duplicate pair")),
            (self.edges_created, f"{plural(self.edges_created, 'edge')} created"),
        )
        return f"Consolidated: {', '.join(words for count, words in counts if count)}."

    def drawn(self) -> Iterator[Text]:
        """Draw the outcome, refusals first, up to the limit shown."""
        yield from self.refusals()
        yield Text(self.learned)
        if self.promoted:
            yield Text(self.consolidated)

    def refusals(self) -> Iterator[Text]:
        """Draw the refusals and what was skipped, up to the limit shown."""
        advised: set[str] = set()
        for refused in self.refused[:REFUSALS_SHOWN]:
            place, code, detail = (plain(refused[key]) for key in ("place", "code", "detail"))
            yield Text.assemble((place, "bold"), f" {code}: {detail}")
            if (recovery := plain(refused["recovery"])) not in advised:
                advised.add(recovery)
                yield Text(f"  {recovery}", style="dim")
        if len(self.refused) > REFUSALS_SHOWN:
            yield Text(f"… and {len(self.refused) - REFUSALS_SHOWN} more; --json has them all.")
        for skipped in self.skipped[:REFUSALS_SHOWN]:
            yield Text(plain(f"Skipped {skipped['place']}: {skipped['reason']}."), style="dim")
        if len(self.skipped) > REFUSALS_SHOWN:
            yield Text(f"… and {len(self.skipped) - REFUSALS_SHOWN} more skipped.", style="dim")
