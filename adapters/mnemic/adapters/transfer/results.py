"""Results of operations on whole stores: migration, backup, restoring, salvage."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class SpaceMoved(Result):
    """One space, as it is in the target."""

    space: str
    version: int
    """Where it ends there; -1: it has no event."""
    chain: str
    """Chain digest there, hex: the same in both stores."""
    payloads: int
    copied: int
    """Events that this run brought, or would bring."""
    behind: int
    """Events that the source got while it was being read: run it again to catch up."""

    @property
    def summary(self) -> str:
        late = f", {self.behind} behind" if self.behind else ""
        return f"{self.space} at version {self.version} ({self.copied} copied{late})"


@frozen(kw_only=True, str=False)
class MigrationResult(Result):
    """Spaces that are in another store with the same digests."""

    source: str
    target: str
    spaces: tuple[SpaceMoved, ...]
    dry_run: bool = False
    """Whether nothing was written, and this is what would be done."""

    @property
    def summary(self) -> str:
        copied = sum(each.copied for each in self.spaces)
        done = "Would move" if self.dry_run else "Moved"
        answer = (
            f"{done} {plural(len(self.spaces), 'space')} from {self.source} to {self.target}: "
            f"{plural(copied, 'event')} copied."
        )
        behind = sum(each.behind for each in self.spaces)
        if behind:
            answer += (
                f" {plural(behind, 'event')} came meanwhile: stop other writers and run it again."
            )
        elif not self.dry_run:
            answer += " Every chain and payload is the same in both."
        return answer


@frozen(kw_only=True, str=False)
class SpaceKept(Result):
    """One space in a backup."""

    space: str
    version: int
    """The last one in it; -1: it has no event."""
    chain: str
    """Chain digest there, hex."""
    payloads: int

    @property
    def summary(self) -> str:
        return f"{self.space} at version {self.version}"


@frozen(kw_only=True, str=False)
class BackupResult(Result):
    """A store as one file, with its manifest next to it."""

    path: str
    manifest_path: str
    at: str
    """When it was made, ISO 8601."""
    bytes: int
    sha256: str
    """Of the file, hex."""
    spaces: tuple[SpaceKept, ...]
    note: str = "Tokens and keys are not in it; keep them elsewhere."

    @property
    def summary(self) -> str:
        return (
            f"Backed up {plural(len(self.spaces), 'space')} to {self.path} "
            f"({self.bytes:,} bytes): {_listed(self.spaces)}. {self.note}"
        )


@frozen(kw_only=True, str=False)
class RestoreResult(Result):
    """A backup that was checked, and where it was restored."""

    backup: str
    into: str | None
    """None: it was only checked."""
    at: str
    """When the backup was made."""
    release: str
    """The release that made it."""
    spaces: tuple[SpaceKept, ...]
    unread: int = 0
    """Encrypted payloads: they were counted, and cannot be read without their keys."""

    @property
    def summary(self) -> str:
        checked = "every digest and payload holds"
        if self.unread:
            checked = (
                f"every digest holds, and every payload but {self.unread:,} encrypted "
                f"{'one' if self.unread == 1 else 'ones'}, which were counted only"
            )
        answer = f"{_listed(self.spaces)}; {checked}."
        if self.into is None:
            return f"The backup {self.backup} of {self.at} is sound: {answer}"
        which = "unencrypted text" if self.unread else "text"
        return (
            f"Restored {self.backup} to {self.into}: {answer} It is as the store was at {self.at}: "
            f"if {which} was erased later, erase it again."
        )


@frozen(kw_only=True, str=False)
class PayloadsLost(Result):
    """Payloads of one event that are missing or damaged without having been erased."""

    version: int
    slots: tuple[int, ...]
    blocks: tuple[BlockId, ...]
    """Their owners, as far as the event names any."""

    @property
    def summary(self) -> str:
        return f"{plural(len(self.slots), 'payload')} of version {self.version}"


@frozen(kw_only=True, str=False)
class SpaceSalvaged(Result):
    """What could be saved of one space."""

    space: str
    version: int
    """The last one saved; -1: nothing."""
    chain: str
    """Chain digest there, hex."""
    lost: int
    """Events that are known to have followed; there may have been more."""
    problem: str | None
    """Why it ends there; None: nothing is known to be missing."""
    payloads: int
    payloads_lost: tuple[PayloadsLost, ...] = ()
    """Damaged or missing in what was saved."""
    erased: tuple[BlockId, ...] = ()
    """Blocks that lost text and are erased for it in the copy, which so accounts for the gap."""
    commands_lost: int = 0
    """Remembered commands that cannot be read: if repeated, they are refused."""

    @property
    def summary(self) -> str:
        kept = "nothing kept" if self.version < 0 else f"kept up to version {self.version}"
        answer = f"{self.space}: {kept}"
        if self.lost or self.problem:
            answer += f", lost {plural(self.lost, 'event')} at least ({self.problem})"
        if self.payloads_lost:
            lost = sum(len(each.slots) for each in self.payloads_lost)
            answer += f"; {plural(lost, 'payload')} lost before that"
        if self.erased:
            answer += f", {plural(len(self.erased), 'block')} erased for it"
        return f"{answer}."


@frozen(kw_only=True, str=False)
class SalvageResult(Result):
    """A sound store made of what could be read of a damaged one."""

    damaged: str
    into: str
    spaces: tuple[SpaceSalvaged, ...]
    problem: str | None = None
    """What else is lost: whole spaces; None: nothing that is known of."""

    @property
    def complete(self) -> bool:
        """Whether nothing is known to be lost."""
        return self.problem is None and not any(
            each.lost or each.problem or each.payloads_lost or each.commands_lost
            for each in self.spaces
        )

    @property
    def summary(self) -> str:
        answer = " ".join(each.summary for each in self.spaces)
        lost = "" if self.problem is None else f" Lost besides: {self.problem}."
        return f"Salvaged {self.damaged} into {self.into}. {answer}{lost}"


def _listed(spaces: Sequence[Result]) -> str:
    return ", ".join(each.summary for each in spaces) or "no space"
