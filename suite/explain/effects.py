# SPDX-License-Identifier: Apache-2.0
"""From the samples of an explanation's arms to what each ablation did, block by block. Pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suite import stats, steadiness
from suite.ablation import Ablation, Mechanism
from suite.explain import intervals, precision
from suite.records import COLD_PHASES, Cell, Sample
from suite.rows import Count, count
from suite.stats import Estimate

#: A sign that is seen as much as this in the ablated samples has not gone.
GONE = 0.5
UNABLATED_AND_ABLATED = ("unablated samples", "ablated samples")


@dataclass(frozen=True)
class Side:
    """The samples of one cell in one arm, those that are ok by their block."""

    cell: Cell
    prepared: Mapping[int, Sample]
    fresh: Mapping[int, Sample]
    count: Count
    fresh_count: Count | None = None

    @property
    def usable(self) -> bool:
        """Whether times of it may be shown."""
        return self.count.shows_times

    def colds(self) -> dict[int, float]:
        """Return the cold time of each block, in seconds."""
        return {block: _number(each.cold_s) for block, each in self.prepared.items()}

    def warms(self) -> dict[int, float]:
        """Return the warm time of each block: the median of its steady segment."""
        return {
            block: steadiness.assess(each.warm.calls_s).warm_s
            for block, each in self.prepared.items()
            if each.warm
        }

    def firsts(self) -> dict[int, float]:
        """Return the first result of each block's fresh sample."""
        return {block: _number(each.first_result_s) for block, each in self.fresh.items()}

    def phase_s(self, names: Sequence[str], *, compiles: bool = False) -> dict[int, float]:
        """Return the seconds of named phases in each prepared sample; with ``compiles`` what XLA logged in them."""
        if compiles:
            return {
                block: sum(each.compiles[name].total_s for name in names if name in each.compiles)
                for block, each in self.prepared.items()
                if each.compiles is not None
            }
        return {
            block: sum(one.end_s - one.begin_s for one in each.phases if one.name in names)
            for block, each in self.prepared.items()
        }

    def touched(self, name: str) -> dict[int, float]:
        """Return what the first call touched: "cpu_s", "threads", "faults", or "libraries" in kB."""
        out = {}
        for block, each in self.prepared.items():
            found = each.evidence.get("touched", {}).get(name)
            if found is not None:
                out[block] = float(sum(found.values()) if isinstance(found, dict) else found)
        return out

    def seen(self, name: str, *, fresh: bool = False) -> float | None:
        """Return the median count of a mechanism over the samples; None where it could not be looked for."""
        samples = (self.fresh if fresh else self.prepared).values()
        found = [each.evidence.get("mechanisms", {}).get(name) for each in samples]
        told = [float(each) for each in found if each is not None]
        return statistics.median(told) if told else None


@dataclass(frozen=True)
class Effect:
    """What an ablation did to one cell. Times in seconds; None where there are no two blocks to tell it by.

    ``saved``: cold without it less cold with it, block by block. ``started``: the same of start-up. ``warm``: warm with
    it over warm without it. ``lacks``: why it is not proven, "" where it is.
    """

    ablation: Ablation
    count: Count
    saved: Estimate | None = None
    started: Estimate | None = None
    cold: Estimate | None = None
    warm: Estimate | None = None
    warm_s: Estimate | None = None
    first: Estimate | None = None
    seen_before: float | None = None
    seen_after: float | None = None
    lacks: str = ""
    precision: str = "not told"
    arithmetic: str = "not told"
    flops: float | None = None
    by_block: Mapping[int, float] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        return not self.lacks


def side(cell: Cell, samples: Sequence[Sample], planned: int, planned_fresh: int) -> Side:
    """Return one cell's samples in one arm; those that were taken again are left out."""
    mine = [each for each in samples if each.cell == cell.id and not each.again]
    prepared = [each for each in mine if each.kind == "prepared"]
    fresh = [each for each in mine if each.kind == "fresh"]
    counted = count(prepared, planned)
    fresh_counted = count(fresh, planned_fresh) if planned_fresh else None
    return Side(
        cell,
        {each.block: each for each in prepared if each.status == "ok"} if counted.shows_times else {},
        {each.block: each for each in fresh if each.status == "ok"}
        if fresh_counted and fresh_counted.shows_times
        else {},
        counted,
        fresh_counted,
    )


