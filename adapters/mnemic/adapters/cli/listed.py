"""The commands that are written by hand, by the panels of the overview, and where each is defined.

They are named and not imported: cyclopts imports the module of a command when the command is run,
or when the overview shows all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PACKAGE: Final = "mnemic.adapters.cli."


def _paths(module: str, functions: str) -> dict[str, str]:
    """Return the import paths of functions of one module, by the names of their commands."""
    return {
        name.strip("_").replace("_", "-"): f"{_PACKAGE}{module}:{name}"
        for name in functions.split()
    }


PANELS: Final[Mapping[str, Mapping[str, str]]] = {
    "Remember": {
        **_paths("commands.ingest", "ingest"),
        **_paths("imports.import_from", "import_from"),
        **_paths("imports.messages", "add"),
        **_paths("commands.blocks", "learn learn_many revise"),
        **_paths("commands.blocks", "forget_many erase erase_many erase_space"),
    },
    "Ask": {
        **_paths("commands.queries", "recall reference outcome"),
    },
    "Connect": {
        **_paths("commands.edges", "connect connects connect_by_query"),
        **_paths("commands.similarity", "pending_connections"),
    },
    "Compose": {
        **_paths("commands.ledger", "compose label ledger composition composed_with frontier"),
        **_paths("commands.composed_graph", "composed_graph"),
    },
    "Look": {
        **_paths("commands.queries", "status blocks block edges log history guide"),
        **_paths("commands.stores", "spaces"),
    },
    "Compare": _paths("commands.similarity", "compare analogies near_duplicates"),
    "Look back": {
        **_paths("commands.explanations", "explain why_not"),
        **_paths("commands.time_travel", "replay"),
        **_paths("commands.history", "timeline diff"),
    },
    "Experiment": {
        **_paths("commands.experiments", "what_if backtest tune policy"),
        **_paths("imports.messages", "re_extract"),
    },
    "Transfer": {
        **_paths("commands.transfer", "receipt export import_ fork dump"),
        **_paths("imports.import_from", "export_okf"),
    },
    "Back up": _paths("commands.stores", "backup restore salvage migrate"),
    "Maintain": {
        **_paths("commands.upkeep", "consolidate verify checkpoints"),
        **_paths("commands.keys", "keys"),
        **_paths("doctor.command", "doctor"),
    },
    "Trace and revert": {
        **_paths("commands.origins", "descent quarantine revert_source"),
        **_paths("commands.history", "revert"),
        **_paths("commands.upkeep", "reembed"),
    },
    "Sessions": _paths("commands.sessions", "session"),
    "Serve": {
        **_paths("serving.mcp", "mcp"),
        **_paths("serving.serve", "serve"),
        **_paths("serving.cluster", "cluster move"),
        **_paths("serving.explore", "explore"),
        **_paths("serving.access", "token"),
    },
}

ALIASES: Final[Mapping[str, str]] = {
    **_paths("commands.experiments", "adopt_policy calibrate"),
    **_paths("commands.upkeep", "checkpoint drop_checkpoints"),
    **_paths("commands.time_travel", "replay_all"),
    **_paths("commands.transfer", "verify_receipt"),
    "deep-reference": f"{_PACKAGE}commands.queries:reference",
    "dream": f"{_PACKAGE}commands.upkeep:consolidate",
    "end-session": f"{_PACKAGE}commands.sessions:end",
    "import-space": f"{_PACKAGE}commands.transfer:import_",
    "start-session": f"{_PACKAGE}commands.sessions:start",
}
"""Names of library operations whose command has another name; accepted, but not listed."""
