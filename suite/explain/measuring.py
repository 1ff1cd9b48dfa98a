# SPDX-License-Identifier: Apache-2.0
"""Measure an explanation: all arms interleaved in blocks, each a run of its own below the explanation's folder."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from suite import bench, claim, journal, progress, ready
from suite.bench import Bench
from suite.explain import arms as arms_module
from suite.explain.ablation import Ablation
from suite.explain.arms import Arm
from suite.explain.record import Experiment, ExperimentArm
from suite.journal import Journal
from suite.ready import Ready
from suite.records import Planned, to_json
from suite.watch import Watch

KIND = "explain"


@dataclass(frozen=True)
class Measured:
    """An experiment that was measured, or the part of it before it was cut short."""

    folder: Path
    benches: list[Bench]
    interrupted: str


def measure(
    made: Ready,
    planned_arms: Sequence[Arm],
    ablations: Sequence[Ablation],
    environ: Mapping[str, str],
    command: Sequence[str],
) -> Measured:
    """Measure all arms in one interleaved order. Raises SuiteError as the run of one stack does."""
    words, seed = made.words, secrets.randbelow(2**32)
    order = arms_module.schedule(planned_arms, words.samples, seed)
    every = [arms_module.made_for(arm, made, ablations) for arm in planned_arms]
    runs = []
    for number, (arm, each) in enumerate(zip(planned_arms, every, strict=True)):
        mine = [planned for which, planned in order if which == number]
        # By samples, not by arms: an arm that has its first result measured, too, takes twice as long.
        share_s = words.budget_s * len(mine) / len(order)
        its_plan = ready.bench_plan(words, arm.cells, mine, seed, budget_s=share_s)
        runs.append(each.record(its_plan, command, arm=arm.name))
    experiment = Experiment(
        id=journal.new_run_id(),
        created_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=list(command),
        seed=seed,
        arms=[
            ExperimentArm(arm.name, arm.folder, run.run_id, arm.kind, arm.ablation)
            for arm, run in zip(planned_arms, runs, strict=True)
        ],
        order=[(number, planned.id) for number, planned in order],
        words=dict(words.given),
    )
    folder = words.out / KIND / experiment.id
    with contextlib.ExitStack() as held:
        for run in [each for each in runs if claim.wanted(each)][:1]:
            held.enter_context(claim.gpus(run))
        logs = [Journal.create(folder / arm.folder, run) for arm, run in zip(planned_arms, runs, strict=True)]
        for log in logs:
            held.callback(log.close)
        journal.write_atomically(folder / journal.EXPERIMENT, to_json(experiment, indent=1) + "\n")
        watch = held.enter_context(Watch(environ))
        benches = [
            Bench(run, each.setting(run, folder / arm.folder, watch), log, watch, alone=False)
            for arm, each, run, log in zip(planned_arms, every, runs, logs, strict=True)
        ]
        _carry_out(planned_arms, benches, order)
        interrupted = watch.tripped()
        for each_bench in benches:
            each_bench.setting.caches.discard()
    return Measured(folder, benches, interrupted)


def _carry_out(
    planned_arms: Sequence[Arm], benches: Sequence[Bench], order: Sequence[tuple[int, Planned]]
) -> None:
    """Carry out the whole order, or what of it comes before the watch trips. Nothing taken is lost."""
    pilots = [each for each in order if each[1].kind == "pilot"]
    rest = [each for each in order if each[1].kind not in ("probe", "pilot")]
    names = ", ".join(arm.name for arm in planned_arms)
    progress.say(
        f"plan: {len(planned_arms)} arms ({names}); {len(pilots)} pilots and {len(rest)} samples, each its own process"
    )
    sample = benches[0].step(order[0][1])
    if sample is not None and sample.status == "interrupted":
        return
    for arm, each in zip(planned_arms, benches, strict=True):
        if arm.kind in ("placement", "plain"):
            each.learn_probe(benches[0])
    with progress.Progress(len(order) - 1) as bar:
        if not bench.steps(benches, pilots, bar):
            return
        for arm, each in zip(planned_arms, benches, strict=True):
            if arm.kind in ("ablation", "together"):
                each.learn_pilots(benches[0])
        total_s = sum(each.eta_s() for each in benches)
        budget_s = sum(each.run.plan.budget_s for each in benches)
        progress.say(f"pilots done: about {total_s:.0f} s to go (BUDGET {budget_s:g} s)")
        bench.steps(benches, rest, bar)
