"""The exception hierarchy of mnemic.

Four families, by who can resolve the problem:

* ``Refused``: the caller asked for something the contract does not allow. Nothing was written.
* ``Conflict``: two writers disagreed about where the log ends, or a command id was reused.
* ``Corrupt``: stored bytes are not what was written. The prefix before the damage stays usable.
* ``Unavailable``: an external resource (disk, lock, model) failed. Trying again may help.

Each error has a stable kebab-case ``code``, typed facts, and an imperative ``recovery`` that says
what to do next; the recovery is also a PEP 678 note, so that a traceback shows it.
"""

from __future__ import annotations

from typing import ClassVar

WORDS_LENGTH_MAX = 8000
"""Maximum length of a message and of each fact, characters: a refused value may be very long."""


def _short(words: str) -> str:
    return words if len(words) <= WORDS_LENGTH_MAX else f"{words[:WORDS_LENGTH_MAX]}…"


class MnemicError(Exception):
    """Base class of all mnemic errors.

    Args:
        message: What happened, with the offending value in it.
        recovery: What to do next, as an imperative sentence.
        facts: Typed values for programs, which interfaces return along with the message.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    """HTTP status that an interface may answer with."""
    default_recovery: ClassVar[str] = ""

    def __init__(self, message: str, *, recovery: str | None = None, **facts: object) -> None:
        message = _short(message)
        super().__init__(message)
        self.message = message
        self.recovery = recovery if recovery is not None else self.default_recovery
        self.facts = {
            name: _short(fact) if isinstance(fact, str) else fact for name, fact in facts.items()
        }
        if self.recovery:
            self.add_note(f"Recovery: {self.recovery}")

    def to_dict(self) -> dict[str, object]:
        """Return code, detail, recovery and facts, in the form that every interface renders."""
        return {
            "code": self.code,
            "detail": self.message,
            "recovery": self.recovery,
            **self.facts,
        }


class Refused(MnemicError):
    """The command is not allowed as given; nothing was written."""

    code = "refused"
    status = 422


class Conflict(MnemicError):
    """The log has moved on, or an id is already taken."""

    code = "conflict"
    status = 409


class Corrupt(MnemicError):
    """Stored bytes differ from what was written."""

    code = "corrupt"
    default_recovery = (
        "Restore a backup, or save what can be read with `mnemic salvage`; with read_only=True the "
        "part before the damage opens, and `mnemic verify` shows the first bad version."
    )


class Unavailable(MnemicError):
    """An external resource is missing, full or busy."""

    code = "unavailable"
    status = 503


# --- refusals of blocks ---------------------------------------------------------------------


class ContentEmpty(Refused):
    code = "content-empty"
    default_recovery = "Give at least one character that is not white space."


class ContentTooLong(Refused):
    code = "content-too-long"
    default_recovery = "Split the text into several blocks, or adopt a policy with a larger limit."


class InboxFull(Refused):
    """The inbox holds the maximum number of blocks of the writer's zone."""

    code = "inbox-full"
    status = 429
    default_recovery = (
        "Try again when some of them are promoted, or let a trusted writer consolidate; a policy "
        "with a larger inbox_zone_max lets more wait."
    )


class TagsRefused(Refused):
    code = "tags-refused"
    default_recovery = "Give at most 64 tags of 1 to 128 characters each."


class FieldRefused(Refused):
    """A field is of the wrong type, out of range or not parsable."""

    code = "field-refused"
    default_recovery = "Correct the named field and repeat the command."


class BatchRefused(Refused):
    """Every item of a batch was refused.

    The fact ``refused`` has position, code, detail and recovery of each.
    """

    code = "batch-refused"
    default_recovery = "Correct the items and repeat the command. Nothing was written."


class IdCollision(Refused):
    code = "id-collision"
    status = 409
    default_recovery = "Change the wording slightly; two different texts share one id."


class BlockNotFound(Refused):
    code = "block-not-found"
    status = 404
    default_recovery = "Use an id from recall(), learn() or blocks(); run recall() to find one."


class BlockNotActive(Refused):
    code = "block-not-active"
    status = 409
    default_recovery = (
        "Recall to find its successor, or learn the content again to bring the block back."
    )


class VectorRefused(Refused):
    """An embedder returned something other than a finite vector of the declared size."""

    code = "vector-refused"
    status = 502
    default_recovery = "Check the embedder; nothing of this chunk was promoted."


class EmbedderMismatch(Refused):
    code = "embedder-mismatch"
    status = 409
    default_recovery = (
        "Open the space with the embedder it was built with, or move it with reembed(); "
        "vectors of two models are never mixed."
    )


# --- refusals of edges ----------------------------------------------------------------------


