# SPDX-License-Identifier: Apache-2.0
"""What an explanation says of each cell, from the samples of its arms. Pure functions, but for reading the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suite import journal, rows, stats
from suite.explain import causes, effects, intervals, precision, record
from suite.explain.account import Account, account, interaction
from suite.explain.break_even import BreakEven, break_even
from suite.explain.effects import Effect, Side
from suite.explain.record import Experiment, ExperimentArm
from suite.records import Cell, Run, Sample
from suite.rows import Count
from suite.stats import Estimate


@dataclass(frozen=True)
class Instead:
    """What could be used instead of a cell: another placement, or the plain target. Times in seconds.

    ``break_even``: from which call on the cell itself has taken less time than this; None where precisions differ.
    """

    name: str
    kind: str
    cell: Cell
    count: Count
    first: Estimate | None = None
    cold: Estimate | None = None
    warm: Estimate | None = None
    precision: str = "not told"
    break_even: BreakEven | None = None


@dataclass(frozen=True)
class Explained:
    """One cell's explanation. Times in seconds; None where the cell itself could not be measured."""

    cell: Cell
    count: Count
    cold: Estimate | None = None
    warm: Estimate | None = None
    ratio: Estimate | None = None
    first: Estimate | None = None
    first_call: Estimate | None = None
    """Build, compile and first execution of a fresh process: without a preparatory call."""
    start_up: Estimate | None = None
    start_up_explained: Estimate | None = None
    """The share of start-up that proven causes cost."""
    precision: str = "not told"
    flops: float | None = None
    account: Account | None = None
    effects: Sequence[Effect] = ()
    together: Effect | None = None
    interaction: Estimate | None = None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    """Median seconds of each phase of a fresh sample, up to its first result."""
    cold_phases_s: Mapping[str, float] = field(default_factory=dict)
    """The same of the phases that make up cold, of prepared samples."""
    instead: Sequence[Instead] = ()


@dataclass(frozen=True)
class Explanation:
    """All of an experiment: its runs by arm, and what it says of each cell."""

    experiment: Experiment
    runs: Mapping[str, Run]
    cells: Sequence[Explained]
    notes: Sequence[str] = ()
    missing: int = 0
    sessions: int = 1
    """In how many sessions it was measured: RESUME= adds one."""


def read(folder: Path) -> Explanation:
    """Read an experiment's folder and explain it. Raises :class:`suite.journal.Unreadable`."""
    experiment = record.read(folder)
    runs: dict[str, Run] = {}
    samples: dict[str, list[Sample]] = {}
    notes = []
    for arm in experiment.arms:
        runs[arm.name] = journal.read_run(folder / arm.folder)
        samples[arm.name], said = journal.read_samples(folder / arm.folder)
        notes += [f"{arm.name}: {line}" for line in said]
    return explain(experiment, runs, samples, notes)


def explain(
    experiment: Experiment,
    runs: Mapping[str, Run],
    samples: Mapping[str, Sequence[Sample]],
    notes: Sequence[str] = (),
) -> Explanation:
    """Explain every cell of the unablated arm."""
    unablated = experiment.arms[0]
    cells = runs[unablated.name].plan.cells
    missing = sum(rows.missing(runs[name], samples[name]) for name in runs)
    return Explanation(
        experiment,
        runs,
        [_explained(cell, experiment, runs, samples) for cell in cells],
        [*notes, *_tag_notes(samples)],
        missing,
        1 + max((sample.session for each in samples.values() for sample in each), default=0),
    )


def _tag_notes(samples: Mapping[str, Sequence[Sample]]) -> list[str]:
    taken = [sample for each in samples.values() for sample in each if sample.kind in _KINDS]
    tags, total = [tag for sample in taken for tag in sample.tags], len(taken)
    if not tags:
        return []
    counted = ", ".join(f"{tag} {tags.count(tag)}" for tag in sorted(set(tags)))
    return [f"of {total} samples, tagged by what the machine did meanwhile: {counted}; all are kept"]


def _side(
    arm: ExperimentArm, cell: Cell, runs: Mapping[str, Run], samples: Mapping[str, Sequence[Sample]]
) -> Side:
    plan = runs[arm.name].plan
    planned = {
        kind: sum(1 for each in plan.planned if (each.kind, each.cell) == (kind, cell.id)) for kind in _KINDS
    }
    return effects.side(cell, samples[arm.name], planned["prepared"], planned["fresh"])


_KINDS = ("prepared", "fresh")


