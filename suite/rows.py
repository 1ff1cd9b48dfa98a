# SPDX-License-Identifier: Apache-2.0
"""From samples to rows: what a cell and a target report, or why they report no time. Pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from suite import classify, stats, steadiness
from suite.records import COLD_PHASES, PHASES, Cell, Kind, Reason, Run, Sample
from suite.stats import Estimate

#: A cell in which any sample has one of these shows no time, however many others are ok.
DISQUALIFYING = ("wrong_device", "wrong_result", "implausible", "not_cold", "timeout")


@dataclass(frozen=True)
class Count:
    """How many of the planned samples are ok, and the status that follows for all of them together."""

    ok: int
    planned: int
    status: str
    reason: Reason | None = None

    @property
    def shows_times(self) -> bool:
        return self.status == "ok"

    def whole(self) -> bool:
        """Tell whether every planned sample is ok: only then may the cell get a verdict."""
        return self.status == "ok" and self.ok == self.planned

    def text(self) -> str:
        return f"{self.ok}/{self.planned} ok"


@dataclass(frozen=True)
class Added:
    """The same cell with the samples that were taken again, beside those that are tagged: never the headline."""

    many: int
    ok: int
    cold: Estimate
    warm: Estimate
    ratio: Estimate


@dataclass(frozen=True)
class CellRow:
    """One cell's row: times in seconds, None where the cell is not ok."""

    cell: Cell
    count: Count
    cold: Estimate | None = None
    warm: Estimate | None = None
    ratio: Estimate | None = None
    not_steady: dict[str, int] = field(default_factory=dict)
    bytecode_incomplete: bool = False
    compiles: dict[str, list[int]] | None = None
    """XLA compiles of each ok sample in "cold" and in "warm"; None where they cannot be counted."""
    slowest: float | None = None
    """The slowest warm call of the samples that compiled in their warm series, over its sample's median."""
    colds: dict[int, float] = field(default_factory=dict)
    """The cold time of each ok sample, by its block."""
    warms: dict[int, float] = field(default_factory=dict)
    to_steady_s: float | None = None
    """Median over processes of the time from the first warm call to the steady segment; None where none is steady."""
    tags: dict[str, int] = field(default_factory=dict)
    """How many of the planned samples bear each tag."""
    tagged: int = 0
    """How many of them bear any."""
    outliers: dict[str, list[int]] = field(default_factory=dict)
    """Blocks of the values that are marked as outliers, of "cold" and of "warm"; they are kept in every figure."""
    with_added: Added | None = None


@dataclass(frozen=True)
class TargetRow:
    """What a target costs once a process, from fresh samples of one cell; times in seconds."""

    cell: Cell
    count: Count
    first_result: Estimate | None = None
    start_up: Estimate | None = None
    phases_s: dict[str, float] = field(default_factory=dict)
    """Median length of each phase up to the first result."""