class SelfLoop(Refused):
    code = "self-loop"
    default_recovery = "Name two different blocks."


class WeightOutOfRange(Refused):
    code = "weight-out-of-range"
    default_recovery = "Give a weight from 0 to 1, or none for the default of the relation."


class EdgeExists(Refused):
    code = "edge-exists"
    status = 409
    default_recovery = "Use if_exists='reinforce', 'update' or 'skip'."


class NoteTooLong(Refused):
    code = "note-too-long"
    default_recovery = "Shorten the note to 500 characters."


class UnknownIfExists(Refused):
    code = "unknown-if-exists"
    default_recovery = "Use 'reinforce', 'update', 'skip' or 'error'."


# --- refusals of recall, outcome, policy, views ---------------------------------------------


class SignalOutOfRange(Refused):
    code = "signal-out-of-range"
    default_recovery = "Give a signal from 0 (useless) to 1 (decisive)."


class NothingToScore(Refused):
    code = "nothing-to-score"
    default_recovery = "Name block ids or a decision id."


class TooFewOutcomes(Refused):
    code = "too-few-outcomes"
    status = 409
    default_recovery = (
        "Report with outcome(decision_id=..., ...) which recalled blocks served and which did not, "
        "then calibrate again."
    )


class PolicyRefused(Refused):
    code = "policy-refused"
    default_recovery = "Correct the named field of the policy."


class FrameUnknown(Refused):
    code = "frame-unknown"
    status = 404
    default_recovery = "Use one of the frames of the policy in force; status() lists them."


class RecipeRetired(Refused):
    code = "recipe-retired"
    default_recovery = "Replay with a release of mnemic that still carries this recipe."


class DecisionNotFound(Refused):
    code = "decision-not-found"
    status = 404
    default_recovery = "Use a decision id from a recorded recall; `mnemic log` lists them."


class DecisionSealed(Refused):
    """Text that the decision could see was erased later; its state can no longer be queried."""

    code = "decision-sealed"
    status = 410
    default_recovery = "Call replay() or explain(): the stored signals of its answer are kept."


class CompositionNotFound(Refused):
    code = "composition-not-found"
    status = 404
    default_recovery = "Use an id from compose(), or list them with ledger()."


class CompositionExists(Refused):
    code = "composition-exists"
    status = 409
    default_recovery = "Give another id, or none; a composition is never overwritten."


class ComposedGraphRefused(Refused):
    """Invalid call of ``composed_graph``; the message is the one that its clients expect."""

    code = "composed-graph-refused"
    default_recovery = "Call guide('composed_graph') for its actions and what each needs."


class LabelUnsupported(Refused):
    code = "label-unsupported"
    default_recovery = "Use one of the fifteen labels that guide('label') lists."


class LabelNotFound(Refused):
    code = "label-not-found"
    status = 404
    default_recovery = "Use a label id from label() or composition()."


class PointOutOfRange(Refused):
    """An as-of point lies outside of the log."""

    code = "point-out-of-range"
    status = 404
    default_recovery = "Name a point between the first and the last event; status() shows both."


class SpaceNotFound(Refused):
    """There is no such space, or none that the caller may see."""

    code = "space-not-found"
    status = 404
    default_recovery = "Name one of the store's spaces, or create it."


class SpaceExists(Refused):
    """The target of a copy exists already."""

    code = "space-exists"
    status = 409
    default_recovery = "Give the copy a name of its own, or another file; nothing is overwritten."


class SessionState(Refused):
    code = "session-state"
    status = 409
    default_recovery = "End the open session first, or start one."


class ViewReadOnly(Refused):
    code = "view-read-only"
    status = 405
    default_recovery = "Open the space without read_only to write; a view of the past never writes."


class CheckpointsOff(Refused):
    """Checkpoints cannot be made or dropped: the space has no folder for them."""

    code = "checkpoints-off"
    status = 409
    default_recovery = "Open the space for writing and name a folder: open(..., checkpoints=...)."


class GuideUnknown(Refused):
    """No operation has this name."""

    code = "guide-unknown"
    status = 404
    default_recovery = "Call guide() without a name to list them."


class DetailLeftOut(Refused, AttributeError):
    """A field that explains an answer was read from an answer that leaves such fields out."""

    code = "detail-left-out"
    default_recovery = "Ask again with detail='full', or read it later: explain(decision_id)."


# --- refusals of authentication and authorization --------------------------------------------


class Unauthenticated(Refused):
    """The caller is not authenticated: the token is missing, unknown or no longer valid."""

    code = "unauthenticated"
    status = 401
    default_recovery = (
        "Send a live token with the request: `Authorization: Bearer mnemic_...`; "
        "`mnemic token create` makes one."
    )