def differences(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """Return ``one`` less ``other`` for each block that both have."""
    return {block: one[block] - other[block] for block in sorted(one) if block in other}


def effect(ablation: Ablation, beside: Side | None, ablated: Side) -> Effect:
    """Compare a cell's ablated samples with those of the same blocks that they are told beside.

    That is the unablated ones, or those of the ablation that it goes beyond; None where these were not planned.
    """
    if not ablated.usable:
        return Effect(ablation, ablated.count, lacks=f"its samples are not usable: {ablated.count.status}")
    if beside is None:
        return Effect(ablation, ablated.count, lacks=f"{ablation.over or 'unablated'} was not measured")
    if not beside.usable:
        named = _arms(ablation)[0]
        return Effect(ablation, beside.count, lacks=f"{named} are not usable: {beside.count.status}")
    saved = differences(beside.colds(), ablated.colds())
    warms = beside.warms(), ablated.warms()
    both = sorted(set(warms[0]) & set(warms[1]))
    before, after = beside.seen(ablation.name), ablated.seen(ablation.name)
    estimate = intervals.mean(list(saved.values())) if saved else None
    firsts = ablated.firsts()
    samples = list(ablated.prepared.values())
    warm_s = stats.geometric(list(warms[1].values())) if warms[1] else None
    return Effect(
        ablation,
        ablated.count,
        saved=estimate,
        started=_started(beside, ablated),
        cold=stats.geometric(list(ablated.colds().values())),
        warm=stats.ratio([warms[1][each] for each in both], [warms[0][each] for each in both]) if both else None,
        warm_s=warm_s,
        first=stats.geometric(list(firsts.values())) if firsts else None,
        seen_before=before,
        seen_after=after,
        lacks=lacking(ablation.mechanism, estimate, before, after, _arms(ablation)),
        precision=precision.effective(samples),
        arithmetic=precision.arithmetic(list(beside.prepared.values()), samples),
        flops=2.0 * ablated.cell.n**3 / warm_s.centre if warm_s else None,
        by_block=saved,
    )


def _arms(ablation: Ablation) -> tuple[str, str]:
    return (
        (f"samples of {ablation.over}", f"samples of {ablation.name}") if ablation.over else UNABLATED_AND_ABLATED
    )


def lacking(
    sign: Mechanism | None,
    saved: Estimate | None,
    before: float | None,
    after: float | None,
    arms: tuple[str, str] = UNABLATED_AND_ABLATED,
) -> str:
    """Return what a cause lacks to be proven, "" where it has both: an effect, and its mechanism seen and gone.

    ``arms`` are the words for what ``before`` and ``after`` were read in.
    """
    if saved is None or saved.low is None:
        return "fewer than 2 blocks: no interval"
    if not intervals.excludes_zero(saved):
        return "its interval holds 0"
    if sign is None:
        return "nothing shows its mechanism"
    if before is None or after is None:
        return f"its sign ({sign.seen_as}) cannot be looked for here"
    if before <= 0:
        return f"its sign ({sign.seen_as}) is not seen in {arms[0]}"
    if after > GONE * before:
        return f"its sign ({sign.seen_as}) is still seen in {arms[1]}"
    return ""


def start_up(of: Side) -> dict[int, float]:
    """Return first result (fresh) less cold (prepared) of each block."""
    return differences(of.firsts(), of.colds())


def _started(unablated: Side, ablated: Side) -> Estimate | None:
    saved = differences(start_up(unablated), start_up(ablated))
    return intervals.mean(list(saved.values())) if saved else None


def compile_s(of: Side) -> tuple[dict[int, float], str]:
    """Return the seconds in which XLA compiled, by block, and how they are known.

    By the clock around the framework's compile call where there is one of its own, else as logged in the cold phases.
    """
    clocked = of.phase_s(["compile"])
    if any(value > 0 for value in clocked.values()):
        return clocked, "by the clock around the framework's compile call"
    return of.phase_s(COLD_PHASES, compiles=True), "as the framework logs it"


def _number(value: float | None) -> float:
    if value is None:
        raise ValueError("an ok sample without its time")
    return value
