# SPDX-License-Identifier: Apache-2.0
"""The isolated protocol: K fresh processes a cell, interleaved, each journaled as it ends."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from suite import classify, collect, estimate, journal, plan, progress, rows, sampling
from suite.errors import SuiteError
from suite.exits import Exit, first_that_applies
from suite.journal import Journal
from suite.records import Cell, Planned, Reason, Run, Sample, Status
from suite.sampling import Setting
from suite.watch import Watch

#: A pilot with one of these says what every sample of its cell would say: they are not run.
SETTLED_BY_PILOT = ("unavailable", "unsupported_arch", "timeout", "oom")


@dataclass
class Bench:
    """One run of the isolated protocol, from its probe to its last sample."""

    run: Run
    setting: Setting
    journal: Journal
    watch: Watch

    def __post_init__(self) -> None:
        p = self.run.plan
        self._cells = {cell.id: cell for cell in p.cells}
        self._estimator = estimate.Estimator(self.setting.ceiling_flops, p.warm_min_calls, p.warm_s)
        self._settled: dict[str, tuple[Reason, Status]] = {}
        self._warm_calls: dict[str, int] = {}
        self._devices: list[str] = []
        self._order = 0
        self._begin_s = time.monotonic()
        self.samples: list[Sample] = []

    def measure(self) -> None:
        """Take every sample of the plan, or stop where the watch trips. Nothing taken is lost."""
        planned = self.run.plan.planned
        probe, pilots = planned[0], [each for each in planned if each.kind == "pilot"]
        rest = [each for each in planned if each.kind in ("prepared", "fresh")]
        if not self._probe(probe):
            return
        progress.say(self._plan_text(pilots + rest))
        with progress.Progress(len(pilots) + len(rest)) as bar:
            for each in pilots:
                if self.watch.tripped():
                    return
                self._pilot(each, rest, bar)
            if self._warm_calls:
                progress.say(self._eta_text(rest))
            for each in rest:
                if self.watch.tripped():
                    return
                if each.cell in self._settled:
                    self._not_run(each, bar)
                    continue
                calls = None if each.kind == "fresh" else self._warm_calls.get(each.cell)
                bar.done(self._take(each, warm_calls=calls or self.run.plan.warm_min_calls))

    def _probe(self, planned: Planned) -> bool:
        sample = self._take(planned)
        if sample.status == "interrupted":
            return False
        if sample.status != "ok" or not sample.devices:
            reason = sample.reason or Reason("no_devices", "the framework lists no device at all")
            detail = (self.setting.raw / planned.id / "stderr.txt").read_text(errors="replace")[-3000:]
            what = f"the stack does not start: {reason.text}"
            raise SuiteError(Exit.NOT_PREPARED, what, f"Its own words: {self.setting.raw / planned.id}", detail)
        self._devices = sample.devices
        self._estimator.learn_process(sample.wall_s or 3.0)
        raw = f"{journal.RAW}/{planned.id}/stderr.txt"
        for cell in self._cells.values():
            if cell.device not in self._devices:
                self._settled[cell.id] = classify.unavailable(cell.device, self._devices, raw)
        return True

    def _pilot(self, planned: Planned, rest: list[Planned], bar: progress.Progress) -> None:
        cell = self._cells[planned.cell]
        if cell.id not in self._settled:
            self._settle_by_budget(cell, rest)
        if cell.id in self._settled:
            self._not_run(planned, bar)
            return
        sample = self._take(planned, warm_s=estimate.pilot_s(self.run.plan.warm_s))
        bar.done(sample)
        if sample.status in SETTLED_BY_PILOT and sample.reason:
            text = f"its pilot: {sample.reason.text}"
            reason = Reason(sample.reason.code, text, sample.reason.next_step, sample.reason.raw_file)
            self._settled[cell.id] = (reason, sample.status)
        elif sample.warm:
            median = statistics.median(sample.warm.calls_s)
            self._estimator.learn_pilot(cell, median, sample.wall_s or 0.0, sum(sample.warm.calls_s))
            p = self.run.plan
            self._warm_calls[cell.id] = plan.warm_calls(median, p.warm_min_calls, p.warm_s)

    def _settle_by_budget(self, cell: Cell, rest: list[Planned]) -> None:
        """Settle a cell as over_budget where one sample or all of them would take too long."""
        p = self.run.plan
        longest = self._estimator.sample_s(cell, "prepared")
        if longest > p.timeout_s:
            text = f"one sample is expected to take {longest:.0f} s, TIMEOUT is {p.timeout_s:g} s"
            self._settled[cell.id] = (Reason("over_timeout", text, "Set TIMEOUT= higher."), "over_budget")
            return
        # Cells are settled smallest shape first: what was let in before keeps its place.
        before = [each for each in rest if self._let_in(each)]
        mine = [each for each in rest if each.cell == cell.id]
        spent = max(time.monotonic() - self._begin_s, sum(each.wall_s or 0.0 for each in self.samples))
        needed = spent + self._estimate(before + mine) + self._estimator.sample_s(cell, "pilot")
        if needed > p.budget_s:
            text = f"with it the run is expected to take {needed:.0f} s, BUDGET is {p.budget_s:g} s"
            self._settled[cell.id] = (Reason("over_budget", text, "Set BUDGET= higher."), "over_budget")

    def _let_in(self, planned: Planned) -> bool:
        return planned.cell in self._warm_calls and planned.cell not in self._settled

    def _estimate(self, planned: list[Planned]) -> float:
        return sum(self._estimator.sample_s(self._cells[each.cell], each.kind) for each in planned)

    def _plan_text(self, planned: list[Planned]) -> str:
        cells = [cell for cell in self._cells.values() if cell.id not in self._settled]
        absent = sorted({cell.target for cell in self._cells.values()} - {cell.target for cell in cells})
        todo = [each for each in planned if each.cell not in self._settled]
        kinds = {kind: sum(1 for each in todo if each.kind == kind) for kind in ("pilot", "prepared", "fresh")}
        if not cells:
            return f"plan: nothing to measure, not on this machine: {', '.join(absent)}"
        targets = ", ".join(dict.fromkeys(cell.target for cell in cells))
        text = (
            f"plan: {targets} at {', '.join(str(n) for n in self.run.plan.shapes)}: "
            f"{kinds['pilot']} pilots, {kinds['prepared']} prepared and {kinds['fresh']} fresh samples, "
            f"each its own process; about {self._estimate(todo):.0f} s (BUDGET {self.run.plan.budget_s:g} s)"
        )
        return text + (f"; not on this machine: {', '.join(absent)}" if absent else "")

    def _eta_text(self, rest: list[Planned]) -> str:
        todo = [each for each in rest if each.cell not in self._settled]
        over = [cell_id for cell_id, (_, status) in self._settled.items() if status == "over_budget"]
        text = f"pilots done: {len(todo)} samples, about {self._estimate(todo):.0f} s to go"
        return text + (f"; over budget, not measured: {', '.join(over)}" if over else "")

    def _not_run(self, planned: Planned, bar: progress.Progress) -> None:
        reason, status = self._settled[planned.cell]
        sample = sampling.not_run(planned, self._next(), status, reason, self._devices)
        self._keep(sample)
        bar.done(sample)

    def _take(self, planned: Planned, warm_calls: int | None = None, warm_s: float = 0.0) -> Sample:
        cell = self._cells.get(planned.cell)
        sample = sampling.take(self.setting, planned, cell, self._next(), warm_calls=warm_calls, warm_s=warm_s)
        self._keep(sample)
        return sample

    def _keep(self, sample: Sample) -> None:
        self.journal.append(sample)
        self.samples.append(sample)

    def _next(self) -> int:
        self._order += 1
        return self._order - 1


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


def finish(folder: Path, report: Callable[[str], None]) -> None:
    """Derive the tables of a run that has ended, and print them."""
    try:
        run, samples, notes = collect.derive(folder)
    except OSError as error:
        what = f"{folder}: the tables cannot be written: {error.strerror or error}"
        next_step = "The samples are kept: make collect derives the tables."
        raise SuiteError(Exit.CELLS_FAILED, what, next_step) from error
    report(collect.text(run, samples, notes))
