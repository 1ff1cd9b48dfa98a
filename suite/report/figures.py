# SPDX-License-Identifier: Apache-2.0
"""The figures of a run, each with its name, what it shows in words, and how it is drawn when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite import units
from suite.records import Cell
from suite.report import charts
from suite.report.page import identity
from suite.report.series import Series
from suite.report.view import Group, View
from suite.report.waterfall import Waterfall

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawn:
    """One figure. ``name``: an id, and the name of its file; ``caption``, ``small``: what stands above it."""

    name: str
    caption: str
    small: str
    description: str
    draw: Callable[[], Figure]


def against_n(view: View) -> list[Drawn]:
    """Return cold and warm against n, one figure for each target and placement, all on the same scale."""
    if not view.groups:
        return []
    limits = charts.reach([line for group in view.groups for line in group.lines()])
    shapes = sorted({row.cell.n for group in view.groups for row in group.rows})

    def of(group: Group) -> Drawn:
        said = "; ".join(
            f"{line.name} " + ", ".join(f"{units.seconds(estimate.centre)} at {n}" for n, estimate in line.at)
            for line in group.lines()
        )
        name, small = _named("time", group)
        return Drawn(
            name,
            group.target,
            small,
            f"Chart of time against n, {group.name}: {said}.",
            lambda: charts.against_n(group.lines(), shapes, limits),
        )

    return [of(group) for group in view.groups]


def spread(view: View) -> list[Drawn]:
    """Return the spread over processes, one figure for each target and placement, all on the same scale."""
    if not view.groups:
        return []
    limits = charts.reach([line for group in view.groups for line in group.lines()])

    def of(group: Group) -> Drawn:
        said = "; ".join(
            f"{dots.name} at {dots.n} from {units.seconds(min(value for _, value in dots.values))} "
            f"to {units.seconds(max(value for _, value in dots.values))}"
            for dots in group.dots()
        )
        name, small = _named("spread", group)
        return Drawn(
            name,
            group.target,
            small,
            f"Strip plot, a dot a process, {group.name}: {said}.",
            lambda: charts.spread(group.dots(), limits),
        )

    return [of(group) for group in view.groups]


def first_results(view: View) -> list[Drawn]:
    """Return the waterfall of each target's first result."""

    def of(name: str, caption: str, small: str, found: Waterfall) -> Drawn:
        said = ", ".join(f"{step.name} {units.seconds(step.total_s)}" for step in found.steps)
        return Drawn(
            name,
            caption,
            f"{small}, {units.seconds(found.first_result_s)}",
            f"Waterfall of {found.sample}, {units.seconds(found.first_result_s)} to the first result: {said}.",
            lambda: charts.phases(found),
        )

    return [of(*_of_cell("first", row.cell), found) for row, found in view.first]


def warm_series(view: View) -> list[Drawn]:
    """Return the warm series of every sample, one figure a cell."""

    def of(name: str, caption: str, small: str, drawn: Sequence[Series]) -> Drawn:
        low, high = charts.scale(drawn)
        said = "; ".join(f"{each.sample}: {each.text()}, {units.seconds(each.warm_s)}" for each in drawn)
        return Drawn(
            name,
            caption,
            f"{small}; rows: {units.seconds(low)} to {units.seconds(high)}",
            f"Warm calls of each sample: {said}.",
            lambda: charts.warm_series(drawn),
        )

    return [of(*_of_cell("warm", row.cell), drawn) for row, drawn in view.warm]


def every(view: View) -> list[Drawn]:
    """Return all figures of a run, in the page's order."""
    return [*against_n(view), *first_results(view), *spread(view), *warm_series(view)]


def _of_cell(what: str, cell: Cell) -> tuple[str, str, str]:
    """Return name, caption and what stands small beside it, of a figure of one cell."""
    name = identity(what, cell.target, cell.placement, cell.n)
    return name, cell.target, f"{cell.placement}, n = {cell.n}"


def _named(what: str, group: Group) -> tuple[str, str]:
    return identity(what, group.target, group.placement), group.placement
