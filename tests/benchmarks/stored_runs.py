# SPDX-License-Identifier: Apache-2.0
"""How long ``collect`` and ``compare RUNS=`` take over many stored runs, and how much memory at most.

    .venv-test/bin/python -m tests.benchmarks.stored_runs [--many 1000 10000]

The runs are real examples, varied: stacks alternate, machines and what they are made of change, every time of a sample
is multiplied by a factor of its own, every warm call by another. Each has two targets at n = 50, three samples a cell,
and 1,000 warm calls in all. The commands run as processes of their own; the peak is the kernel's. Where CPU
seconds are far below those of the wall, the machine was busy. "again" is collect once more over the same tree, when
nothing is to be written.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from suite.stack import ROOT
from tests.peaks import Ran, ran

EXAMPLES = {
    "bench-tf1.14-cuda10": ("CPU.device.50", "XLA_CPU.device.50"),
    "bench-tf2.21-cuda12": ("CPU.device.50", "XLA_CPU.jit.50"),
}
#: Warm calls of a sample by its kind: 2 cells x (3 x 150 + 50) = 1,000 a run.
CALLS = {"prepared": 150, "pilot": 50}
MACHINES = ("AMD EPYC", "Intel Xeon", "AMD Ryzen 7 5800X")
#: Times of a sample's own, beside those of its warm series and phases.
TIMES = ("cold_s", "first_result_s", "question_clock_s", "wall_s", "worker_wall_s", "untimed_s", "cpu_s")
FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Example:
    """A stored run, cut down to some of its cells."""

    run: dict[str, Any]
    samples: list[dict[str, Any]]


def read(name: str, cells: Sequence[str]) -> Example:
    """Read an example and keep the probe and these cells."""
    folder = ROOT / "results" / "examples" / name
    run = msgspec.json.decode((folder / "run.json").read_bytes())
    plan = run["plan"]
    plan["cells"] = [each for each in plan["cells"] if each["id"] in cells]
    plan["planned"] = [each for each in plan["planned"] if each["cell"] in ("", *cells)]
    plan["targets"], plan["shapes"] = ["CPU", "XLA_CPU"], [50]
    samples = [msgspec.json.decode(line) for line in (folder / "samples.jsonl").read_bytes().splitlines()]
    return Example(run, [each for each in samples if each["cell"] in ("", *cells)])


def make(tree: Path, many: int, seed: int = 1) -> None:
    """Write ``many`` runs below ``tree``, the same for the same seed."""
    examples = [read(name, cells) for name, cells in EXAMPLES.items()]
    chance = random.Random(seed)
    for number in range(many):
        example = examples[number % len(examples)]
        at = FIRST + timedelta(minutes=17 * number)
        run = _run(example.run, number, at)
        folder = tree / run["stack"]["name"] / run["run_id"]
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes(msgspec.json.encode(run))
        lines = [msgspec.json.encode(_sample(each, chance)) for each in example.samples]
        (folder / "samples.jsonl").write_bytes(b"\n".join(lines) + b"\n")


def _run(run: dict[str, Any], number: int, at: datetime) -> dict[str, Any]:
    machine = MACHINES[number // 2 % len(MACHINES)]
    kernel = f"6.{number // 200}.0"
    return {
        **run,
        "run_id": f"{at:%Y%m%dT%H%M%SZ}-{number:06x}",
        "created_utc": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "host": {**run["host"], "cpu_model": machine, "kernel": kernel},
    }


def _sample(sample: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    factor = chance.lognormvariate(0.0, 0.1)
    out = {**sample, **{name: _times(sample[name], factor) for name in TIMES}}
    out["phases"] = [
        {**each, "begin_s": each["begin_s"] * factor, "end_s": each["end_s"] * factor} for each in sample["phases"]
    ]
    if sample["warm"]:
        calls = sample["warm"]["calls_s"][: CALLS[sample["kind"]]]
        calls = [value * factor * chance.lognormvariate(0.0, 0.02) for value in calls]
        out["warm"] = {**sample["warm"], "calls_s": calls, "outer_s": sum(calls) * 1.01}
    return out


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def took(arguments: Sequence[str]) -> Ran:
    """Run ``python -m suite`` and return what it took."""
    return ran([sys.executable, "-m", "suite", *arguments], str(ROOT))


def measured(tree: Path, kept: Path) -> Iterator[tuple[str, Ran]]:
    """Yield what each command takes over a tree."""
    cell = "CPU.device.50"
    yield "collect", took(["collect", str(tree)])
    yield "collect again", took(["collect", str(tree)])
    yield f"collect CELL={cell}", took(["collect", str(tree), "--cell", cell])
    yield "compare RUNS=", took(["compare", "--runs", str(tree / "tf1.14-cuda10"), "--out", str(kept)])
    yield "compare RUNS= (both stacks)", took(["compare", "--runs", str(tree), "--out", str(kept)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", type=int, nargs="+", default=[1000], help="numbers of runs (default: 1000)")
    parser.add_argument(
        "--folder", type=Path, default=None, help="where to make them (default: a temporary folder)"
    )
    given = parser.parse_args()
    for many in given.many:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            tree = Path(folder) / "results"
            make(tree, many)
            size = sum(path.stat().st_size for path in tree.rglob("*.json*"))
            print(f"{many} runs, {many * 1000} warm calls, {size / 1e6:.0f} MB", flush=True)
            for what, it in measured(tree, Path(folder) / "kept"):
                print(
                    f"  {what:28} {it.wall_s:6.2f} s  (CPU {it.cpu_s:5.2f} s)  {it.peak_mb:5.0f} MB  exit {it.code}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
