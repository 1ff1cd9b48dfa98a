# SPDX-License-Identifier: Apache-2.0
"""Comparisons of synthetic stacks: each with its own distributions, measured by all of the tool, nothing sleeps."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from suite import compare, journal, measure, ready, words
from suite.compare_rows import Compared, Judged
from suite.exits import Exit
from suite.ready import Ready
from suite.stack import STACKS
from suite.words import Words
from tests.synthetic import RECORDING, STACK, Model, Synthetic, lognormal, made_ready, noisy

OLD, NEW, LATER = "tf1.14-cuda10", "tf2.98-new", "tf2.99-later"
CPU = "CPU.device.50"


def model(cold_s: float = 0.05, warm_s: float = 1e-3, spread: float = 0.03) -> Model:
    """Return a cell whose processes differ by ``spread``, on logs."""
    return Model(lognormal(cold_s, spread), noisy(lognormal(warm_s, spread)))


def stacks(folder: Path) -> Path:
    """Make three stacks that differ in name and version alone; return their folder."""
    for name, version in ((OLD, "1.14.0"), (NEW, "2.98.0"), (LATER, "2.99.0")):
        shutil.copytree(STACKS / STACK, folder / name)
        path = folder / name / "stack.toml"
        text = path.read_text(encoding="utf-8")
        assert text.count('version = "1.14.0"') == 1
        text = text.replace(f'name = "{STACK}"', f'name = "{name}"').replace('"1.14.0"', f'"{version}"')
        path.write_text(text, encoding="utf-8")
    return folder


@contextlib.contextmanager
def played(by_stack: Mapping[str, Synthetic]) -> Iterator[None]:
    """Let each stack within the block be measured by its own synthetic worker, another one by the default."""
    make = ready.make_ready

    def make_synthetic(asked: Words, *args: Any, **given: Any) -> Ready:
        made = make(asked, *args, **given)
        return made_ready(made, by_stack.get(asked.stack) or Synthetic({CPU: model()}))

    with mock.patch.object(ready, "make_ready", make_synthetic):
        yield


@dataclass(frozen=True)
class Ended:
    """A compare that has ended: its exit code, folder, what it printed and what it says."""

    code: Exit
    folder: Path
    text: str
    compared: Compared

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    def judged(self, arm: str, quantity: str, cell: str = CPU) -> Judged:
        [found] = [
            each
            for each in self.compared.judged
            if (each.arm, each.quantity, each.b.cell.id) == (arm, quantity, cell)
        ]
        return found


def together(out: Path, folder: Path, by_stack: Mapping[str, Synthetic], **given: str) -> Ended:
    """Measure stacks interleaved: OLD and NEW, where ``given`` names no others."""
    asked = {"stacks": f"{OLD} {NEW}", "targets": "CPU", "shapes": "50", "samples": "10", **given}
    printed: list[str] = []
    with played(by_stack):
        code, kept = compare.run(
            {**asked, "out": str(out)}, {}, ["compare"], printed.append, recording=RECORDING, stacks=folder
        )
    return Ended(code, kept, "".join(printed), compare.derive(kept)[1])


def bench(out: Path, folder: Path, name: str, synthetic: Synthetic, **given: str) -> Path:
    """Measure one stack by itself; return its run's folder."""
    asked = {"stack": name, "targets": "CPU", "shapes": "50", "samples": "10", "out": str(out), **given}
    with played({name: synthetic}):
        _, kept = measure.run(
            words.parse(asked), {}, ["bench"], lambda text: None, recording=RECORDING, stacks=folder
        )
    return kept


def stored(out: Path, *runs: Path, **given: str) -> Ended:
    """Compare stored runs."""
    asked = {"runs": " ".join(map(str, runs)), "out": str(out), **given}
    printed: list[str] = []
    code, kept = compare.run(asked, {}, ["compare"], printed.append)
    return Ended(code, kept, "".join(printed), compare.derive(kept)[1])


SLOWER_COLD = model(cold_s=0.10)


def three_stacks(out: Path, folder: Path) -> Ended:
    """Measure three stacks interleaved: NEW has twice the cold time of OLD, LATER a tenth of its warm time."""
    by_stack = {
        OLD: Synthetic({CPU: model()}, seed=1),
        NEW: Synthetic({CPU: SLOWER_COLD}, seed=2),
        LATER: Synthetic({CPU: model(warm_s=1e-4)}, seed=3),
    }
    return together(out, folder, by_stack, stacks=f"{OLD} {NEW} {LATER}")


def three_runs(out: Path, folder: Path) -> tuple[Path, Path, Path]:
    """Measure OLD, NEW, which takes twice as long cold, and OLD again, each by itself."""
    return (
        bench(out, folder, OLD, Synthetic({CPU: model()}, seed=1)),
        bench(out, folder, NEW, Synthetic({CPU: SLOWER_COLD}, seed=2)),
        bench(out, folder, OLD, Synthetic({CPU: model()}, seed=3)),
    )


def copied(run: Path, to: Path, change: Callable[[dict[str, Any]], None], run_id: str = "") -> Path:
    """Copy a run, its run.json changed, as another run."""
    shutil.copytree(run, to)
    path = to / journal.RUN
    fields = json.loads(path.read_text(encoding="utf-8"))
    # Runs that began in one second must not share it.
    fields["run_id"] = run_id or fields["run_id"][:-6] + hashlib.sha256(bytes(to)).hexdigest()[:6]
    change(fields)
    path.write_text(json.dumps(fields), encoding="utf-8")
    return to


def change_samples(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change every sample of a run."""
    path = run / journal.SAMPLES
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for each in lines:
        change(each)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
