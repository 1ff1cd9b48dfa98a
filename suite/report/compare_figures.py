# SPDX-License-Identifier: Apache-2.0
"""The figures of a comparison, each with its name, what it shows in words, and how it is drawn when asked for."""

from __future__ import annotations

from suite import units
from suite.comparison import QUANTITIES
from suite.report import axes, compare_charts
from suite.report.compare_charts import Ratio, Stack
from suite.report.compare_view import Across, CompareView, Standing
from suite.report.figures import Drawn
from suite.report.page import identity
from suite.report.waterfall import Waterfall
from suite.stats import Estimate

FINDINGS = ("FASTER", "SLOWER", "SAME")


def times(stand: Standing) -> dict[str, Estimate]:
    """Return what a stack has of a cell and a logarithmic axis can show."""
    found = {"start-up": stand.start_up, "cold": stand.row.cold, "warm": stand.row.warm}
    return {name: estimate for name, estimate in found.items() if estimate and estimate.centre > 0}


def by_stack(view: CompareView) -> list[Drawn]:
    """Return start-up, cold and warm of every stack, one figure for each cell, all on the same scale."""
    shown = [(across, _stacks(across)) for across in view.across if across.measured()]
    limits = axes.reach(estimate for _, stacks in shown for stack in stacks for estimate in stack.times.values())
    if limits is None:
        return []

    def of(across: Across, stacks: list[Stack]) -> Drawn:
        said = "; ".join(
            f"{stack.name} " + ", ".join(f"{name} {units.seconds(e.centre)}" for name, e in stack.times.items())
            for stack in stacks
        )
        return Drawn(
            *(_named("stacks", across), across.cell.target, _small(across)),
            f"Chart of start-up, cold and warm by stack, {across.name} at {across.cell.n}: {said}.",
            lambda: compare_charts.by_stack(stacks, limits),
        )

    return [of(across, stacks) for across, stacks in shown]


def _stacks(across: Across) -> list[Stack]:
    return [Stack(stand.arm, times(stand)) for stand in across.measured()]


def ratios(view: CompareView) -> list[Drawn]:
    """Return every ratio to the baseline, one figure for each cell, all on the same scale."""
    shown = [(across, found) for across in view.across if (found := _ratios(across))]
    if not shown:
        return []
    limits = compare_charts.span([each for _, found in shown for each in found])
    margin = view.judging.margin

    def of(across: Across, found: list[Ratio]) -> Drawn:
        names = [stand.arm for stand in across.stands if any(each.name == stand.arm for each in found)]
        said = "; ".join(
            f"{each.name} {each.quantity} {units.with_interval(each.ratio)} {each.word}" for each in found
        )
        return Drawn(
            *(_named("ratio", across), across.cell.target, _small(across)),
            f"Chart of times over those of {view.compared.baseline.name}, {across.name} at {across.cell.n}: {said}.",
            lambda: compare_charts.ratios(found, names, limits, margin),
        )

    return [of(across, found) for across, found in shown]


def _ratios(across: Across) -> list[Ratio]:
    return [
        Ratio(arm, quantity, told.ratio, told.word, told.judged.verdict.word in FINDINGS)
        for quantity in QUANTITIES
        for arm, told in across.told(quantity)
        if told.ratio is not None
    ]


def first_results(view: CompareView) -> list[Drawn]:
    """Return where the first result's time went in every stack, one figure for each cell, all on the same scale."""
    shown = []
    for across in view.across:
        found = [(stand.arm, stand.first) for stand in across.stands if stand.first is not None]
        if found:
            shown.append((across, found))
    if not shown:
        return []
    most = max(waterfall.first_result_s for _, found in shown for _, waterfall in found)

    def of(across: Across, found: list[tuple[str, Waterfall]]) -> Drawn:
        said = "; ".join(
            f"{arm} {units.seconds(waterfall.first_result_s)}: "
            + ", ".join(f"{step.name} {units.seconds(step.total_s)}" for step in waterfall.steps)
            for arm, waterfall in found
        )
        return Drawn(
            *(_named("first", across), across.cell.target, _small(across)),
            f"Chart of the phases up to the first result by stack, {across.name} at {across.cell.n}: {said}.",
            lambda: compare_charts.first_results(found, most),
        )

    return [of(across, found) for across, found in shown]


def every(view: CompareView) -> list[Drawn]:
    """Return all figures of a comparison, in the page's order; those of its runs are the runs' own."""
    return [*ratios(view), *by_stack(view), *first_results(view)]


def _named(what: str, across: Across) -> str:
    return identity(what, across.cell.target, across.cell.placement, across.cell.n)


def _small(across: Across) -> str:
    return f"{across.cell.placement}, n = {across.cell.n}"
