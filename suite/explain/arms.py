# SPDX-License-Identifier: Apache-2.0
"""Which arms an explanation measures: the cells as they are, each ablation, all together, and what to use instead."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from suite import levels, plan
from suite.ablation import Ablation, Mechanism, merged, together
from suite.explain.record import ArmKind, Experiment
from suite.ready import Ready
from suite.records import Cell, Planned, Run
from suite.stack import Stack

UNABLATED = "unablated"
#: Of the preparatory call of arm ``second shape``: so much larger than the cell, which keeps the alignment of rows
#: that libraries choose their kernels by.
FURTHER = 8


@dataclasses.dataclass(frozen=True)
class Arm:
    """One arm before it is measured. ``fresh``: whether its first result is measured too."""

    name: str
    kind: ArmKind
    cells: list[Cell]
    fresh: bool
    ablation: Ablation | None = None

    @property
    def folder(self) -> str:
        return self.ablation.slug if self.ablation else self.name.replace(" ", "-")

    @property
    def slug(self) -> str:
        """The name as ABLATIONS= takes it."""
        return self.folder.lower()


def default_placements(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of each target's first placement: the way that its stack lists first."""
    first: dict[str, str] = {}
    for cell in cells:
        first.setdefault(cell.target, cell.placement)
    return [cell for cell in cells if cell.placement == first[cell.target]]


def arms(
    cells: Sequence[Cell], chosen: Stack, ablations: Sequence[Ablation], others: Sequence[Arm] = ()
) -> list[Arm]:
    """Return the arms for ``cells``, the unablated one first, ``others`` (what could be used instead) last."""
    out = [Arm(UNABLATED, "unablated", list(cells), fresh=True)]
    taken = []
    for each in ablations:
        under = _under(each, cells, chosen)
        if under:
            out.append(Arm(each.name, "ablation", under, fresh=bool(each.remedy), ablation=each))
            taken.append(each)
    every = together(taken)
    if every is not None:
        out.append(Arm(every.name, "together", _under(every, cells, chosen), fresh=False, ablation=every))
    return [*out, *others]


def _under(ablation: Ablation, cells: Sequence[Cell], chosen: Stack) -> list[Cell]:
    """Return the cells that an ablation says something about, as they are under it."""
    out = []
    for cell in cells:
        if not ablation.applies(cell.target, cell.placement):
            continue
        if ablation.precision and ablation.precision == cell.precision:
            continue
        level = cell.level
        if ablation.level:
            level = levels.of_cell(ablation.level, ablation.own_cache or _has_jit_cache(cell, chosen))
            if level == cell.level and ablation.role:
                continue
        precision = ablation.precision or cell.precision
        out.append(msgspec.structs.replace(cell, level=level, precision=precision))
    return out


def _has_jit_cache(cell: Cell, chosen: Stack) -> bool:
    ways = chosen.realisations(cell.target)
    return any(each.jit_cache for each in ways if each.placement == cell.placement)


def instead(cells: Sequence[Cell], chosen: Stack) -> list[Arm]:
    """Return arms of the same targets' other placements, and of the plain targets beside those of XLA."""
    there = {(cell.target, cell.placement) for cell in cells}
    out = []
    for target in dict.fromkeys(cell.target for cell in cells):
        mine = [cell for cell in cells if cell.target == target]
        for each in chosen.realisations(target):
            if (target, each.placement) not in there:
                found = _cells_of(target, each.placement, mine, chosen)
                out.append(Arm(f"{target} via {each.placement}", "placement", found, fresh=True))
        plain = target.removeprefix("XLA_")
        if plain != target and not any(cell.target == plain for cell in cells):
            for each in chosen.realisations(plain)[:1]:
                found = _cells_of(plain, each.placement, mine, chosen)
                out.append(Arm(f"plain {plain}", "plain", found, fresh=True))
    return out


def _cells_of(target: str, placement: str, like: Sequence[Cell], chosen: Stack) -> list[Cell]:
    first = like[0]
    level = first.level
    if level == levels.NOT_APPLICABLE:
        level = "jit"
    return plan.cells(
        chosen,
        [target],
        placement,
        [cell.n for cell in like],
        dtype=first.dtype,
        precision=first.precision,
        level=level,
        python=first.python,
        engine=first.engine,
    )


def kept(experiment: Experiment, runs: Sequence[Run]) -> list[Arm]:
    """Return the arms that an explanation was begun with, by its own record and its arms' runs."""
    return [
        Arm(
            each.name,
            each.kind,
            run.plan.cells,
            fresh=any(planned.kind == "fresh" for planned in run.plan.planned),
            ablation=each.ablation,
        )
        for each, run in zip(experiment.arms, runs, strict=True)
    ]


