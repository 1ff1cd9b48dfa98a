# SPDX-License-Identifier: Apache-2.0
"""How much of a sample's wall time belongs to no phase, and whether the parent's wait agrees with the worker's end.

    python -m tests.benchmarks.untimed --stack tf1.14-cuda10 tf2.21-cuda12 --samples 10

The environments must be made. Fresh and prepared samples of every placement, interleaved, with the local engine.
Allowed is 1 % of the wall time and 20 ms: to ``untimed`` in every sample, and, in the median, to what the parent waited
after the worker's last word. In that wait the process ends: the kernel takes its memory back, which is in phase
``teardown`` and takes longer where neighbours want the CPUs; so its largest is shown and not judged.

Exit code: 0 where that holds for every row, 1 where not, 4 without an environment, 5 where a sample failed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from suite import environment, stack
from suite.records import Sample
from tests.integration.harness import Taker

SHARE = 0.01
CONSTANT_S = 0.02


@dataclass
class Row:
    """Samples of one kind and placement."""

    taker: Taker
    target: str
    placement: str
    kind: str
    walls: list[float] = field(default_factory=list)
    untimed: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.taker.stack.name:<14} {self.target:<8} {self.placement:<6} {self.kind:<8}"

    def add(self, n: int) -> Sample:
        """Take one more sample."""
        sample = self.taker.take(self.target, n, placement=self.placement, kind=self.kind)
        if sample.status == "ok":
            assert sample.wall_s is not None and sample.worker_wall_s is not None and sample.untimed_s is not None
            self.walls.append(sample.wall_s)
            self.untimed.append(sample.untimed_s)
            self.waited.append(sample.wall_s - sample.worker_wall_s)
        return sample

    def shown(self) -> str:
        """Return the row's line: times in milliseconds, shares of the wall time in percent."""
        out = [f"{self.title} {len(self.walls):>3} {statistics.median(self.walls):>7.2f}"]
        for values in (self.untimed, self.waited):
            share = max(value / wall for value, wall in zip(values, self.walls, strict=True))
            out.append(f"{_ms(statistics.median(values))} {_ms(max(values))} {100 * share:>6.2f}")
        return "  ".join([*out, _ms(-self.above()), "yes" if self.holds() else "NO"])

    def above(self) -> float:
        """Return by how many seconds a row is above what is allowed; below 0 where it is not."""
        return max(max(self._above(self.untimed)), statistics.median(self._above(self.waited)))

    def holds(self) -> bool:
        """Tell whether the row is within what is allowed."""
        return self.above() <= 0

    def _above(self, values: list[float]) -> list[float]:
        return [value - SHARE * wall - CONSTANT_S for value, wall in zip(values, self.walls, strict=True)]


def main() -> int:
    """Take the samples and print a line a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", nargs="+", default=stack.names(), choices=stack.names())
    parser.add_argument("--target", nargs="+", default=["CPU", "XLA_CPU"], choices=stack.TARGETS)
    parser.add_argument("--samples", type=int, default=10, help="of each kind and placement (10)")
    parser.add_argument("--n", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="untimed-") as scratch:
        rows = []
        for name in given.stack:
            taker = _taker(name, Path(scratch) / name)
            if taker is None:
                print(f"{name}: its environment is not made yet: make bench STACK={name}", file=sys.stderr)
                return 4
            rows += [
                Row(taker, target, how.placement, kind)
                for target in given.target
                for how in taker.stack.realisations(target)
                for kind in ("fresh", "prepared")
            ]
        for _ in range(given.samples):
            for row in rows:
                sample = row.add(given.n)
                if sample.status != "ok":
                    print(f"{row.title}: {sample.status}: {sample.reason}", file=sys.stderr)
                    return 5
    print(f"n = {given.n}; wall: median in s; times in ms, shares in % of the same sample's wall time")
    print(f"{'':<40}{'':<12}  {'untimed':<24} {'wait after the last word':<25}")
    print(f"{'stack':<14} {'target':<8} {'placed':<6} {'kind':<8} {'K':>3} {'wall':>7}", end="")
    print(2 * f"  {'median':>8} {'largest':>8} {'share':>6}", f" {'to spare':>8}  holds")
    for row in rows:
        print(row.shown())
    holds = all(row.holds() for row in rows)
    print(f"{'within' if holds else 'NOT within'} {100 * SHARE:g} % of wall + {1000 * CONSTANT_S:g} ms")
    return 0 if holds else 1


def _taker(name: str, folder: Path) -> Taker | None:
    """Return what takes samples of a stack; None where its environment is not made."""
    chosen = stack.load(name)
    minor, wheels = chosen.definition.python.default, environment.wheels_for(chosen)
    made = environment.find_made(chosen, minor, environ=os.environ, wheels=wheels)
    return None if made is None else Taker(made.python, folder, chosen)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:>8.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
