# SPDX-License-Identifier: Apache-2.0
"""What a table's numbers need beside them: why a cell has none, and what a reader must not take for granted."""

from __future__ import annotations

from collections.abc import Sequence

from suite import second_clock, stats, units
from suite.records import Sample
from suite.rows import CellRow, TargetRow


def remarks(
    samples: Sequence[Sample], cell_rows: Sequence[CellRow], target_rows: Sequence[TargetRow]
) -> list[str]:
    """Return the notes under a run's tables, one sentence each."""
    return [
        *_reasons([*cell_rows, *target_rows]),
        *_not_steady(cell_rows),
        *_tags(samples, cell_rows),
        *_intervals(cell_rows),
        *_outliers(cell_rows),
        *_compiles(cell_rows),
        *second_clock.notes(samples, cell_rows),
        *_levels_and_bytecode(cell_rows),
        *_throttled(samples),
        *_untimed(samples),
        *_to_steady(cell_rows),
        *_load(samples),
    ]


def _reasons(every: Sequence[CellRow | TargetRow]) -> list[str]:
    """Return each distinct reason once, with the cells that it holds for."""
    where: dict[str, dict[str, list[int]]] = {}
    for row in every:
        reason = row.count.reason
        if reason:
            text = f"{row.count.status}: {reason.text}. {reason.next_step}".rstrip()
            at = where.setdefault(text, {}).setdefault(_name(row), [])
            if row.cell.n not in at:
                at.append(row.cell.n)
    return [
        "; ".join(f"{target} {', '.join(str(n) for n in sorted(sizes))}" for target, sizes in at.items())
        + f": {text}"
        for text, at in where.items()
    ]


def _name(row: CellRow | TargetRow) -> str:
    return f"{row.cell.target} {row.cell.placement}"


#: What compiles, by adapter; elsewhere it is XLA.
COMPILERS = {"torch_compile": "Inductor"}


def _compiles(cell_rows: Sequence[CellRow]) -> list[str]:
    """Return how often a cell compiled in cold, and each cell that compiled again in its warm series."""
    lines = []
    by_count: dict[tuple[str, str], dict[str, list[int]]] = {}
    for row in cell_rows:
        if not row.compiles or not any(row.compiles["cold"] + row.compiles["warm"]):
            continue
        counts = sorted(set(row.compiles["cold"]))
        text = " or ".join(str(each) for each in counts)
        compiler = COMPILERS.get(row.cell.adapter, "XLA")
        by_count.setdefault((compiler, text), {}).setdefault(_name(row), []).append(row.cell.n)
        if any(row.compiles["warm"]):
            many = sum(1 for each in row.compiles["warm"] if each)
            lines.append(
                f"{_name(row)} {row.cell.n}: {compiler} compiled in the warm series of {many} of "
                f"{row.count.ok} samples; "
                f"the slowest of these calls took {units.significant(row.slowest or 0.0)} times its median"
            )
    for (compiler, text), at in by_count.items():
        where = "; ".join(f"{name} {', '.join(str(n) for n in sizes)}" for name, sizes in at.items())
        warm = "" if lines else ", none in the warm calls"
        lines.append(f"{compiler} compiles a sample in cold: {text} ({where}){warm}")
    return lines


def _not_steady(cell_rows: Sequence[CellRow]) -> list[str]:
    return [
        f"* {_name(row)} {row.cell.n}: {state} in {many} of {row.count.ok} warm series; "
        "their warm is the last half's median"
        for row in cell_rows
        for state, many in row.not_steady.items()
    ]


#: What each tag means, in a few words.
TAGS = {
    "contended": "other work took CPU time or the GPU",
    "throttled: thermal": "the chip slowed down, too hot",
    "throttled: power": "the chip slowed down, at its power limit",
    "idle_clock": "the GPU's clock had not risen",
}


