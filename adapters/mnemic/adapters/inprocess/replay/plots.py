"""Plot of a backtest: each policy over active hours, with confidence bands and bounds.

Requires matplotlib, the extra ``plots``; it is not imported before a plot is requested, no window
is ever opened and none of the host's matplotlib settings is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen

from mnemic.adapters.extras import require
from mnemic.kernel.errors import FieldRefused, Unavailable
from mnemic.kernel.results import Backtest, PolicyScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

FORMATS: Final = (".png", ".svg", ".pdf")
INCHES: Final = (9.0, 5.0)
COLOURS: Final = ("#555555", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The colour-blind safe palette of Okabe and Ito; the recorded answers are grey."""
NAMES: Final = {"ndcg": "nDCG", "hit": "hit rate", "reward": "mean reward"}


@frozen(kw_only=True, str=False)
class PlottedBacktest(Backtest):
    """A backtest that can be plotted."""

    def with_caveats(self, caveats: Sequence[str]) -> PlottedBacktest:
        """Return the same backtest with *caveats*."""
        return evolve(self, caveats=tuple(caveats))

    def plot(self, path: str | Path) -> Path:
        """Plot the objective of each policy over active hours, and write it to *path*.

        One line per policy; the band holds 95 of 100 resamplings; faint lines are the bounds, with
        every unjudged place counted as useless and as decisive.

        Args:
            path: A file that ends in .png, .svg or .pdf.

        Returns:
            The file.

        Raises:
            FieldRefused: It ends in something else.
            Unavailable: The extra is not installed, or the file cannot be written.
        """
        file = drawable(path)
        figure = _figure(self)
        try:
            figure.savefig(file, dpi=150)
        except OSError as error:
            raise Unavailable(
                f"cannot write {file}: {error.strerror or error}",
                recovery="Name a file in a folder that exists and is writable.",
                path=str(file),
            ) from error
        return file


def drawable(path: str | Path) -> Path:
    """Return the path of a plot after checking it; call this before the work to be plotted.

    Raises:
        FieldRefused: It ends in an unknown format.
        Unavailable: The extra is not installed.
    """
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise FieldRefused(
            f"cannot draw {file.name!r}",
            recovery=f"Name a file that ends in one of {', '.join(FORMATS)}.",
            field="path",
        )
    require(
        "matplotlib",
        "plots",
        "the package matplotlib, which draws, is not installed",
        instead="; or use table and to_dict()",
        package="matplotlib",
    )
    return file


def _figure(found: Backtest) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.add_subplot()
    lines = [
        _line(axes, score, COLOURS[place % len(COLOURS)], dashed=place == 0)
        for place, score in enumerate(found.scores)
    ]
    axes.set_xlabel("active hours")
    axes.set_ylabel(NAMES[found.objective])
    axes.set_ylim(-0.02, 1.02)
    axes.grid(visible=True, alpha=0.25)
    axes.set_title(
        f"{found.decisions} decisions answered again, {found.judged} judged "
        f"within {found.horizon_hours:g} active hours",
        fontsize=10,
    )
    if any(score.windows for score in found.scores):
        legend = axes.legend(lines, [str(place) for place in range(len(lines))], frameon=False)
        for text, score in zip(legend.get_texts(), found.scores, strict=True):
            # Set afterwards and literally: a leading "_" would hide a name, "$" start a formula.
            text.set_parse_math(False)
            text.set_text(score.name)
    figure.supxlabel(
        "One step on the memory as it was. Bands: 95 % by resampling sessions. "
        "Faint: unjudged places counted as 0 and 1.",
        fontsize=7,
        color="#666666",
    )
    return figure


def _line(axes: Axes, score: PolicyScore, colour: str, *, dashed: bool) -> Line2D:
    """Plot one policy, and return its line."""
    answer = [(window, window.estimate) for window in score.windows if window.estimate is not None]
    hours = [(window.from_hour + window.to_hour) / 2 for window, _ in answer]
    estimates = [estimate for _, estimate in answer]
    (line,) = axes.plot(
        hours,
        [each.mean for each in estimates],
        color=colour,
        marker="o",
        markersize=3.5,
        linestyle="--" if dashed else "-",
        zorder=3 if dashed else 2,
    )
    axes.fill_between(
        hours,
        [each.mean if each.low is None else each.low for each in estimates],
        [each.mean if each.high is None else each.high for each in estimates],
        color=colour,
        alpha=0.15,
        linewidth=0,
    )
    for bound in ([each.floor for each in estimates], [each.ceiling for each in estimates]):
        axes.plot(hours, bound, color=colour, alpha=0.5, linewidth=0.9, linestyle=":")
    return line
