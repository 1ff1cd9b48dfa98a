# SPDX-License-Identifier: Apache-2.0
"""The verdict of a run in a sentence: what a first call costs most, and how much of the plan is behind it."""

from __future__ import annotations

from suite import units
from suite.report.view import View
from suite.rows import CellRow


def verdict(view: View) -> str:
    """Return the sentence at the top of a report."""
    known = [row for row in view.cells if row.ratio is not None]
    if not known:
        return "Nothing was measured that could be shown: every cell is withheld, each with its reason below."
    # The widest gap; of two alike, the first of the plan.
    row = max(known, key=lambda each: each.ratio.centre if each.ratio else 0.0)
    assert row.ratio and row.cold and row.warm
    times = units.with_interval(row.ratio)
    if row.ratio.centre < 1.1:
        return f"The first call costs no more than later ones, at most {times} times ({_place(row)})."
    text = (
        f"The first call costs up to {times} times a later one: {_place(row)}, "
        f"{units.seconds(row.cold.centre)} cold and {units.seconds(row.warm.centre)} warm"
    )
    way = (row.cell.target, row.cell.placement)
    for each in view.targets:
        if each.start_up is not None and (each.cell.target, each.cell.placement) == way:
            text += f"; before that its process pays {units.seconds(each.start_up.centre)} to start up"
    return text + "."


def coverage(view: View) -> str:
    """Return how many cells show a time, and what the others are."""
    many, shown = len(view.cells), sum(1 for row in view.cells if row.count.shows_times)
    counted: dict[str, int] = {}
    for row in view.cells:
        if not row.count.shows_times:
            counted[row.count.status] = counted.get(row.count.status, 0) + 1
    text = f"{shown} of {many} cell{'' if many == 1 else 's'} show{'s' if shown == 1 else ''} a time"
    if counted:
        text += "; withheld: " + ", ".join(f"{number} {status}" for status, number in counted.items())
    tagged = sum(row.tagged for row in view.cells)
    if tagged:
        text += f"; {tagged} tagged sample{'' if tagged == 1 else 's'}, kept"
    return text + "."


def _place(row: CellRow) -> str:
    return f"{row.cell.target} ({row.cell.placement}) at n = {row.cell.n}"