def count(samples: Sequence[Sample], planned: int) -> Count:
    """Return the status that ``planned`` samples, of which these are recorded, have together.

    ok where at least 80 % and 3 of them are ok (all, where fewer than 5 were planned) and none is of a
    status that disqualifies; else the worst status there is.
    """
    ok = sum(1 for sample in samples if sample.status == "ok")
    needed = planned if planned < 5 else max(3, -(-planned * 4 // 5))
    bad = [sample for sample in samples if sample.status != "ok"]
    if ok >= needed and ok > 0 and not any(sample.status in DISQUALIFYING for sample in bad):
        return Count(ok, planned, "ok")
    if not bad:
        missing = planned - ok
        reason = Reason("missing", f"the run ended before {missing} of {planned} samples were taken")
        return Count(ok, planned, "interrupted", reason)
    worst = min(bad, key=lambda sample: classify.severity(sample.status))
    return Count(ok, planned, worst.status, worst.reason)


def cell_rows(run: Run, samples: Iterable[Sample]) -> list[CellRow]:
    """Return a row for each cell of the plan, in the plan's order."""
    samples = list(samples)
    by_cell = _grouped(samples, "prepared")
    planned = _planned(run, "prepared")
    added = _grouped(samples, "prepared", again=True)
    return [
        _cell_row(cell, by_cell.get(cell.id, []), planned[cell.id], added.get(cell.id, []))
        for cell in run.plan.cells
    ]


def _cell_row(cell: Cell, samples: list[Sample], planned: int, added: Sequence[Sample] = ()) -> CellRow:
    counted = count(samples, planned)
    tags = [tag for sample in samples for tag in sample.tags]
    if not counted.shows_times:
        return CellRow(cell, counted, tags=_counted(tags), tagged=_tagged(samples))
    good = [sample for sample in samples if sample.status == "ok"]
    colds = [_number(sample.cold_s) for sample in good]
    assessed = [steadiness.assess(sample.warm.calls_s) for sample in good if sample.warm]
    warms = [each.warm_s for each in assessed]
    states = [each.state for each in assessed if each.state in ("trend", "shift")]
    waits = [
        steadiness.time_to_steady_s(sample.warm.calls_s, each)
        for sample, each in zip((each for each in good if each.warm), assessed, strict=True)
        if sample.warm
    ]
    reached = [wait for wait in waits if wait is not None]
    return CellRow(
        cell,
        counted,
        cold=stats.geometric(colds),
        warm=stats.geometric(warms),
        ratio=stats.ratio(colds, warms),
        not_steady=_counted(states),
        bytecode_incomplete=any(_failed(sample, "bytecode") for sample in good),
        compiles=_compiles(good),
        slowest=max((_slowest(each) for each in good if _compiled_in(each, ("warm",))), default=None),
        colds={sample.block: cold for sample, cold in zip(good, colds, strict=True)},
        warms={sample.block: warm for sample, warm in zip(good, warms, strict=True)},
        to_steady_s=statistics.median(reached) if reached else None,
        tags=_counted(tags),
        tagged=_tagged(samples),
        outliers={
            name: [good[index].block for index in found]
            for name, values in (("cold", colds), ("warm", warms))
            if (found := stats.outliers(values))
        },
        with_added=_with_added(colds, warms, added),
    )


def _with_added(colds: list[float], warms: list[float], added: Sequence[Sample]) -> Added | None:
    good = [each for each in added if each.status == "ok" and each.warm]
    if not good:
        return None
    colds = colds + [_number(each.cold_s) for each in good]
    warms = warms + [steadiness.assess(each.warm.calls_s).warm_s for each in good if each.warm]
    both = stats.geometric(colds), stats.geometric(warms), stats.ratio(colds, warms)
    return Added(len(added), len(good), *both)


def _tagged(samples: Sequence[Sample]) -> int:
    return sum(1 for sample in samples if sample.tags)


def _counted(words: Sequence[str]) -> dict[str, int]:
    return {word: words.count(word) for word in sorted(set(words))}


def _compiles(samples: Sequence[Sample]) -> dict[str, list[int]] | None:
    if any(sample.compiles is None for sample in samples):
        return None
    return {
        name: [_compiled_in(sample, phases) for sample in samples]
        for name, phases in (("cold", COLD_PHASES), ("warm", ("warm",)))
    }


def _compiled_in(sample: Sample, phases: Sequence[str]) -> int:
    found = sample.compiles or {}
    return sum(found[name].count for name in phases if name in found)


def _slowest(sample: Sample) -> float:
    calls = sample.warm.calls_s if sample.warm else [1.0]
    return max(calls) / statistics.median(calls)


@dataclass(frozen=True)
class Rows:
    """All rows of a run."""

    cells: Sequence[CellRow]
    targets: Sequence[TargetRow]


def both(run: Run, samples: Sequence[Sample]) -> Rows:
    """Return all rows of a run; each series is judged once."""
    cells = cell_rows(run, samples)
    return Rows(cells, target_rows(run, samples, cells))


def target_rows(run: Run, samples: Sequence[Sample], cells: Sequence[CellRow] | None = None) -> list[TargetRow]:
    """Return a row for each cell that has fresh samples: first result, and start-up at the smallest shape.

    ``cells``: the run's :func:`cell_rows`, where somebody has made them.
    """
    fresh, prepared = _grouped(samples, "fresh"), _grouped(samples, "prepared")
    planned_fresh = _planned(run, "fresh")
    shown = {row.cell.id: row for row in (cell_rows(run, samples) if cells is None else cells)}
    smallest = min(cell.n for cell in run.plan.cells) if run.plan.cells else 0
    rows = []
    for cell in run.plan.cells:
        if not planned_fresh.get(cell.id):
            continue
        counted = count(fresh.get(cell.id, []), planned_fresh[cell.id])
        if not counted.shows_times:
            rows.append(TargetRow(cell, counted))
            continue
        good = [sample for sample in fresh[cell.id] if sample.status == "ok"]
        firsts = [_number(sample.first_result_s) for sample in good]
        start_up = None
        if cell.n == smallest and shown[cell.id].cold is not None:
            colds = [_number(each.cold_s) for each in prepared[cell.id] if each.status == "ok"]
            start_up = stats.difference(firsts, colds)
        rows.append(TargetRow(cell, counted, stats.geometric(firsts), start_up, phases_until_first_result(good)))
    return rows


def phases_until_first_result(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the median seconds of each phase up to the first result, in the phases' order."""
    until = PHASES[: PHASES.index("first_execution") + 1]
    out = {}
    for name in until:
        lengths = [
            sum(each.end_s - each.begin_s for each in sample.phases if each.name == name)
            for sample in samples
            if any(each.name == name for each in sample.phases)
        ]
        if lengths:
            out[name] = statistics.median(lengths)
    return out


def missing(run: Run, samples: Sequence[Sample]) -> int:
    """Return how many planned samples have no line: more than 0 where the run ended early."""
    there = {sample.id for sample in samples}
    return sum(1 for planned in run.plan.planned if planned.id not in there)


def _grouped(samples: Iterable[Sample], kind: Kind, *, again: bool = False) -> dict[str, list[Sample]]:
    """Return the planned samples of a kind by cell, or those that were added (``again``)."""
    out: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.kind == kind and bool(sample.again) == again:
            out.setdefault(sample.cell, []).append(sample)
    return out


def _planned(run: Run, kind: Kind) -> dict[str, int]:
    out = {cell.id: 0 for cell in run.plan.cells}
    for planned in run.plan.planned:
        if planned.kind == kind:
            out[planned.cell] += 1
    return out


def _failed(sample: Sample, proof: str) -> bool:
    return proof in sample.proofs and sample.proofs[proof].state == "failed"


def _number(value: float | None) -> float:
    if value is None:
        raise ValueError("an ok sample without its time")
    return value
