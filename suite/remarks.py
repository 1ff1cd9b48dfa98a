# SPDX-License-Identifier: Apache-2.0
"""What a table's numbers need beside them: why a cell has none, and what a reader must not take for granted."""

from __future__ import annotations

from collections.abc import Sequence

from suite import units
from suite.records import Sample
from suite.rows import CellRow, TargetRow


def remarks(
    samples: Sequence[Sample], cell_rows: Sequence[CellRow], target_rows: Sequence[TargetRow]
) -> list[str]:
    """Return the notes under a run's tables, one sentence each."""
    return [
        *_reasons([*cell_rows, *target_rows]),
        *_not_steady(cell_rows),
        *_levels_and_bytecode(cell_rows),
        *_untimed(samples),
        *_load(samples),
    ]


def _reasons(every: Sequence[CellRow | TargetRow]) -> list[str]:
    """Return each distinct reason once, with the cells that it holds for."""
    where: dict[str, dict[str, list[int]]] = {}
    for row in every:
        reason = row.count.reason
        if reason:
            text = f"{row.count.status}: {reason.text}. {reason.next_step}".rstrip()
            at = where.setdefault(text, {}).setdefault(row.cell.target, [])
            if row.cell.n not in at:
                at.append(row.cell.n)
    return [
        "; ".join(f"{target} {', '.join(str(n) for n in sorted(sizes))}" for target, sizes in at.items())
        + f": {text}"
        for text, at in where.items()
    ]


def _not_steady(cell_rows: Sequence[CellRow]) -> list[str]:
    return [
        f"* {row.cell.target} {row.cell.n}: {state} in {many} of {row.count.ok} warm series; "
        "their warm is the last half's median"
        for row in cell_rows
        for state, many in row.not_steady.items()
    ]


def _levels_and_bytecode(cell_rows: Sequence[CellRow]) -> list[str]:
    lines = []
    shown = [row for row in cell_rows if row.count.shows_times]
    if any(row.cell.level == "not_applicable" for row in shown):
        lines.append("cold level not_applicable: this target has no on-disk JIT cache that could be kept")
    if any(row.bytecode_incomplete for row in shown):
        lines.append("modules without a compiled file were loaded: import takes longer than it need")
    return lines


def _untimed(samples: Sequence[Sample]) -> list[str]:
    """Return the largest time that belongs to no phase, of all samples that are ok."""
    found = [(each.untimed_s, each.wall_s) for each in samples if each.status == "ok"]
    known = [(untimed, wall) for untimed, wall in found if untimed is not None and wall is not None]
    if not known:
        return []
    untimed, wall = max(known)
    return [f"untimed (in no phase): at most {units.seconds(untimed)} of a process of {units.seconds(wall)}"]


def _load(samples: Sequence[Sample]) -> list[str]:
    load = [float(each.load["loadavg_1"]) for each in samples if "loadavg_1" in each.load]
    return [f"load average before the samples: {min(load):.2f} to {max(load):.2f}"] if load else []
