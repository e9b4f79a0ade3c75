"""Inspection of checkpoints: whether one is whole, and whether it fits a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.array_file import Torn
from mnemic.adapters.checkpoints.files import version_of
from mnemic.adapters.checkpoints.layout import FormatUnknown, Manifest, Origin, Vault
from mnemic.adapters.codec.vocabulary import vocabulary
from mnemic.kernel import results
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.ports import Log
from mnemic.kernel.values import Value
from mnemic.projections.state.state import FOLD_VERSION

if TYPE_CHECKING:
    from mnemic.kernel.results import Checkpoint


@frozen
class Misfit(Value):
    """Why a checkpoint cannot be used."""

    state: str
    """As ``Checkpoint.state`` names it."""
    problem: str


def misfit(file: Path, manifest: Manifest, log: Log, *, erased: int = -1) -> Misfit | None:
    """Return why a whole checkpoint does not fit; None if it does, or its payloads are missing.

    Args:
        file: Its name is checked too.
        manifest: Its manifest.
        log: Of the space.
        erased: The version at which text was last erased, as far as that is known.
    """
    return (
        _of_another_log(file, manifest.origin, log)
        or _of_another_fold(manifest.origin)
        or _of_another_past(manifest.origin, log, erased)
    )


def payloads_misfit(origin: Origin, log: Log) -> Misfit | None:
    """Return why a checkpoint cannot be used for the payloads of its log; None if it can.

    Compares how many are stored: which ones are missing shows in a fold of the whole log. There may
    be more than there were: in a copy whose keys were destroyed elsewhere, rows remain until a
    command writes the erasure down.
    """
    if origin.payloads < 0:
        return Misfit("other-fold", "an earlier release made it, which counted no payloads")
    counted = log.capabilities.payload_count
    count = origin.payloads if counted is None else counted(origin.version)
    if count >= origin.payloads:
        return None
    return Misfit("stale", f"{count} of {origin.payloads} payloads are stored")


def vault_of(log: Log) -> Vault | None:
    """Return the vault that encrypts the checkpoints of a log; None: it is not encrypted."""
    vault: Vault | None = getattr(log, "vault", None)
    return vault


def looked_at(file: Path, log: Log, *, erased: int, thorough: bool = True) -> Checkpoint:
    """Return a description of a file.

    Args:
        file: As for ``misfit``.
        log: As for ``misfit``.
        erased: As for ``misfit``.
        thorough: Whether its arrays are read to the last byte, and payloads counted.
    """
    origin: Origin | None = None
    size = 0
    try:
        size = file.stat().st_size
        manifest = (layout.checked if thorough else layout.described)(file, vault_of(log))
        origin = manifest.origin
        size += manifest.contents.length
        found = misfit(file, manifest, log, erased=erased)
        if found is None and thorough:
            found = payloads_misfit(origin, log)
    except FormatUnknown as error:
        found = Misfit("other-fold", str(error))
    except (Torn, OSError) as error:
        found = Misfit("torn", str(error))
    return results.Checkpoint(
        name=file.name,
        state="valid" if found is None else found.state,
        version=version_of(file) if origin is None else origin.version,
        hour=None if origin is None else origin.active_us / MICROS_PER_HOUR,
        bytes=size,
        release=None if origin is None else origin.release,
        problem=None if found is None else found.problem,
    )


def seems_valid(file: Path, log: Log, *, erased: int = -1) -> bool:
    """Return whether a file fits, judging by its header. Arguments as ``misfit``."""
    try:
        return misfit(file, layout.described(file, vault_of(log)), log, erased=erased) is None
    except (Torn, FormatUnknown, OSError):
        return False


def _of_another_log(file: Path, origin: Origin, log: Log) -> Misfit | None:
    genesis = log.digest_at(0)
    if origin.space != log.name or genesis is None or origin.genesis != genesis.hex():
        return Misfit("foreign", "it is of another log")
    if origin.version != version_of(file):
        return Misfit("foreign", f"it is named for another version than its {origin.version}")
    return None


def _of_another_fold(origin: Origin) -> Misfit | None:
    if origin.fold == FOLD_VERSION:
        if origin.vocabulary == vocabulary():
            return None
        return Misfit("other-fold", f"release {origin.release} knows other events or fields")
    return Misfit("other-fold", f"fold {origin.fold} made it, and this is fold {FOLD_VERSION}")


def _of_another_past(origin: Origin, log: Log, erased: int) -> Misfit | None:
    head, digest = log.head(), log.digest_at(origin.version)
    if origin.version > head.version:
        return Misfit("stale", f"the log ends at version {head.version}")
    if digest is None or digest.hex() != origin.digest:
        return Misfit("stale", "the log has another history")
    if origin.version == head.version and head.digest != digest:
        return Misfit("stale", "the log's head disagrees with its last record")
    if origin.version < erased:
        return Misfit("stale", "text was erased since")
    return None
