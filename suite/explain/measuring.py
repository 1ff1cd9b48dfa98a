# SPDX-License-Identifier: Apache-2.0
"""Measure an explanation: all arms interleaved in blocks, each a run of its own below the explanation's folder."""

from __future__ import annotations

import contextlib
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from suite import bench, claim, journal, progress, ready, resume
from suite.bench import Bench
from suite.errors import SuiteError
from suite.exits import Exit
from suite.explain import arms as arms_module
from suite.explain.arms import Arm
from suite.explain.record import Experiment, ExperimentArm
from suite.explain.resume import EarlierExplanation
from suite.journal import Journal
from suite.ready import Ready
from suite.records import Planned, Run, to_json
from suite.reopened import reopened
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
    environ: Mapping[str, str],
    command: Sequence[str],
    given: Mapping[str, str],
) -> Measured:
    """Measure all arms in one interleaved order; ``given``: the words to keep, by which RESUME= goes on.

    Raises SuiteError as the run of one stack does.
    """
    words, seed = made.words, secrets.randbelow(2**32)
    order = arms_module.schedule(planned_arms, words.samples, seed)
    every = [arms_module.made_for(arm, made, planned_arms) for arm in planned_arms]
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
        words=dict(given),
    )
    folder = words.out / KIND / experiment.id
    with contextlib.ExitStack() as held:
        claim.for_all(runs, held)
        logs = [Journal.create(folder / arm.folder, run) for arm, run in zip(planned_arms, runs, strict=True)]
        for log in logs:
            held.callback(log.close)
        journal.write_atomically(folder / journal.EXPERIMENT, to_json(experiment, indent=1) + "\n")
        watch = held.enter_context(Watch(environ))
        benches = [
            Bench(run, each.setting(run, log.folder, watch), log, watch, alone=False)
            for each, run, log in zip(every, runs, logs, strict=True)
        ]
        return _measured(folder, planned_arms, benches, order)


def go_on(made: Ready, earlier: EarlierExplanation, environ: Mapping[str, str]) -> Measured:
    """Measure what is missing of an explanation, in the order that was planned; ``made``: its stack, ready again.

    Raises
    ------
    SuiteError
        As :func:`measure` does; NOT_PREPARED where what identifies an arm has changed, before anything is measured, or
        where another process is measuring into one of them.
    """
    runs = [arm.run for arm in earlier.arms]
    planned_arms = arms_module.kept(earlier.experiment, runs)
    every = [arms_module.made_for(arm, made, planned_arms) for arm in planned_arms]
    for run, each in zip(runs, every, strict=True):
        resume.check_identity(run, each.record(run.plan, run.command, arm=run.arm))
    with contextlib.ExitStack() as held:
        earlier, benches = reopened(earlier, every, environ, held)
        return _measured(earlier.folder, planned_arms, benches, earlier.order())


def _measured(
    folder: Path, planned_arms: Sequence[Arm], benches: list[Bench], order: Sequence[tuple[int, Planned]]
) -> Measured:
    try:
        _carry_out(planned_arms, benches, order)
    except SuiteError as error:
        if error.exit_code is Exit.CELLS_FAILED:  # a full disk, say
            say_how_to_go_on(folder, benches[0].run)
        raise
    interrupted = benches[0].watch.tripped()
    if not interrupted:
        for each in benches:
            each.setting.caches.discard()  # RESUME= may still need them
    return Measured(folder, benches, interrupted)


def say_how_to_go_on(folder: Path, run: Run) -> None:
    """Say by which command an explanation that ended early is finished; ``run`` is one of its arms."""
    progress.say("what is missing is taken by:")
    progress.say_line(f"make explain STACK={run.stack['name']} RESUME={shlex.quote(progress.shown(folder))}")


def _carry_out(
    planned_arms: Sequence[Arm], benches: Sequence[Bench], order: Sequence[tuple[int, Planned]]
) -> None:
    """Carry out the whole order, or what of it comes before the watch trips. Nothing taken is lost."""
    pilots = [each for each in order if each[1].kind == "pilot"]
    rest = [each for each in order if each[1].kind not in ("probe", "pilot")]
    names = ", ".join(arm.name for arm in planned_arms)
    taken = sum(1 for number, planned in [*pilots, *rest] if benches[number].has(planned))
    progress.say(
        f"plan: {len(planned_arms)} arms ({names}); {len(pilots)} pilots and {len(rest)} samples, each its own process"
        + (f"; {taken} of them were taken before" if taken else "")
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