def made_for(arm: Arm, made: Ready, every: Sequence[Arm]) -> Ready:
    """Return the stack, ready to be measured as this arm, one of ``every``: the signs of all are looked for in each."""
    environment: dict[str, str] = {}
    ablations = [each.ablation for each in every if each.kind == "ablation" and each.ablation is not None]
    for each in ablations:
        environment = merged(environment, _watched(each, arm))
    if arm.ablation is not None:
        environment = merged(environment, {**_driver_cache(arm), **arm.ablation.environment})
    signs = {each.name: each.mechanism for each in ablations if each.mechanism is not None}
    return dataclasses.replace(
        made,
        cells=arm.cells,
        environment=lambda home, more: merged(made.environment(home, more), environment),
        asked=lambda cell: request(arm.ablation, cell),
        begins_with=_under_it(arm, every),
        mechanisms=_once(signs),
    )


def _watched(ablation: Ablation, arm: Arm) -> dict[str, str]:
    """Return the variables by which an arm shows the sign of ``ablation``.

    An arm that keeps its caches keeps those alone that it is about: a folder that a flag names for another ablation is
    emptied before each of its samples, or it would take that one's cause away as well.
    """
    kept = arm.ablation is not None and arm.ablation.level == "process"
    if arm.ablation is None or not kept or arm.kind == "together":
        return dict(ablation.watch)
    if ablation.name in (arm.ablation.name, arm.ablation.over):
        return dict(ablation.watch)
    names = f"{levels.CACHE}/{levels.FLAGGED}", f"{levels.CACHE}/{levels.SCRATCH}"
    return {name: value.replace(*names) for name, value in ablation.watch.items()}


def _under_it(arm: Arm, every: Sequence[Arm]) -> str:
    """Return the folder of the arm that this one goes beyond.

    It keeps that very arm's choices: with its own it could have chosen other kernels, once for all blocks.
    """
    over = arm.ablation.over if arm.ablation is not None else ""
    return next((each.folder for each in every if over and each.name == over), "")


def _driver_cache(arm: Arm) -> dict[str, str]:
    """Return where the driver's JIT cache is in an arm that keeps a cache of its own: emptied before each sample.

    Kept, it would take PTX's cost away with what the arm is about.
    """
    own = arm.kind == "ablation" and arm.ablation is not None and arm.ablation.own_cache
    return {"CUDA_CACHE_PATH": f"{levels.CACHE}/{levels.SCRATCH}"} if own else {}


def _once(signs: Mapping[str, Mechanism]) -> dict[str, Mechanism]:
    return dict(sorted(signs.items()))


def request(ablation: Ablation | None, cell: Cell) -> dict[str, Any]:
    """Return what a worker of an arm is asked beside the cell itself."""
    out: dict[str, Any] = {"watch": True}
    if ablation is None:
        return out
    if ablation.prepare:
        out["prepare_n"] = cell.n if ablation.prepare == "same_shape" else cell.n + FURTHER
    if ablation.threads:
        out["threads"] = ablation.threads
    return out


def schedule(planned_arms: Sequence[Arm], samples: int, seed: int) -> list[tuple[int, Planned]]:
    """Return every sample with the number of its arm, in the order in which they are run.

    The unablated arm's probe and pilots speak for its ablations, too; what is used instead has pilots of its own. Then
    priming samples, and ``samples`` blocks, in each of which every arm has one sample of each kind, shuffled.
    """
    out = [(0, Planned("probe", "probe", "", 0))]
    for number, arm in enumerate(planned_arms):
        if arm.kind in ("unablated", "placement", "plain"):
            out += [(number, Planned(f"pilot.{cell.id}", "pilot", cell.id, 0)) for cell in arm.cells]
    for number, arm in enumerate(planned_arms):
        kept = [cell for cell in arm.cells if cell.level == "process"]
        out += [(number, Planned(f"priming.{cell.id}", "priming", cell.id, 0)) for cell in kept]
    order = random.Random(seed)
    for block in range(1, samples + 1):
        members = []
        for number, arm in enumerate(planned_arms):
            for cell in arm.cells:
                members.append((number, Planned(f"prepared.{cell.id}.{block}", "prepared", cell.id, block)))
                if arm.fresh:
                    members.append((number, Planned(f"fresh.{cell.id}.{block}", "fresh", cell.id, block)))
        order.shuffle(members)
        out += members
    return out
