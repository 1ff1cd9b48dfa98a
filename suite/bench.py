# SPDX-License-Identifier: Apache-2.0
"""The isolated protocol: K fresh processes a cell, interleaved, each journaled as it ends."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suite import (
    classify,
    collect,
    estimate,
    host,
    journal,
    plan,
    progress,
    requeue,
    rows,
    sample_record,
    sampling,
)
from suite.document import View
from suite.errors import SuiteError
from suite.exits import Exit, first_that_applies
from suite.journal import Journal
from suite.records import Cell, Planned, Reason, Run, Sample, Status
from suite.sampling import Setting
from suite.visible import VARIABLE
from suite.watch import Watch

#: A pilot with one of these says what every sample of its cell would say: they are not run.
SETTLED_BY_PILOT = ("unavailable", "unsupported_arch", "timeout", "oom")


@dataclass
class Bench:
    """One run of the isolated protocol, from its probe to its last sample, one step at a time.

    ``taken``: samples that an earlier session of the same run has taken (RESUME=); they are not taken again.
    """

    run: Run
    setting: Setting
    journal: Journal
    watch: Watch
    taken: Sequence[Sample] = ()
    samples: list[Sample] = field(default_factory=list)
    alone: bool = True
    """Whether no other run is measured between its samples."""

    def __post_init__(self) -> None:
        p = self.run.plan
        self._cells = {cell.id: cell for cell in p.cells}
        self._estimator = estimate.Estimator(self.setting.ceiling_flops, p.warm_min_calls, p.warm_s)
        watched = self.setting.watched
        if watched is not None and watched.static:
            self._estimator.gpu_ceiling_flops = watched.ceiling_flops("ieee")
        self._settled: dict[str, tuple[Reason, Status]] = dict(self.setting.settled)
        self._warm_calls: dict[str, int] = {}
        self._primed: dict[str, dict[str, int]] = {}
        self._devices: list[str] = []
        self._begin_s = time.monotonic()
        self._taken = {sample.id: sample for sample in self.taken if sample.status != "interrupted"}
        self._order = 1 + max((sample.order for sample in self.taken), default=-1)

    @property
    def todo(self) -> list[Planned]:
        """The prepared and fresh samples of the plan, in its order."""
        return [each for each in self.run.plan.planned if each.kind in ("prepared", "fresh")]

    def measure(self) -> None:
        """Take every sample of the plan, or stop where the watch trips. Nothing taken is lost."""
        measure_together([self], [(0, planned) for planned in self.run.plan.planned])

    def step(self, planned: Planned) -> Sample | None:
        """Carry out one planned sample of any kind and keep it; None where an earlier session has.

        Raises
        ------
        SuiteError
            NOT_PREPARED where the probe finds that the stack does not start.
        """
        if planned.kind == "probe":
            return self._probe(planned)
        if planned.kind == "pilot":
            return self._pilot(planned)
        earlier = self._taken.get(planned.id)
        if earlier is not None:
            self._learn_priming(planned, earlier)
            self.samples.append(earlier)
            return None
        if planned.cell in self._settled:
            return self._not_run(planned)
        if planned.kind == "priming":
            return self._priming(planned)
        calls = None if planned.kind == "fresh" else self._warm_calls.get(planned.cell)
        return self._take(planned, warm_calls=calls or self.run.plan.warm_min_calls)

    def plan_text(self) -> str:
        """Return the plan in a sentence, with what it will take; after the probe."""
        p = self.run.plan
        cells = [cell for cell in self._cells.values() if cell.id not in self._settled]
        absent = sorted({cell.target for cell in self._cells.values()} - {cell.target for cell in cells})
        kinds = ("pilot", "priming", "prepared", "fresh")
        todo = [each for each in p.planned if each.kind in kinds and each.cell not in self._settled]
        left = [each for each in todo if each.id not in self._taken]
        if not cells:
            return f"plan: nothing to measure, not on this machine: {', '.join(absent)}"
        targets = ", ".join(dict.fromkeys(cell.target for cell in cells))
        number = {kind: sum(1 for each in todo if each.kind == kind) for kind in kinds}
        primings = f"{number['priming']} priming, " if number["priming"] else ""
        text = (
            f"plan: {targets} at {', '.join(str(n) for n in p.shapes)}: {number['pilot']} pilots, {primings}"
            f"{number['prepared']} prepared and {number['fresh']} fresh samples, "
            f"each its own process; about {self._estimate(left):.0f} s (BUDGET {p.budget_s:g} s)"
        )
        if self._taken:
            text += f"; {len(todo) - len(left)} of them were taken before"
        return text + (f"; not on this machine: {', '.join(absent)}" if absent else "")

    def eta_s(self) -> float:
        """Return the seconds that the rest of the plan will take; after the pilots."""
        return self._estimate([each for each in self.todo if each.cell not in self._settled and self._open(each)])

    def eta_text(self) -> str:
        """Return what is still to come, in a sentence; after the pilots. "" where no cell can be measured."""
        if not self._warm_calls:
            return ""
        todo = [each for each in self.todo if each.cell not in self._settled and self._open(each)]
        over = [cell_id for cell_id, (_, status) in self._settled.items() if status == "over_budget"]
        text = f"pilots done: {len(todo)} samples, about {self._estimate(todo):.0f} s to go"
        return text + (f"; over budget, not measured: {', '.join(over)}" if over else "")

    def again(self) -> list[Planned]:
        """Return samples to add for those that are tagged; they replace none, and fit into what is left of BUDGET."""
        added = [each for each in self._taken.values() if each.again]
        wanted = requeue.additions(self.run.plan, [*added, *self.samples])
        left_s = self.run.plan.budget_s - self._spent_s()
        fits = []
        for each in wanted:
            left_s -= self._estimator.sample_s(self._cells[each.cell], each.kind)
            if left_s >= 0:
                fits.append(each)
        return fits

    def take_again(self, planned: Planned) -> Sample:
        """Take one of the samples of :meth:`again`."""
        calls = None if planned.kind == "fresh" else self._warm_calls.get(planned.cell)
        again = requeue.repeats(planned)
        return self._take(planned, warm_calls=calls or self.run.plan.warm_min_calls, again=again)

    def learn_probe(self, other: Bench) -> None:
        """Take over what another run's probe has told: the devices, and what a process costs."""
        self._devices = other._devices
        self._estimator.process_s = other._estimator.process_s

    def learn_pilots(self, other: Bench) -> None:
        """Take over what another run of the same cells has learned from its probe and pilots: calls, times, ends."""
        self._devices, self._estimator = other._devices, other._estimator
        for cell_id in self._cells:
            if cell_id in other._warm_calls:
                self._warm_calls[cell_id] = other._warm_calls[cell_id]
            if cell_id in other._settled:
                self._settled[cell_id] = other._settled[cell_id]

    def has(self, planned: Planned) -> bool:
        """Tell whether an earlier session has taken a planned sample."""
        return planned.id in self._taken

    def _open(self, planned: Planned) -> bool:
        return not self.has(planned)

    def _probe(self, planned: Planned) -> Sample:
        if planned.id in self._taken:  # asked anew in every session: the machine may have changed
            planned = Planned(f"{planned.id}.session-{self.setting.session}", "probe", "", 0)
        sample = self._take(planned)
        if sample.status == "interrupted":
            return sample
        if sample.status != "ok" or not sample.devices:
            reason = sample.reason or Reason("no_devices", "the framework lists no device at all")
            folder = self.setting.raw / sample.id
            words = folder.parent.parent / reason.raw_file if reason.raw_file else folder / "stderr.txt"
            what = f"the stack does not start: {reason.text}"
            step = f"{reason.next_step} Its own words: {folder}".strip()
            raise SuiteError(Exit.NOT_PREPARED, what, step, sampling.words_of(words)[-3000:])
        self._devices = sample.devices
        self._estimator.learn_process(sample.wall_s or 3.0)
        raw = f"{journal.RAW}/{sample.id}/stderr.txt"
        said = sampling.words_of(self.setting.raw / sample.id / "stderr.txt", 10**6)
        variables = self.setting.environment(Path("HOME"), {}) if host.nvidia_driver_loaded() else {}
        visible = variables.get(VARIABLE)
        for cell in self._cells.values():
            if cell.device not in self._devices and cell.id not in self._settled:
                self._settled[cell.id] = classify.unavailable(cell.device, self._devices, raw, said, visible)
        return sample

    def _pilot(self, planned: Planned) -> Sample | None:
        cell = self._cells[planned.cell]
        sample = self._taken.get(planned.id)
        if sample is None:
            if cell.id not in self._settled:
                self._settle_by_budget(cell)
            if cell.id in self._settled:
                return self._not_run(planned)
            begin_s = time.monotonic()
            sample = self._take(planned, warm_s=estimate.pilot_s(self.run.plan.warm_s))
            self._learn_pilot(cell, sample, time.monotonic() - begin_s)
            return sample
        self.samples.append(sample)
        if sample.status == "over_budget" and sample.reason:
            self._settled[cell.id] = (sample.reason, sample.status)
        elif cell.id not in self._settled:
            self._learn_pilot(cell, sample, sample.wall_s or 0.0)
        return None

    def _learn_pilot(self, cell: Cell, sample: Sample, elapsed_s: float) -> None:
        if sample.status in SETTLED_BY_PILOT and sample.reason:
            self._settle(cell, "pilot", sample)
        elif sample.warm:
            median = statistics.median(sample.warm.calls_s)
            self._estimator.learn_pilot(cell, median, elapsed_s, sum(sample.warm.calls_s))
            p = self.run.plan
            self._warm_calls[cell.id] = plan.warm_calls(median, p.warm_min_calls, p.warm_s)

    def _priming(self, planned: Planned) -> Sample:
        sample = self._take(planned, warm_calls=self.run.plan.warm_min_calls)
        self._learn_priming(planned, sample)
        return sample

    def _learn_priming(self, planned: Planned, sample: Sample) -> None:
        if planned.kind != "priming":
            return
        if sample.status == "ok" and sample.caches:
            self._primed[planned.cell] = sample.caches.after
        elif sample.reason:
            self._settle(self._cells[planned.cell], "priming sample", sample)

    def _settle(self, cell: Cell, by: str, sample: Sample) -> None:
        if sample.reason:
            text = f"its {by}: {sample.reason.text}"
            reason = Reason(sample.reason.code, text, sample.reason.next_step, sample.reason.raw_file)
            self._settled[cell.id] = (reason, sample.status)

    def _settle_by_budget(self, cell: Cell) -> None:
        """Settle a cell as over_budget where one sample or all of them would take too long."""
        p = self.run.plan
        longest = self._estimator.sample_s(cell, "prepared")
        if longest > p.timeout_s:
            text = f"one sample is expected to take {longest:.0f} s, TIMEOUT is {p.timeout_s:g} s"
            self._settled[cell.id] = (Reason("over_timeout", text, "Set TIMEOUT= higher."), "over_budget")
            return
        # Cells are settled smallest shape first: what was let in before keeps its place.
        before = [each for each in self.todo if self._let_in(each)]
        mine = [each for each in self.todo if each.cell == cell.id]
        needed = self._spent_s() + self._estimate(before + mine) + self._estimator.sample_s(cell, "pilot")
        if needed > p.budget_s:
            text = f"with it the run is expected to take {needed:.0f} s, BUDGET is {p.budget_s:g} s"
            self._settled[cell.id] = (Reason("over_budget", text, "Set BUDGET= higher."), "over_budget")

    def _spent_s(self) -> float:
        walls_s = sum(each.wall_s or 0.0 for each in self.samples)
        return max(time.monotonic() - self._begin_s, walls_s) if self.alone else walls_s

    def _let_in(self, planned: Planned) -> bool:
        return planned.cell in self._warm_calls and planned.cell not in self._settled and self._open(planned)

    def _estimate(self, planned: Sequence[Planned]) -> float:
        return sum(self._estimator.sample_s(self._cells[each.cell], each.kind) for each in planned)

    def _not_run(self, planned: Planned) -> Sample:
        reason, status = self._settled[planned.cell]
        sample = sample_record.not_run(planned, self._next(), status, reason, self._devices)
        self._keep(sample)
        return sample

    def _take(
        self, planned: Planned, warm_calls: int | None = None, warm_s: float = 0.0, again: str = ""
    ) -> Sample:
        cell = self._cells.get(planned.cell)
        sample = sampling.take(
            self.setting,
            planned,
            cell,
            self._next(),
            warm_calls=warm_calls,
            warm_s=warm_s,
            primed=self._primed.get(planned.cell),
            again=again,
        )
        self._keep(sample)
        return sample

    def _keep(self, sample: Sample) -> None:
        self.journal.append(sample)
        self.samples.append(sample)

    def _next(self) -> int:
        self._order += 1
        return self._order - 1