class Forbidden(Refused):
    """The caller is authenticated, but the token does not permit the operation."""

    code = "forbidden"
    status = 403
    default_recovery = (
        "Ask the server's operator for a token with this scope on this space; "
        "`mnemic token create` makes one."
    )


class TokenExists(Refused):
    """A valid token has this name already; both would be the same actor in the log."""

    code = "token-exists"
    status = 409
    default_recovery = "Give another name, or revoke that token first."


class TokenNotFound(Refused):
    code = "token-not-found"
    status = 404
    default_recovery = "Use an id that `mnemic token list` shows."


# --- conflicts ------------------------------------------------------------------------------


class CommandIdReused(Conflict):
    code = "command-id-reused"
    default_recovery = "Use a fresh command id for a different request."


class VersionConflict(Conflict):
    """Another writer appended first. The shell catches up and decides again."""

    code = "version-conflict"
    default_recovery = "Try again."


class HistoryReplaced(Conflict):
    """The log is not a continuation of the one that was read: it lacks, or differs in, events."""

    code = "history-replaced"
    default_recovery = (
        "Find out why the store has another history: a backup was put back, or a standby took over "
        "without the last events. Then recall again, and repeat lost commands under their command "
        "ids: what the log does not have is decided anew."
    )


# --- stores ---------------------------------------------------------------------------------


class LogCorrupt(Corrupt):
    """The log is damaged at ``version``; everything before it is sound."""

    code = "log-corrupt"


class PayloadsMissing(LogCorrupt):
    """Texts or vectors are lost: no erasure in the log accounts for them. ``version`` is the first.

    The facts also hold how many there are (``payloads``), and of the first of them the versions of
    the events (``versions``) and the ids of the blocks (``blocks``).
    """

    code = "payloads-missing"
    default_recovery = (
        "Restore a backup, or save what is left with `mnemic salvage DAMAGED TO`, which erases in "
        "the copy the blocks that lost their text. Opened read-only, the space shows what is lost."
    )


class ExportCorrupt(Corrupt):
    """An exported file differs from what was written, from the line given in the facts."""

    code = "export-corrupt"
    status = 422
    default_recovery = "Export again, or copy the files again; both belong together."


class BackupDamaged(Corrupt):
    """A backup differs from what was written, or its manifest is missing."""

    code = "backup-damaged"
    status = 422
    default_recovery = "Take another backup; `mnemic salvage` saves what is readable of this one."


class NotAStore(Corrupt):
    code = "not-a-store"
    status = 422
    default_recovery = "Name a file that mnemic made, or a path that does not exist yet."


class AccessDamaged(Corrupt):
    """The token file differs from what was written; until it is repaired nothing is authorized."""

    code = "access-damaged"
    default_recovery = (
        "Restore the file from a backup, or delete it and make the tokens anew with "
        "`mnemic token create`."
    )


class KeysMissing(Unavailable):
    """Texts are encrypted, and the given keys, if any, do not decrypt them."""

    code = "keys-missing"
    default_recovery = (
        "Open it with the file of keys that it was written with: keys=... or --keys. "
        "Without that file its texts cannot be read."
    )


class NotEncrypted(Refused):
    """Keys were given for a space that is not encrypted."""

    code = "not-encrypted"
    status = 409
    default_recovery = (
        "Open it without keys; or lock it: `mnemic export`, then `mnemic import` with --keys and "
        "another --db, and delete the open store and the export."
    )


class StoreTooNew(Unavailable):
    code = "store-too-new"
    default_recovery = "Install a newer release of mnemic to open this file."


class StoreFull(Unavailable):
    code = "store-full"
    status = 507
    default_recovery = "Free some disk space and repeat the command; nothing was lost."


class StoreBusy(Unavailable):
    code = "store-busy"
    default_recovery = "Another process holds the space; try again."


class StoreFailed(Unavailable):
    code = "store-failed"
    default_recovery = "Check the file, its folder and their permissions, then try again."


class StoreMissing(Unavailable):
    """A store is gone, and files that belong to it are left where it was."""

    code = "store-missing"
    default_recovery = (
        "Put the file back, or restore a backup. If a new store is wanted there, delete what is "
        "left of the old one first."
    )


class StoreHasTwoNames(Unavailable):
    """One file can be opened under two names, which would not see each other's commands."""

    code = "store-has-two-names"
    default_recovery = "Keep one name, and open it by that."


class SpaceErased(Unavailable):
    code = "space-erased"
    status = 410
    default_recovery = "Open another space; the texts of this one are gone for good."


class Closed(Unavailable):
    code = "closed"
    default_recovery = "Open the memory again."
