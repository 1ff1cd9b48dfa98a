# SPDX-License-Identifier: Apache-2.0
"""What the charts' axes have in common: sizes, limits in whole decades, ticks that fit a phone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from suite import units
from suite.report.svg import FAINT
from suite.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of every figure, in points: that of a phone's screen less its margins, so that 10 points stay 10.
WIDTH = 360.0
#: Margin at the right for what :func:`at_the_end` writes, in points.
END = 58.0


def figure(
    height: float, *, left: float, right: float = 8.0, top: float = 8.0, bottom: float
) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes; height and margins are points."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(WIDTH / 72, height / 72))
    place = (left / WIDTH, bottom / height, (WIDTH - left - right) / WIDTH, (height - top - bottom) / height)
    return made, made.add_axes(place)


def decades(values: Sequence[float]) -> tuple[float, float]:
    """Return limits of a logarithmic axis that hold these values, at powers of ten, never the same."""
    low, high = math.floor(math.log10(min(values)) - 0.03), math.ceil(math.log10(max(values)) + 0.03)
    return 10.0**low, 10.0 ** max(high, low + 1)


def reach(estimates: Iterable[Estimate]) -> tuple[float, float] | None:
    """Return limits that hold these estimates with their intervals, as far as above 0; None where there is nothing."""
    ends = (value for each in estimates for value in (each.centre, each.low, each.high))
    found = [value for value in ends if value is not None and value > 0]
    return decades(found) if found else None


def logarithmic_seconds(axes: Axes, name: Literal["x", "y"], limits: tuple[float, float]) -> None:
    """Make the ``x`` or ``y`` axis one of seconds, on a logarithmic scale, with a tick each decade."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = axes.xaxis if name == "x" else axes.yaxis
    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    (axes.set_xlim if name == "x" else axes.set_ylim)(*limits)
    low, high = (round(math.log10(each)) for each in limits)
    step = 1 + (high - low) // 8
    axis.set_major_locator(FixedLocator([10.0**each for each in range(low, high + 1, step)]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: round_seconds(value)))
    axes.grid(axis=name)
    axes.tick_params(length=0)


def at_the_end(axes: Axes, level: float, text: str) -> None:
    """Write a row's number at the right, in the margin ``END``: numbers of all rows end below each other."""
    axes.annotate(
        text,
        (1.0, level),
        xycoords=("axes fraction", "data"),
        xytext=(END - 4, 0),
        textcoords="offset points",
        ha="right",
        va="center",
    )


def round_seconds(value: float) -> str:
    """Return a power of ten of seconds as an axis shows it: "10 ms"."""
    if value < 1e-6:
        return f"{value * 1e9:.3g} ns"
    number, unit = units.seconds(value).split(" ")
    return f"{float(number):g} {unit}"


def sizes(axes: Axes, shapes: Sequence[int]) -> None:
    """Make the x axis one of sizes: a tick for each of ``shapes``, labels only where there is room."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(min(shapes) / 1.5, max(shapes) * 1.5)
    span = math.log(max(shapes) * 2.25 / min(shapes))
    shown: list[int] = []
    for n in sorted(shapes, reverse=True):
        if not shown or math.log(shown[-1] / n) > 0.11 * span:
            shown.append(n)
    axes.xaxis.set_major_locator(FixedLocator(sorted(shapes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{round(n)}" if round(n) in shown else ""))
    axes.set_xlabel("n, of an n x n matrix", labelpad=2)
    axes.tick_params(axis="x", length=3, color=FAINT)
