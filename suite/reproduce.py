# SPDX-License-Identifier: Apache-2.0
"""The reproduce protocol: the question's snippet as it was, whole processes of it, and what of it fits."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import msgspec
import psutil

from suite import pairs, progress, sampling
from suite.errors import SuiteError
from suite.exits import Exit, first_that_applies
from suite.journal import Journal
from suite.question import question
from suite.records import PASSES, Cell, Pair, Planned, Run, Sample
from suite.sampling import Setting
from suite.watch import Watch

#: As the question asked them, and beside them the answer it got and what a machine without a GPU has.
TARGETS = ("CPU", "XLA_GPU", "GPU", "XLA_CPU")

#: Share of the CPU's FLOP/s ceiling that the snippet reaches: a guess, used before anything was run.
ASSUMED_SHARE = 0.25
#: FLOP/s of a GPU, and how many matmuls its first pass costs on an XLA device: those of the question's card.
ASSUMED_GPU_FLOPS = 1.2e12
FIRST_PASS_MATMULS = 18
#: Seconds of a pair that do not grow, and seconds for each random number.
PAIR_S = 0.1
ELEMENT_S = 2e-8
#: Matrices of a pair that are in memory at once.
MATRICES = 3
#: What the process itself takes beyond its pairs, and how far over BUDGET a pair that was let in may end.
GRACE_S = 60.0


@dataclass
class Reproduce:
    """One run of the reproduce protocol."""

    run: Run
    setting: Setting
    journal: Journal
    watch: Watch

    def __post_init__(self) -> None:
        self.samples: list[Sample] = []
        self._begin_s = time.monotonic()

    def measure(self) -> None:
        """Run the snippet in as many processes as planned, or stop where the watch trips."""
        probe, *repeats = self.run.plan.planned
        if not self._probe(probe):
            return
        devices = self.samples[0].devices
        let_in, left_out = self._choose(devices, len(repeats))
        self._say_plan(let_in, left_out, len(repeats))
        with progress.Progress(len(repeats)) as bar:
            for number, planned in enumerate(repeats):
                if self.watch.tripped():
                    return
                left_s = self._left_s() / (len(repeats) - number)
                setting = dataclasses.replace(self.setting, timeout_s=left_s + GRACE_S)
                more = {
                    "pairs": [[cell.device, cell.n] for cell in let_in],
                    "until_s": time.monotonic() + left_s,
                    "on_gpu": next((c.device for c in let_in if "GPU" in c.device and c.device in devices), ""),
                }
                sample = sampling.take(setting, planned, None, number + 1, more=more)
                not_run = [
                    Pair(which, cell.device, cell.n, "over_budget", reason=why)  # type: ignore[arg-type]
                    for cell, why in left_out
                    for which in PASSES
                ]
                sample = msgspec.structs.replace(sample, pairs=[*sample.pairs, *not_run])
                self.journal.append(sample)
                self.samples.append(sample)
                bar.done(sample)

    def _probe(self, planned: Planned) -> bool:
        sample = sampling.take(self.setting, planned, None, 0)
        self.journal.append(sample)
        self.samples.append(sample)
        if sample.status == "interrupted":
            return False
        if sample.status != "ok" or not sample.devices:
            reason = sample.reason.text if sample.reason else "the framework lists no device at all"
            detail = (self.setting.raw / planned.id / "stderr.txt").read_text(errors="replace")[-3000:]
            raise SuiteError(Exit.NOT_PREPARED, f"the stack does not start: {reason}", "", detail)
        return True

    def _choose(self, devices: list[str], repeats: int) -> tuple[list[Cell], list[tuple[Cell, str]]]:
        """Return the cells to run, in the plan's order, and those that do not fit, each with the reason.

        Small sizes first: what is left of BUDGET decides about the next. Absent devices cost nothing; the
        snippet itself says that they are not there.
        """
        left_s = self._left_s()
        fits, left_out = set(), []
        for cell in sorted(self.run.plan.cells, key=lambda each: each.n):
            needed = self._foreseen_s(cell) * repeats if cell.device in devices else 0.0
            memory, free = MATRICES * 4 * cell.n**2, self._memory_bytes(cell)
            if cell.device in devices and memory > free:
                there = "the GPU has" if "GPU" in cell.device else "free are"
                left_out.append((cell, f"needs {memory / 1e9:.1f} GB of memory, {there} {free / 1e9:.1f}"))
            elif needed > left_s:
                text = f"about {needed:.0f} s, and {left_s:.0f} s are left of BUDGET={self.run.plan.budget_s:g}"
                left_out.append((cell, text))
            else:
                left_s -= needed
                fits.add(cell.id)
        return [cell for cell in self.run.plan.cells if cell.id in fits], left_out

    def _foreseen_s(self, cell: Cell) -> float:
        """Return the seconds of both passes of one cell, from figures assumed above."""
        on_gpu = "GPU" in cell.device
        rate = self._gpu_flops() if on_gpu else ASSUMED_SHARE * self.setting.ceiling_flops
        matmul = 2.0 * cell.n**3 / rate
        first = matmul * (FIRST_PASS_MATMULS if cell.target == "XLA_GPU" else 1)
        return first + matmul + 2 * (PAIR_S + ELEMENT_S * cell.n**2)

    def _gpu_flops(self) -> float:
        """Return the FLOP/s that a GPU is assumed to reach: the question's, or a share of the watched one's ceiling."""
        watched = self.setting.watched
        if watched is None or not watched.static:
            return ASSUMED_GPU_FLOPS
        return max(ASSUMED_GPU_FLOPS, ASSUMED_SHARE * watched.ceiling_flops("ieee"))

    def _memory_bytes(self, cell: Cell) -> int:
        """Return the memory that a cell's matrices can have: of its GPU, where that is known, else of the machine."""
        watched = self.setting.watched
        if "GPU" in cell.device and watched is not None and watched.static.get("memory_total_bytes"):
            return int(watched.static["memory_total_bytes"])
        return psutil.virtual_memory().available

    def _left_s(self) -> float:
        return self.run.plan.budget_s - (time.monotonic() - self._begin_s)

    def _say_plan(self, let_in: list[Cell], left_out: list[tuple[Cell, str]], repeats: int) -> None:
        present = self.samples[0].devices
        here = [cell for cell in let_in if cell.device in present]
        seconds = sum(self._foreseen_s(cell) for cell in here) * repeats
        targets = ", ".join(dict.fromkeys(cell.target for cell in here)) or "nothing"
        shapes = ", ".join(str(n) for n in sorted({cell.n for cell in here}))
        absent = list(dict.fromkeys(cell.target for cell in self.run.plan.cells if cell.device not in present))
        text = (
            f"plan: the snippet on {targets} at {shapes}, then all of it again; {repeats} process"
            f"{'es' if repeats > 1 else ''}, about {seconds:.0f} s (BUDGET {self.run.plan.budget_s:g} s)"
        )
        if absent:
            text += f"; not on this machine: {', '.join(absent)}"
        if left_out:
            text += f"; over budget: {', '.join(f'{cell.target} {cell.n}' for cell, _ in left_out)}"
        progress.say(text)


def verdict(run: Run, samples: list[Sample], interrupted: bool) -> Exit:
    """Return the exit code: a verdict is none, a target asked for by name that is not there is one."""
    found = [Exit.INTERRUPTED] if interrupted else []
    for row in pairs.rows(run, samples, question()):
        if row.status == "unavailable":
            if row.cell.target in run.plan.asked_by_name:
                found.append(Exit.IMPOSSIBLE)
        elif row.status not in ("ok", "over_budget"):
            found.append(Exit.CELLS_FAILED)
    return first_that_applies(found)
