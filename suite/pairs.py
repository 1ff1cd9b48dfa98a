# SPDX-License-Identifier: Apache-2.0
"""From samples of the reproduce protocol to rows, a verdict, and what they teach. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite import classify, stats, units
from suite.question import Question
from suite.records import PASS_PHASES, Cell, Pair, Run, Sample, Status
from suite.stats import Estimate


@dataclass(frozen=True)
class PairRow:
    """One device and shape: the question's numbers and ours, seconds; None where there is none.

    ``compiles``: XLA compiles in the first pass and in the rerun, of the first process; None where the stack
    logs none.
    """

    cell: Cell
    asked: tuple[float, float] | None
    status: str
    reason: str = ""
    first: Estimate | None = None
    rerun: Estimate | None = None
    ratio: Estimate | None = None
    compiles: tuple[int, int] | None = None


@dataclass(frozen=True)
class Verdict:
    """``kind`` is reproduced, not_reproduced or cannot_be_tested; ``text`` says why, with the ratios."""

    kind: str
    text: str


def rows(run: Run, samples: Sequence[Sample], question: Question) -> list[PairRow]:
    """Return a row for each cell of the plan, in its order."""
    taken = [sample for sample in samples if sample.kind == "reproduce"]
    return [_row(cell, taken, run.plan.samples, question) for cell in run.plan.cells]


def _row(cell: Cell, samples: Sequence[Sample], planned: int, question: Question) -> PairRow:
    asked = question.asked(cell.target, cell.n)
    firsts, reruns, bad = [], [], []
    compiles = None
    for sample in samples:
        mine = {each.which: each for each in sample.pairs if (each.device, each.n) == (cell.device, cell.n)}
        first, rerun = mine.get("first"), mine.get("rerun")
        if first and rerun and first.taken_s is not None and rerun.taken_s is not None:
            firsts.append(first.taken_s)
            reruns.append(rerun.taken_s)
            if compiles is None and first.compiles is not None and rerun.compiles is not None:
                compiles = (first.compiles, rerun.compiles)
        else:
            bad.append(_why(sample, [each for each in (first, rerun) if each]))
    if len(samples) < planned:
        bad.append(("interrupted", "the run ended first"))
    if bad or not firsts:
        status, reason = min(bad, key=lambda each: classify.severity(each[0]))
        return PairRow(cell, asked, status, reason)
    return PairRow(
        cell,
        asked,
        "ok",
        first=stats.geometric(firsts),
        rerun=stats.geometric(reruns),
        ratio=stats.ratio(firsts, reruns),
        compiles=compiles,
    )


def _why(sample: Sample, pairs: Sequence[Pair]) -> tuple[Status, str]:
    for each in pairs:
        if each.status == "unavailable":
            kind = each.device.split(":")[1]
            seen = ", ".join(name.replace("/device:", "") for name in sample.devices)
            return "unavailable", f"no {kind}: the framework sees {seen}"
        if each.status != "ok":
            return each.status, each.reason or "it would not have ended within BUDGET"
    text = sample.reason.text if sample.reason else "the snippet ended before it came to this"
    return (sample.status if sample.status != "ok" else "crashed"), text


def verdict(all_rows: Sequence[PairRow], question: Question) -> Verdict:
    """Return whether the run shows what the question reported, by its rule."""
    rule = question.rule
    by_cell = {(row.cell.target, row.cell.n): row for row in all_rows}
    ratios: dict[str, list[tuple[int, float]]] = {rule.target: [], rule.beside: []}
    for target in ratios:
        for n in rule.at:
            row = by_cell.get((target, n))
            if row is None or row.ratio is None:
                why = f"{row.status}, {row.reason}" if row else "not asked for"
                wanted = f"its rule needs {target} and {rule.beside} at {_listed(rule.at)}"
                return Verdict("cannot_be_tested", f"{wanted}; {target} at {n}: {why}")
            ratios[target].append((n, row.ratio.centre))
    said = "; ".join(
        f"{target} first / rerun " + ", ".join(f"{units.significant(ratio)} at {n}" for n, ratio in found)
        for target, found in ratios.items()
    )
    slow = all(ratio >= rule.at_least for _, ratio in ratios[rule.target])
    beside = all(ratio < rule.beside_below for _, ratio in ratios[rule.beside])
    wanted = f"the rule: {rule.target} at least {rule.at_least:g}, {rule.beside} below {rule.beside_below:g}"
    return Verdict("reproduced" if slow and beside else "not_reproduced", f"{said} ({wanted})")


def lessons(run: Run, samples: Sequence[Sample], all_rows: Sequence[PairRow]) -> list[str]:
    """Return what the numbers just measured teach, a few sentences; none that no number carries."""
    measured = [row for row in all_rows if row.ratio is not None]
    by_target: dict[str, list[PairRow]] = {}
    for row in measured:
        by_target.setdefault(row.cell.target, []).append(row)
    return [
        *_start_up(samples, measured),
        *_recompiles(by_target),
        *_ready_made(by_target),
        *_extra(by_target),
    ]


def _start_up(samples: Sequence[Sample], measured: Sequence[PairRow]) -> list[str]:
    taken = [sample for sample in samples if sample.kind == "reproduce" and sample.status == "ok"]
    if not taken or not measured:
        return []
    begun = measured[0]  # the plan's order is the snippet's: this one came first in the process
    assert begun.first and begun.rerun
    before = sum(each.end_s - each.begin_s for each in taken[0].phases if each.name not in PASS_PHASES)
    return [
        f"Start-up is not cold: {units.seconds(before)} went by before the snippet's clock first started "
        f"(interpreter, import, listing devices) and is in no line. {begun.cell.target} at {begun.cell.n} came "
        f"first in the process and took {units.seconds(begun.first.centre)}, its rerun "
        f"{units.seconds(begun.rerun.centre)}: part of that difference is paid once by a process, whichever shape "
        "comes first."
    ]


def _recompiles(by_target: Mapping[str, Sequence[PairRow]]) -> list[str]:
    lines = []
    for target in ("XLA_GPU", "XLA_CPU"):
        counted = [row for row in by_target.get(target, []) if row.compiles and any(row.compiles)]
        if not counted:
            continue
        firsts = sum(row.compiles[0] for row in counted if row.compiles)
        reruns = sum(row.compiles[1] for row in counted if row.compiles)
        again = "compiles again" if reruns else "did not compile again"
        lines.append(
            f"A rerun is not warm: it opens a new Session, which {again}. On {target} XLA logged {firsts} "
            f"compiles in the first pass over {len(counted)} shapes and {reruns} in the rerun."
        )
    return lines


def _ready_made(by_target: Mapping[str, Sequence[PairRow]]) -> list[str]:
    lines = []
    for plain, compiled in (("GPU", "XLA_GPU"), ("CPU", "XLA_CPU")):
        both = {row.cell.n: row for row in by_target.get(plain, [])}
        beside = [row for row in by_target.get(compiled, []) if row.cell.n in both]
        if not beside:
            continue
        row = min(beside, key=lambda each: each.cell.n)
        other = both[row.cell.n]
        assert row.rerun and other.rerun
        gpu = " GPU:0 against XLA_GPU:0 is the same pair of mechanisms." if plain == "CPU" else ""
        lines.append(
            f"{plain}:0 runs kernels that were compiled when the wheel was built, {compiled}:0 compiles what each "
            f"Session brings: at {row.cell.n} a rerun takes {units.seconds(other.rerun.centre)} on {plain} and "
            f"{units.seconds(row.rerun.centre)} on {compiled}.{gpu}"
        )
        break
    return lines


def _extra(by_target: Mapping[str, Sequence[PairRow]]) -> list[str]:
    """Return what the first pass costs beyond its rerun, at the smallest and the largest size."""
    for target in ("XLA_GPU", "XLA_CPU"):
        found = by_target.get(target, [])
        if len(found) < 2:
            continue
        ends = [min(found, key=lambda row: row.cell.n), max(found, key=lambda row: row.cell.n)]
        said = [
            f"{units.significant(row.ratio.centre)} times its rerun at {row.cell.n} "
            f"({units.seconds(row.first.centre)} and {units.seconds(row.rerun.centre)})"
            for row in ends
            if row.first and row.rerun and row.ratio
        ]
        lead = "The" if target == "XLA_GPU" else "What XLA_CPU shows instead of XLA_GPU: the"
        return [
            f"{lead} first pass of {target} takes {' and '.join(said)}. In the question, what the first pass cost "
            "beyond its rerun grew with the matmul itself, to 88 s at 15000. Compiling does not grow like that; "
            "trying out kernels at full size would, and only a GPU does it (not proven for that card)."
        ]
    return []


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(str(each) for each in numbers)
