# SPDX-License-Identifier: Apache-2.0
"""Measure several runs as one comparison: interleaved in blocks, so that drift of the machine falls on all alike."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec

from suite import bench, claim, journal, plan, progress, ready, sampling
from suite.bench import Bench
from suite.collect import COMPARISON
from suite.exits import Exit
from suite.journal import Journal
from suite.ready import Ready
from suite.records import Arm, Comparison, Judging, Planned, Run, to_json
from suite.reopened import reopened
from suite.resume_compare import EarlierComparison
from suite.watch import Watch


@dataclasses.dataclass(frozen=True)
class Measured:
    """A comparison that was measured, or the part of it before it was cut short."""

    folder: Path
    benches: list[Bench]
    interrupted: str


def measure(
    arms: Mapping[str, Ready],
    kind: Literal["selftest", "compare"],
    environ: Mapping[str, str],
    command: Sequence[str],
    *,
    judging: Judging | None = None,
    given: Mapping[str, str] | None = None,
) -> Measured:
    """Measure all arms, by name, in one interleaved order; every arm is a run of its own below the comparison.

    BUDGET= is for all of them together. ``judging`` and ``given`` (the words that were typed) are kept with the
    comparison. Raises SuiteError as the run of one stack does.
    """
    first = next(iter(arms.values()))
    words, seed = first.words, secrets.randbelow(2**32)
    cells = [made.cells for made in arms.values()]
    order = plan.schedule_arms(cells, words.samples, words.profile.fresh_at, seed)
    runs = [
        _record(made, number, name, order, seed, command, len(arms))
        for number, (name, made) in enumerate(arms.items())
    ]
    comparison_id = journal.new_run_id()
    folder = words.out / kind / comparison_id
    comparison = Comparison(
        id=comparison_id,
        kind=kind,
        created_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=list(command),
        seed=seed,
        arms=[Arm(run.arm, run.arm, run.run_id) for run in runs],
        order=[(number, planned.id) for number, planned in order],
        judging=judging or Judging(),
        words=dict(given or {}),
    )
    with contextlib.ExitStack() as held:
        claim.for_all(runs, held)
        logs = [Journal.create(folder / run.arm, run) for run in runs]
        for log in logs:
            held.callback(log.close)
        journal.write_atomically(folder / COMPARISON, to_json(comparison, indent=1) + "\n")
        watch = held.enter_context(Watch(environ))
        benches = [
            Bench(run, made.setting(run, folder / run.arm, watch), log, watch, alone=False)
            for made, run, log in zip(arms.values(), runs, logs, strict=True)
        ]
        if kind == "selftest":
            _measure_instrument(benches[0], comparison, folder)
        bench.measure_together(benches, order)
        interrupted = watch.tripped()
        for each in benches:
            if not interrupted or kind == "selftest":
                each.setting.caches.discard()  # of a comparison RESUME= may still need them
    return Measured(folder, benches, interrupted)


def go_on(arms: Mapping[str, Ready], earlier: EarlierComparison, environ: Mapping[str, str]) -> Measured:
    """Measure what is missing of a comparison, in the order that was planned.

    ``arms``: what each arm is measured with, by name, of the identity that it was begun with. Raises SuiteError as
    :func:`measure` does, and NOT_PREPARED where another process is measuring into one of the arms.
    """
    with contextlib.ExitStack() as held:
        made = [arms[arm.run.arm] for arm in earlier.arms]
        earlier, benches = reopened(earlier, made, environ, held)
        bench.measure_together(benches, earlier.order())
        interrupted = benches[0].watch.tripped()
        if not interrupted:
            for each in benches:
                each.setting.caches.discard()
    return Measured(earlier.folder, benches, interrupted)


def ended(measured: Measured) -> list[Exit]:
    """Say where the results are, and return the exit code of each arm's run."""
    progress.say_where(measured.folder, measured.interrupted)
    return [bench.verdict(each.run, each.samples, bool(measured.interrupted)) for each in measured.benches]


def _record(
    made: Ready,
    number: int,
    name: str,
    order: Sequence[tuple[int, Planned]],
    seed: int,
    command: Sequence[str],
    arms: int,
) -> Run:
    mine = [planned for arm, planned in order if arm == number]
    its_plan = ready.bench_plan(made.words, made.cells, mine, seed, budget_s=made.words.budget_s / arms)
    return made.record(its_plan, command, arm=name)


def _measure_instrument(first: Bench, comparison: Comparison, folder: Path) -> None:
    """Measure clock and loop in the stack's own Python, where its workers run."""
    told = sampling.ask(first.setting, "instrument", "clock").first("clock") or {}
    figures = {name: float(value) for name, value in told.items() if name.endswith("_s")}
    known = msgspec.structs.replace(comparison, instrument=figures)
    journal.write_atomically(folder / COMPARISON, to_json(known, indent=1) + "\n")
