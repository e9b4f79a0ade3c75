"""Runners of independent tasks: in this process, on a pool of processes, and on Ray.

``in_process``  one task after another, here
``processes``   a pool of processes of this machine
``on_ray``      actors of a Ray cluster; extra ``ray``
``worker``      what a process of either holds
``kept_rows``   rows in a file, so that a run that was stopped goes on
"""

from __future__ import annotations

from functools import partial
from typing import Final

from mnemic.adapters.runners.in_process import in_process
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import StartRunner

NAMES: Final = ("inprocess", "processes", "ray")
WORKERS_MAX: Final = 1024


def runner_named(name: str, *, workers: int | None = None) -> StartRunner:
    """Return the runner of a name.

    Args:
        name: ``inprocess``, ``processes`` or ``ray``.
        workers: How many; None: as many as there are processors. In this process there is one.

    Raises:
        FieldRefused: There is no such runner, or *workers* is out of range.
        Unavailable: The extra ``ray`` is not installed.
    """
    if workers is not None and (type(workers) is not int or not 1 <= workers <= WORKERS_MAX):
        raise FieldRefused(
            f"workers must be a whole number from 1 to {WORKERS_MAX}, got {workers!r}",
            field="workers",
        )
    if name == "inprocess":
        return in_process
    if name == "processes":
        from mnemic.adapters.runners.processes import processes

        return partial(processes, workers=workers)
    if name == "ray":
        from mnemic.adapters.runners.on_ray import on_ray, require_ray

        require_ray()
        return partial(on_ray, workers=workers)
    raise FieldRefused(
        f"runner must be one of {', '.join(NAMES)}, got {name!r:.100}", field="runner"
    )
