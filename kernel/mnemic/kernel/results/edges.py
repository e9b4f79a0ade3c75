"""Results of operations on edges, edges themselves, and blocks compared by theirs."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.rendering import cited, labelled, quoted, quoting, render_line
from mnemic.kernel.results.blocks import Origin
from mnemic.kernel.results.shape import Result, plural, reasons

SNIPPET_LENGTH = 60
"""Characters of a block that a summary shows."""


@frozen(kw_only=True, str=False)
class Edge(Result):
    """One edge in a view."""

    source_id: BlockId
    target_id: BlockId
    relation: str
    weight: float
    effective_weight: float
    """At the view's hour."""
    origin: str
    anchor_hour: float | None = None
    reinforcement_count: int = 0
    note: str | None = None

    @property
    def summary(self) -> str:
        return (
            f"{short(self.source_id)} -{labelled(self.relation)}-> {short(self.target_id)} "
            f"(weight {self.weight:.2f}, now {self.effective_weight:.2f}, {self.origin})"
        )


@frozen(kw_only=True, str=False)
class DisplacedEdge(Result):
    from_id: BlockId
    to_id: BlockId
    relation: str
    weight: float

    @property
    def summary(self) -> str:
        ends = f"{short(self.from_id)}..{short(self.to_id)}"
        return f"{labelled(self.relation)} {ends} (weight {self.weight:.2f})"


@frozen(kw_only=True, str=False)
class ConnectResult(Result):
    source_id: BlockId
    target_id: BlockId
    relation: str
    weight: float
    """As stored."""
    action: str
    """``created``, ``reinforced``, ``updated``, ``skipped`` or ``deferred``."""
    note: str | None = None
    displaced_edge: DisplacedEdge | None = None
    """The first of ``displaced_edges``."""
    displaced_edges: tuple[DisplacedEdge, ...] = ()
    deferred_note: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        line = (
            f"{self.action.title()} {labelled(self.relation)} edge: "
            f"{_ends(self.source_id, self.target_id)} (weight={self.weight:.2f})"
        )
        if self.displaced_edges:
            displaced = ", ".join(edge.summary for edge in self.displaced_edges)
            line += f". Displaced to fit the degree cap: {displaced}"
        if self.deferred_note is not None:
            line += ". It waits for room: run curate()"
        if self.warnings:
            line += f". Warning: {'; '.join(map(quoting, self.warnings))}"
        return line


@frozen(kw_only=True, str=False)
class RefusedEdge(Result):
    """One edge of a batch that was refused; the others went on."""

    position: int
    """Its place in the batch, from 0."""
    source_id: str | None
    """As given; None where no end was named."""
    target_id: str | None
    code: str
    detail: str
    recovery: str

    @property
    def summary(self) -> str:
        return f"#{self.position} {self.code}: {quoting(self.detail)}"


@frozen(kw_only=True, str=False)
class ConnectsResult(Result):
    """Result of a ``connects``, edge by edge."""

    results: tuple[ConnectResult, ...] = ()
    """Results of the edges that were not refused, in order."""
    created: int = 0
    reinforced: int = 0
    updated: int = 0
    skipped: int = 0
    deferred: int = 0
    errors: tuple[RefusedEdge, ...] = ()

    @property
    def summary(self) -> str:
        parts = [f"{self.created} created"]
        parts += [
            f"{count} {action}"
            for count, action in (
                (self.reinforced, "reinforced"),
                (self.updated, "updated"),
                (self.skipped, "skipped"),
                (self.deferred, "deferred"),
            )
            if count
        ]
        if self.errors:
            parts.append(f"{len(self.errors)} refused ({reasons(self.errors)})")
        warned = sum(bool(each.warnings) for each in self.results)
        more = f" {plural(warned, 'edge')} with warnings: see results." if warned else ""
        return f"Edges: {', '.join(parts)}.{more}"


