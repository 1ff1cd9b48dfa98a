# SPDX-License-Identifier: Apache-2.0
"""The figures of a run's report. Each takes what it draws and looks nothing up; shapes tell as much as colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite import units
from suite.report import axes as common
from suite.report.series import Series
from suite.report.svg import COLD, FAINT, INK, PROCESS, STEADY, UNTIMED, WARM
from suite.report.waterfall import Waterfall
from suite.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Of each quantity: colour, marker, line.
LOOKS = {
    "cold": (COLD, "o", "-"),
    "warm": (WARM, "s", "--"),
    "first": (COLD, "o", "-"),
    "rerun": (WARM, "s", "--"),
    "its first": (FAINT, "o", ":"),
    "its rerun": (FAINT, "s", ":"),
}


@dataclass(frozen=True)
class Line:
    """One quantity of one target and placement: an estimate in seconds at each n."""

    name: str
    at: Sequence[tuple[int, Estimate]]


def reach(lines: Sequence[Line]) -> tuple[float, float]:
    """Return limits that hold all these lines with their intervals, so that figures can be set side by side."""
    limits = common.reach(estimate for line in lines for _, estimate in line.at)
    if limits is None:
        raise ValueError("lines without a time above 0")
    return limits


def against_n(lines: Sequence[Line], shapes: Sequence[int], limits: tuple[float, float]) -> Figure:
    """Draw times against n, both logarithmic, with 95 % intervals as bars."""
    figure, axes = common.figure(252, left=52, top=22, bottom=36)
    common.logarithmic_seconds(axes, "y", limits)
    common.sizes(axes, shapes)
    for line in lines:
        colour, marker, style = LOOKS[line.name]
        x = [n for n, _ in line.at]
        y = [estimate.centre for _, estimate in line.at]
        bars = [
            [estimate.centre - (estimate.low or estimate.centre) for _, estimate in line.at],
            [(estimate.high or estimate.centre) - estimate.centre for _, estimate in line.at],
        ]
        axes.errorbar(
            *(x, y, bars),
            color=colour,
            marker=marker,
            markersize=6,
            linestyle=style,
            linewidth=1.5,
            capsize=4,
            label=line.name,
        )
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.01), ncols=4, columnspacing=1.0, borderaxespad=0, handlelength=2.4
    )
    return figure


def phases(drawn: Waterfall) -> Figure:
    """Draw the phases of one process up to its first result, each where it was, its length in words beside it."""
    steps = drawn.steps
    figure, axes = common.figure(30 + 19 * len(steps), left=96, right=common.END, top=4, bottom=26)
    for place, step in enumerate(steps):
        colour = {"process": PROCESS, "shape": COLD, "untimed": UNTIMED}[step.kind]
        bars = [(begin, end - begin) for begin, end in step.intervals]
        axes.broken_barh(bars, (place - 0.36, 0.72), facecolor=colour, edgecolor=colour, linewidth=0.6)
        common.at_the_end(axes, place, _signed(step.total_s))
    axes.set_xlim(0, drawn.first_result_s)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_yticks(range(len(steps)), [step.name for step in steps])
    linear_seconds(axes, drawn.first_result_s)
    return figure


def _signed(value: float) -> str:
    return units.seconds(value) if abs(value) >= 5e-7 else "0 s"


def linear_seconds(axes: Axes, most: float) -> None:
    """Make the x axis one of seconds from 0 to ``most``, in the unit that fits."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    scale, unit = (1.0, "s") if most >= 1 else (1e3, "ms") if most >= 1e-3 else (1e6, "us")
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * scale:g} {unit}"))
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)


@dataclass(frozen=True)
class Dots:
    """One quantity of one cell: a value a process, seconds, with its block; the centre and the blocks marked."""

    name: str
    n: int
    values: Sequence[tuple[int, float]]
    centre: float
    outliers: Sequence[int]


