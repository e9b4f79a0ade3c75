"""``DoorContract``: the verbs, whichever way they are called.

A door is whatever has the verbs of ``SyncMemory`` as plain methods, under the same names and with
the same arguments. A door of another make (async, over a wire, a command line) is wrapped in a few
lines for the occasion. Its answers are results, or what their ``to_dict`` gives; what it refuses it
raises as the error of the kernel, which `raised` makes from a document. Policies are given as
values of the kernel, receipts and lessons as plain objects, files as paths: a wrapper writes them
down as its door wants them.

The tests stand in modules by theme; `looks`, `refusals` and `wishes` say what is asked.
"""

from __future__ import annotations

from mnemic.specs.contracts.blocks import Blocks
from mnemic.specs.contracts.composed_graphs import ComposedGraphs
from mnemic.specs.contracts.copies import Copies
from mnemic.specs.contracts.decisions import Decisions
from mnemic.specs.contracts.edges import Edges
from mnemic.specs.contracts.ledgers import Ledgers
from mnemic.specs.contracts.manners import Manners
from mnemic.specs.contracts.past import Past
from mnemic.specs.contracts.recalls import Recalls
from mnemic.specs.contracts.upkeep import Upkeep


class DoorContract(
    Blocks,
    Edges,
    Recalls,
    Ledgers,
    ComposedGraphs,
    Past,
    Decisions,
    Copies,
    Upkeep,
    Manners,
):
    """What an agent relies on when it calls a verb.

    Fill in ``door``; what it returns is entered by ``with``. What the door lacks by its nature
    stands in ``lacks``.
    """