def measure_together(benches: Sequence[Bench], order: Sequence[tuple[int, Planned]]) -> None:
    """Carry out the plans of one run, or of several that are compared, in one order.

    ``order`` holds each planned sample with the number of its run, probes first, then pilots, as
    :func:`suite.plan.schedule_arms` returns it. Ends early where a watch trips; nothing taken is lost.
    """
    by_kind = {kind: [each for each in order if each[1].kind == kind] for kind in ("probe", "pilot")}
    rest = [each for each in order if each[1].kind not in by_kind]
    for arm, planned in by_kind["probe"]:
        sample = benches[arm].step(planned)
        if sample is not None and sample.status == "interrupted":
            return
        _say(benches, arm, benches[arm].plan_text())
    with progress.Progress(len(order) - len(by_kind["probe"])) as bar:
        if not steps(benches, by_kind["pilot"], bar):
            return
        for arm, bench in enumerate(benches):
            _say(benches, arm, bench.eta_text())
        if not steps(benches, rest, bar):
            return
        added = [(bench, planned) for bench in benches for planned in bench.again()]
        if added:
            progress.say(f"{len(added)} samples are taken again, beside those that are tagged")
            bar.more(len(added))
        for bench, planned in added:
            if bench.watch.tripped():
                return
            bar.done(bench.take_again(planned))


