"""Plots for pages, legible on white and on black; need the extra `plots`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

GREY = "#808890"
"""Legible on white and on black, like the colours of the lines."""
COLOURS = ("#14a38b", "#3b82f6", "#e0701a", "#c05bd0")
LOOKS: Any = {
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "font.size": 12,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "mnemic",  # the same picture for the same numbers
}


def growth_drawn(path: Path, blocks: Sequence[int], medians: Mapping[str, Sequence[float]]) -> None:
    """Draw the medians of operations, both axes logarithmic, with a guide for linear growth.

    Args:
        path: The picture; its suffix selects the format.
        blocks: Sizes, in order.
        medians: Milliseconds at each size, by operation. The guide begins where the first one does.
    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    first = next(iter(medians.values()))[0]
    with rc_context(LOOKS):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        for (name, values), colour in zip(medians.items(), COLOURS, strict=False):
            axes.loglog(blocks, values, marker="o", color=colour, label=name)
        guide = [first * each / blocks[0] for each in blocks]
        axes.loglog(blocks, guide, color=GREY, linestyle=":", label="in proportion to the blocks")
        axes.set(xlabel="active blocks", ylabel="ms, median")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(visible=True, which="major", alpha=0.3, color=GREY)
        axes.legend(frameon=False)
        figure.savefig(path, transparent=True, metadata={"Date": None})
