# SPDX-License-Identifier: Apache-2.0
"""The figures of a comparison: a row for each stack, so that names are read and a tenth one finds its place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite import units
from suite.records import COLD_PHASES
from suite.report import axes as common
from suite.report.charts import LOOKS, linear_seconds
from suite.report.svg import COLD, FAINT, IMPORT, INK, PAPER, PROCESS, STEADY, UNTIMED
from suite.report.waterfall import Step, Waterfall
from suite.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points left of the axes, for the names of stacks; a longer name is cut here and whole in the tables.
NAMES, LONGEST = 106.0, 17
#: How each quantity is drawn, and how far above the middle of its row.
PLACES = {"start-up": -0.24, "cold": 0.0, "warm": 0.24}
MARKERS = {"start-up": (INK, "D"), **{name: LOOKS[name][:2] for name in ("cold", "warm")}}


@dataclass(frozen=True)
class Stack:
    """What one stack has of a cell: an estimate in seconds for each quantity."""

    name: str
    times: dict[str, Estimate]


@dataclass(frozen=True)
class Ratio:
    """How long a stack takes, over the baseline. ``sure``: whether the verdict is a finding; ``word``: what it is."""

    name: str
    quantity: str
    ratio: Estimate
    word: str
    sure: bool


def short(name: str) -> str:
    """Return a stack's name as a row has room for it."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}\u2026"


def by_stack(stacks: Sequence[Stack], limits: tuple[float, float]) -> Figure:
    """Draw start-up, cold and warm of each stack, with 95 % intervals as bars."""
    figure, axes = common.figure(34 + 30 * len(stacks), left=NAMES, right=24, bottom=26)
    common.logarithmic_seconds(axes, "x", limits)
    for place, stack in enumerate(stacks):
        for name, estimate in stack.times.items():
            colour, marker = MARKERS[name]
            _with_interval(axes, estimate, place + PLACES[name], colour, marker, limits[0])
    _rows(axes, [stack.name for stack in stacks])
    return figure


def _with_interval(
    axes: Axes, estimate: Estimate, level: float, colour: str, marker: str, least: float, *, filled: bool = True
) -> None:
    if estimate.low is not None and estimate.high is not None:
        # A difference may reach below 0, which no logarithmic axis has.
        axes.plot([max(estimate.low, least), estimate.high], [level] * 2, color=colour, linewidth=1.5)
    axes.plot(
        *([estimate.centre], [level]),
        color=colour,
        marker=marker,
        markersize=6,
        markerfacecolor=colour if filled else PAPER,
        markeredgewidth=1.3,
        linestyle="none",
    )


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for place in range(1, len(names)):
        axes.axhline(place - 0.5, color=FAINT, linewidth=0.5, alpha=0.35)


def ratios(
    drawn: Sequence[Ratio], names: Sequence[str], limits: tuple[float, float], margin: float | None
) -> Figure:
    """Draw each ratio with its interval beside 1, on a logarithmic axis; the band is within the margin of 1.

    A full marker is a finding (FASTER, SLOWER, SAME), a hollow one is none; the verdict stands in words beside it.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, axes = common.figure(34 + 34 * len(names), left=NAMES, right=80, bottom=26)
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.xaxis.set_major_locator(FixedLocator(ticks(limits)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2g}x"))
    axes.grid(axis="x")
    axes.tick_params(length=0)
    if margin is not None:
        axes.axvspan(1 / (1 + margin), 1 + margin, color=STEADY, linewidth=0)
    axes.axvline(1, color=INK, linewidth=1)
    for each in drawn:
        colour, marker, _ = LOOKS[each.quantity]
        level = names.index(each.name) + (-0.2 if each.quantity == "cold" else 0.2)
        _with_interval(axes, each.ratio, level, colour, marker, limits[0], filled=each.sure)
        axes.annotate(
            short(each.word),
            (1.0, level),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    _rows(axes, names)
    return figure


def span(drawn: Sequence[Ratio]) -> tuple[float, float]:
    """Return limits that hold these ratios with their intervals and 1; of a boundless interval only a part."""
    centres = [1.0, *(each.ratio.centre for each in drawn)]
    ends = [end for each in drawn for end in (each.ratio.low, each.ratio.high) if end]
    low, high = min([*centres, *ends]), max([*centres, *ends])
    return max(low, min(centres) / 4) / 1.08, min(high, max(centres) * 4) * 1.08


def ticks(limits: tuple[float, float]) -> list[float]:
    """Return round ratios within these limits that have room beside each other, 1 always among them."""
    apart = 0.17 * math.log(limits[1] / limits[0])
    found = [1.0]
    # The roundest first; those further off come only where they have room.
    for each in (10, 0.1, 100, 0.01, 1000, 0.001, 2, 0.5, 5, 0.2, 3, 1.5, 0.7, 20, 0.05, 1.2, 0.8, 1.1, 0.9):
        if limits[0] <= each <= limits[1] and all(abs(math.log(each / other)) >= apart for other in found):
            found.append(each)
    return sorted(found)


#: The parts of a first result, in the order in which a process passes through them; start and devices look alike.
PARTS = {"import": IMPORT, "process": PROCESS, "shape": COLD, "untimed": UNTIMED}


def part(step: Step) -> str:
    """Return which of ``PARTS`` a phase belongs to."""
    if step.name == "import":
        return "import"
    return "shape" if step.name in COLD_PHASES else step.kind


def first_results(drawn: Sequence[tuple[str, Waterfall]], most: float) -> Figure:
    """Draw the phases of each stack's median process up to its first result, all on one scale."""
    figure, axes = common.figure(34 + 26 * len(drawn), left=NAMES, right=common.END, bottom=26)
    for place, (_, found) in enumerate(drawn):
        for step in found.steps:
            colour = PARTS[part(step)]
            bars = [(begin, end - begin) for begin, end in step.intervals]
            axes.broken_barh(bars, (place - 0.34, 0.68), facecolor=colour, edgecolor=PAPER, linewidth=0.4)
        common.at_the_end(axes, place, units.seconds(found.first_result_s))
    axes.set_xlim(0, most)
    _rows(axes, [name for name, _ in drawn])
    linear_seconds(axes, most)
    return figure