def _tags(samples: Sequence[Sample], cell_rows: Sequence[CellRow]) -> list[str]:
    """Return how many samples bear each tag, and the second line of each cell with samples taken again."""
    planned = [each for each in samples if each.kind in ("prepared", "fresh") and not each.again]
    taken = sum(1 for each in planned if each.telemetry)
    names = sorted({tag for each in planned for tag in each.tags})
    lines = []
    for name in names:
        many = sum(1 for each in planned if name in each.tags)
        lines.append(
            f"! {name} ({TAGS.get(name, name)}): {many} of {taken} samples; they are kept in every figure"
        )
    for row in cell_rows:
        both = row.with_added
        if both is not None:
            lines.append(
                f"{_name(row)} {row.cell.n} with {both.many} taken again: cold {units.seconds(both.cold.centre)}, "
                f"warm {units.seconds(both.warm.centre)}, cold/warm {units.with_interval(both.ratio)}"
            )
    return lines


#: The half width of an interval that is narrow enough to publish.
WANTED = 0.05


def _intervals(cell_rows: Sequence[CellRow]) -> list[str]:
    """Return the interval reached beside the one wanted, of the cell where it is widest."""
    reached = [
        (width, row)
        for row in cell_rows
        if row.ratio is not None and (width := stats.half_width(row.ratio)) is not None
    ]
    if not reached:
        return []
    width, row = max(reached, key=lambda each: each[0])
    at = f"{_name(row)} {row.cell.n}"
    if width <= WANTED:
        return [f"intervals of cold/warm: at most {width:.1%} either way ({at}), {WANTED:.0%} wanted"]
    needed = stats.samples_for([row.colds[block] / row.warms[block] for block in row.colds], WANTED)
    enough = f"about {needed} samples would reach it" if needed else "no number of samples can be told"
    far = f"{width:.0%}" if width < 10 else f"a factor of {units.significant(1 + width)}"
    return [f"intervals of cold/warm: up to {far} either way ({at}); {WANTED:.0%} wanted: {enough}"]


def _outliers(cell_rows: Sequence[CellRow]) -> list[str]:
    return [
        f"outliers, kept: {name} of {_name(row)} {row.cell.n} in block {', '.join(str(block) for block in blocks)}"
        for row in cell_rows
        for name, blocks in row.outliers.items()
    ]


def _to_steady(cell_rows: Sequence[CellRow]) -> list[str]:
    known = [(row.to_steady_s, row) for row in cell_rows if row.to_steady_s is not None]
    if not known:
        return []
    longest, row = max(known, key=lambda each: each[0])
    if longest == 0:
        return ["time to steady: none, every warm series is steady from its first call on"]
    return [
        f"time to steady, from the first warm call: at most {units.seconds(longest)} ({_name(row)} {row.cell.n})"
    ]


def _levels_and_bytecode(cell_rows: Sequence[CellRow]) -> list[str]:
    lines = []
    shown = [row for row in cell_rows if row.count.shows_times]
    none = _at_level(shown, "not_applicable")
    if none:
        lines.append(f"cold level of {', '.join(none)}: not_applicable, no on-disk JIT cache that could be kept")
    for level in dict.fromkeys(row.cell.level for row in shown if row.cell.level != "not_applicable"):
        where = _at_level(shown, level)
        lines.append(f"cold level of {', '.join(where)}: {level}")
    if any(row.bytecode_incomplete for row in shown):
        lines.append("modules without a compiled file were loaded: import takes longer than it need")
    return lines


def _at_level(shown: Sequence[CellRow], level: str) -> list[str]:
    """Return the targets of a cold level, with their placement where others of a target have another level."""
    levels: dict[str, set[str]] = {}
    for row in shown:
        levels.setdefault(row.cell.target, set()).add(row.cell.level)
    names = (
        row.cell.target if len(levels[row.cell.target]) == 1 else _name(row)
        for row in shown
        if row.cell.level == level
    )
    return list(dict.fromkeys(names))


def _throttled(samples: Sequence[Sample]) -> list[str]:
    found = [each.warm.throttlings for each in samples if each.warm and each.kind == "prepared"]
    stopped = [each for each in found if each]
    if not stopped:
        return []
    return [
        f"a CPU quota stopped {len(stopped)} of {len(found)} warm series, up to {max(stopped)} times: calls hold pauses"
    ]


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