@frozen(kw_only=True, str=False)
class ConnectByQueryResult(Result):
    """Result of ``connect_by_query``: the blocks that two queries matched, and the action taken."""

    source_query: str
    target_query: str
    source_id: BlockId | None
    """None when there was nothing to match."""
    target_id: BlockId | None
    source_content: str | None
    """Full text, to verify the match; None when there is none, or it was erased since."""
    target_content: str | None
    source_origin: Origin | None = None
    """Where the text of the source comes from; None if nothing matched."""
    target_origin: Origin | None = None
    source_confidence: float
    """Confidence that the block was meant. Range: [0, 1]."""
    target_confidence: float
    min_confidence: float
    connect_result: ConnectResult | None
    """None unless connected."""
    action: str
    """``connected``, ``insufficient_confidence`` or ``dry_run_preview``."""
    reason: str | None = None
    """Reason for not connecting, if the confidence is insufficient."""

    @property
    def summary(self) -> str:
        source = _found(
            self.source_id, self.source_content, self.source_origin, self.source_confidence
        )
        target = _found(
            self.target_id, self.target_content, self.target_origin, self.target_confidence
        )
        if self.action == "connected" and self.connect_result is not None:
            return (
                f"{self.connect_result.summary}. Matched {source} and {target}: "
                "verify that these are the blocks you mean."
            )
        if self.action == "dry_run_preview":
            return f"Would connect {source} and {target}. Nothing was written."
        return f"Not connected: {quoting(self.reason or '')}. Best matches: {source} and {target}."


@frozen(kw_only=True, str=False)
class DisconnectResult(Result):
    source_id: BlockId
    target_id: BlockId
    action: str
    """``removed``, ``not_found`` or ``guarded``."""
    removed_relation: str | None = None
    removed_weight: float | None = None

    @property
    def summary(self) -> str:
        ends = _ends(self.source_id, self.target_id)
        if self.action == "removed":
            return f"Removed {labelled(self.removed_relation or 'pending')} edge: {ends}"
        if self.action == "guarded":
            return f"Edge not removed: {ends} is of another relation than guard_relation."
        return f"No edge found between {ends}"


def _ends(source: str, target: str) -> str:
    return f"{short(source)}…→{short(target)}…"


def _found(
    block: BlockId | None, content: str | None, origin: Origin | None, confidence: float
) -> str:
    """Return a short description of a match: its id, the beginning of its text, its confidence."""
    if block is None:
        return "nothing"
    words = " ".join((content or "").split())
    shown = words if len(words) <= SNIPPET_LENGTH else f"{words[: SNIPPET_LENGTH - 1]}…"
    mark = "" if origin is None else origin.mark
    return f"{short(block)} {quoted(shown)}{mark} ({confidence:.2f})"


@frozen(kw_only=True, str=False)
class Analogy(Result):
    """A block compared with another one: structural fit and surface similarity."""

    block_id: BlockId
    content: str
    zone: str
    source: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    author: str | None = None
    """The author that the writer gave."""
    structural_fit: float | None
    """Similarity of their typed relations, [0, 1]; None if one of them has none."""
    surface_similarity: float
    """Similarity of texts and vectors, [0, 1]."""
    quadrant: str
    """``literal``, ``analogy``, ``appearance`` or ``anomaly``."""
    score: float
    """fit · (1 - surface)."""
    shared_structure: tuple[str, ...] = ()
    """Relations, and paths of two relations, that both blocks have."""

    @property
    def summary(self) -> str:
        fit = "no structure" if self.structural_fit is None else f"fit {self.structural_fit:.2f}"
        line = cited(
            self.block_id, self.content, zone=self.zone, actor=self.actor, author=self.author
        )
        return f"{self.quadrant}: {fit}, surface {self.surface_similarity:.2f} {render_line(line)}"


# --- parts of the graph ------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class GraphBlock(Result):
    """A block of a subgraph."""

    block_id: BlockId
    preview: str | None
    """The beginning of its text, on one line: at most 120 characters. None once erased or lost."""
    status: str
    category: str
    zone: str
    recency: float
    usefulness: float
    degree: int
    """Number of its edges, in the subgraph or not."""
    hops: int
    """Number of edges from the blocks it was reached from; 0: it is one of them."""

    @property
    def summary(self) -> str:
        return f"{short(self.block_id)} {quoted(self.preview or '')}, {plural(self.hops, 'hop')}"


@frozen(kw_only=True, str=False)
class Subgraph(Result):
    """The strongest connections around some blocks, at one point."""

    version: int
    hour: float
    blocks: tuple[GraphBlock, ...]
    """In the order in which they were reached: by the product of the weights on the way."""
    edges: tuple[Edge, ...]
    """Edges between these blocks, strongest now first."""
    blocks_left_out: int = 0
    """Blocks within reach that exceeded the limit, as far as they were seen."""
    edges_left_out: int = 0
    """Edges between these blocks that exceeded four for each block of the limit."""

    @property
    def summary(self) -> str:
        found = f"{plural(len(self.blocks), 'block')}, {plural(len(self.edges), 'edge')}"
        return f"{found} at version {self.version}."