def steps(benches: Sequence[Bench], order: Sequence[tuple[int, Planned]], bar: progress.Progress) -> bool:
    """Carry out steps; return whether all were, and the watch has not tripped."""
    for arm, planned in order:
        if benches[arm].watch.tripped():
            return False
        bar.done(benches[arm].step(planned))
    return True


def _say(benches: Sequence[Bench], arm: int, text: str) -> None:
    if text:
        progress.say(
            f"{benches[arm].run.arm or benches[arm].run.stack['name']}: {text}" if len(benches) > 1 else text
        )


def verdict(run: Run, samples: list[Sample], interrupted: bool) -> Exit:
    """Return the exit code of a run: what was asked for by name and is not there, what failed."""
    found = []
    if interrupted:
        found.append(Exit.INTERRUPTED)
    every: list[rows.CellRow | rows.TargetRow] = [*rows.cell_rows(run, samples), *rows.target_rows(run, samples)]
    for row in every:
        if row.count.status in ("unavailable", "unsupported_arch"):
            if row.cell.target in run.plan.asked_by_name:
                found.append(Exit.IMPOSSIBLE)
        elif row.count.status not in ("ok", "over_budget"):
            found.append(Exit.CELLS_FAILED)
    return first_that_applies(found)


def finish(folder: Path, report: Callable[[str], None], view: View | None = None) -> None:
    """Derive the tables of a run that has ended, and print them."""
    try:
        run, samples, notes = collect.derive(folder)
    except OSError as error:
        what = f"{folder}: the tables cannot be written: {error.strerror or error}"
        next_step = "The samples are kept: make collect derives the tables."
        raise SuiteError(Exit.CELLS_FAILED, what, next_step) from error
    report(collect.text(run, samples, notes, view))