def _explained(
    cell: Cell, experiment: Experiment, runs: Mapping[str, Run], samples: Mapping[str, Sequence[Sample]]
) -> Explained:
    base = _side(experiment.arms[0], cell, runs, samples)
    instead = _instead(cell, base, experiment, runs, samples)
    if not base.usable:
        return Explained(cell, base.count, instead=instead)
    ablated = [
        (arm, arm.ablation)
        for arm in experiment.arms
        if arm.ablation is not None and cell.id in [each.id for each in runs[arm.name].plan.cells]
    ]
    sides = {arm.name: _side(arm, cell, runs, samples) for arm, _ in ablated}
    found: list[Effect] = []
    every = None
    for arm, ablation in ablated:
        beside = sides.get(ablation.over) if ablation.over else base
        effect = effects.effect(ablation, beside, sides[arm.name])
        if arm.kind == "together":
            every = effect
        else:
            found.append(effect)
    colds, warms, firsts = base.colds(), base.warms(), base.firsts()
    excess = effects.differences(colds, warms)
    prepared, fresh = list(base.prepared.values()), list(base.fresh.values())
    warm = stats.geometric(list(warms.values()))
    members = [each for each in found if each.by_block and _is_member(each, found, every)]
    alone = [each.by_block for each in causes.one_a_cause(members)]
    return Explained(
        cell,
        base.count,
        cold=stats.geometric(list(colds.values())),
        warm=warm,
        ratio=stats.ratio([colds[each] for each in sorted(warms)], [warms[each] for each in sorted(warms)]),
        first=stats.geometric(list(firsts.values())) if firsts else None,
        first_call=stats.geometric([each.cold_s for each in fresh if each.cold_s]) if fresh else None,
        start_up=_mean(effects.start_up(base)),
        start_up_explained=_start_up_explained(base, found, sides),
        precision=precision.effective(prepared),
        flops=2.0 * cell.n**3 / warm.centre,
        account=account(excess, causes.steps(base, sides, found), causes.causes(base, sides, found)),
        effects=found,
        together=every,
        interaction=interaction(alone, every.by_block) if every and every.by_block and alone else None,
        phases_s=rows.phases_until_first_result(fresh),
        cold_phases_s={
            name: value
            for name, value in rows.phases_until_first_result(prepared).items()
            if name in ("build", "compile", "first_execution")
        },
        instead=instead,
    )


def _is_member(effect: Effect, found: Sequence[Effect], every: Effect | None) -> bool:
    """Tell whether an ablation is part of "all together" and not held by another that is: the sum counts it once."""
    members = every.ablation.takes_out.split(", ") if every else []
    if effect.ablation.name not in members:
        return False
    held = effect.ablation.prepare == "second_shape"
    return not (held and any(each.ablation.prepare == "same_shape" and each.by_block for each in found))


def _start_up_explained(base: Side, found: Sequence[Effect], sides: Mapping[str, Side]) -> Estimate | None:
    """Return the share of start-up that ablations with a proven effect on it took away; None where none was tried."""
    whole = effects.start_up(base)
    tried = [each for each in found if each.started is not None]
    if not tried or not whole or sum(whole.values()) <= 0:
        return None
    good = [
        each
        for each in tried
        if not effects.lacking(
            each.ablation.mechanism,
            each.started,
            base.seen(each.ablation.name, fresh=True),
            sides[each.ablation.name].seen(each.ablation.name, fresh=True),
        )
    ]
    saved = [effects.differences(whole, effects.start_up(sides[each.ablation.name])) for each in good]
    blocks = sorted(set(whole).intersection(*saved))
    if not blocks:
        return None
    # Never more than the whole, block sums included: the largest alone, for causes of start-up overlap.
    best = max(saved, key=lambda each: sum(each[block] for block in blocks), default=None)
    parts = [best[block] if best else 0.0 for block in blocks]
    return intervals.share(parts, [whole[block] for block in blocks])


def _mean(values: Mapping[int, float]) -> Estimate | None:
    return intervals.mean(list(values.values())) if values else None


def _instead(
    cell: Cell,
    base: Side,
    experiment: Experiment,
    runs: Mapping[str, Run],
    samples: Mapping[str, Sequence[Sample]],
) -> list[Instead]:
    out = []
    for arm in experiment.arms:
        if arm.kind not in ("placement", "plain"):
            continue
        for other in runs[arm.name].plan.cells:
            if other.n != cell.n or other.target.removeprefix("XLA_") != cell.target.removeprefix("XLA_"):
                continue
            side = _side(arm, other, runs, samples)
            if not side.usable:
                out.append(Instead(arm.name, arm.kind, other, side.count))
                continue
            found = precision.effective(list(side.prepared.values()))
            same = found == precision.effective(list(base.prepared.values()))
            firsts, warms = list(side.firsts().values()), list(side.warms().values())
            comparable = same and firsts and base.fresh
            out.append(
                Instead(
                    arm.name,
                    arm.kind,
                    other,
                    side.count,
                    first=stats.geometric(firsts) if firsts else None,
                    cold=stats.geometric(list(side.colds().values())),
                    warm=stats.geometric(warms),
                    precision=found,
                    break_even=break_even(
                        list(base.firsts().values()),
                        list(base.warms().values()),
                        firsts,
                        warms,
                        seed=experiment.seed,
                    )
                    if comparable
                    else None,
                )
            )
    return out