def spread(dots: Sequence[Dots], limits: tuple[float, float]) -> Figure:
    """Draw a dot for each process: cold above, warm below it, a bar at their geometric mean."""
    shapes = sorted({each.n for each in dots})
    figure, axes = common.figure(34 + 44 * len(shapes), left=52, right=24, bottom=26)
    common.logarithmic_seconds(axes, "x", limits)
    for each in dots:
        colour, marker, _ = LOOKS[each.name]
        level = shapes.index(each.n) + (-0.2 if each.name == "cold" else 0.2)
        places = _beside(level, len(each.values))
        seconds = [value for _, value in each.values]
        axes.plot(
            *(seconds, places),
            color=colour,
            marker=marker,
            markersize=5,
            linestyle="none",
            markerfacecolor="none",
            markeredgewidth=1.3,
        )
        axes.plot([each.centre] * 2, [level - 0.17, level + 0.17], color=INK, linewidth=1.4)
        marked = [
            (value, at) for (block, value), at in zip(each.values, places, strict=True) if block in each.outliers
        ]
        for value, at in marked:
            axes.plot([value], [at], color=INK, marker="x", markersize=10, linestyle="none")
    axes.set_ylim(len(shapes) - 0.5, -0.5)
    axes.set_yticks(range(len(shapes)), [str(n) for n in shapes])
    axes.set_ylabel("n", rotation=0, labelpad=8)
    axes.spines["left"].set_visible(False)
    return figure


def _beside(level: float, many: int) -> list[float]:
    """Return a place for each of so many dots, a little apart and in order, so that equal ones are all seen."""
    if many == 1:
        return [level]
    return [level + 0.13 * (2 * k / (many - 1) - 1) for k in range(many)]


def warm_series(drawn: Sequence[Series]) -> Figure:
    """Draw each sample's warm series in a row of its own, on one scale for all; the steady segment lies on a band."""
    row = 40.0
    figure, axes = common.figure(34 + row * len(drawn), left=8, right=20, bottom=30)
    low, high = scale(drawn)
    calls = max(each.calls for each in drawn)
    for place, each in enumerate(drawn):
        base = len(drawn) - 1 - place

        def at(seconds: float, base: int = base) -> float:
            return base + 0.06 + 0.54 * min(1.0, (seconds - low) / (high - low))

        _one_series(axes, each, base, at, high)
        axes.text(0, base + 0.7, f"block {each.block}: {each.text()}", fontsize=9, va="bottom")
    axes.set_xlim(-0.01 * calls, calls * 1.01)
    axes.set_ylim(0, len(drawn))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", length=3)
    axes.set_xlabel("warm call", labelpad=1)
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    return figure


def scale(drawn: Sequence[Series]) -> tuple[float, float]:
    """Return the seconds at the bottom and the top of each row: from the quickest call to one above most of all."""
    low = min(group.lowest_s for each in drawn for group in each.groups)
    tops = sorted(group.highest_s for each in drawn for group in each.groups)
    high = max(tops[(len(tops) - 1) * 97 // 100], *(group.median_s for each in drawn for group in each.groups))
    typical = max(each.warm_s for each in drawn)
    high = min(high, 4 * typical)
    return low, max(high, low * 1.02)


def _one_series(axes: Axes, each: Series, base: int, at: Callable[[float], float], high: float) -> None:
    from matplotlib.patches import Rectangle

    band = Rectangle(
        (each.steady_from, base + 0.02), each.calls - each.steady_from, 0.62, color=STEADY, linewidth=0
    )
    axes.add_patch(band)
    middles = [(group.begin + group.end) / 2 for group in each.groups]
    if each.calls > len(each.groups):
        axes.fill_between(
            middles,
            [at(group.lowest_s) for group in each.groups],
            [at(group.highest_s) for group in each.groups],
            color=FAINT,
            linewidth=0,
        )
    axes.plot(middles, [at(group.median_s) for group in each.groups], color=WARM, linewidth=1.2)
    beyond = [x for x, group in zip(middles, each.groups, strict=True) if group.highest_s > high]
    axes.plot(beyond, [base + 0.62] * len(beyond), color=COLD, marker="^", markersize=4, linestyle="none")
