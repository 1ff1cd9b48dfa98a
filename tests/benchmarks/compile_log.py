# SPDX-License-Identifier: Apache-2.0
"""Hold the compile times that a framework logs beside the phases in which it logs them, which know nothing of the log.

    python -m tests.benchmarks.compile_log --stack tf1.14-cuda10 tf2.21-cuda12 --samples 10 --shapes 50,500,2000

The environments must be made. Prepared samples of every way to XLA_CPU, interleaved, with the local engine. A cold call
pays, beyond one warm call's time, ``first_execution`` - warm; where compiling is all of that, the log agrees with it
within 10 %. What is not in the log is shown in parts, which add up to it: each line of the log has the moment at which
it was written, the end of its compile, and so a first execution has

- *before*: from its begin to the begin of the compile. Of this *grappler*, TensorFlow's optimiser of graphs, by the
  moments of its own log in ``--split`` further samples of each cell, which log more; the remainder is what a
  Session does with new nodes (they are handed over, placed, clustered, made into executors), or a function's launch;
- *compile*: as logged. By the clock of the log: in the samples that log more, the same compile from the moment of
  XLA's first line to that of the line with its time; *by moments* is logged / that, and does not rest on the time told;
- *after*: from its end to the scalar on the host, less a warm call: what the first run of the program takes longer.

``build``, an earlier phase of cold, is shown beside them: in it nothing is compiled.

Exit code: 0 where all agree, 1 where one does not, 6 where an interval does not tell, 4 without an environment, 5 where
a sample failed or a cold call's log is not of exactly one compile.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite import environment, stack, stats
from suite.records import Sample
from tests.integration.harness import Taker, plant

WITHIN = (0.9, 1.1)
TARGET = "XLA_CPU"
#: A line's moment: of TensorFlow's own logging (the worker's time zone is UTC), and of absl's.
STAMPED = re.compile(
    rb"^(?:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+): |[IWE]\d{4} \d\d:\d\d:(\d+\.\d+) )", re.MULTILINE
)
#: In the same environment, before the framework is loaded.
TELL_MORE = "import os\nos.environ['TF_CPP_VMODULE'] += ',meta_optimizer=1,xla_compiler=1'"
GRAPPLER = b"meta_optimizer.cc"
XLA = b"xla_compiler.cc"


class Unusable(Exception):
    """A sample from which the parts cannot be told."""


@dataclass(frozen=True)
class Parts:
    """What a cold call paid, in seconds.

    ``grappler`` is part of ``before``; ``moments``: the compile by the moments of two lines. Both are only told by
    samples that log more.
    """

    build: float
    before: float
    grappler: float | None
    compile: float
    moments: float | None
    after: float
    warm: float

    @property
    def beyond(self) -> float:
        """Return what the first execution took beyond a warm call."""
        return self.before + self.compile + self.after - self.warm


@dataclass
class Row:
    """Samples of one placement and size."""

    taker: Taker
    placement: str
    n: int
    honest: list[Parts] = field(default_factory=list)
    split: list[Parts] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.taker.stack.name:<14} {self.placement:<6} {self.n:>5}"

    def add(self, worker: Path | None) -> None:
        """Take one more sample; with a worker that logs more, one for the split."""
        more = {} if worker is None else {"worker": worker}
        sample = self.taker.take(TARGET, self.n, placement=self.placement, **more)  # type: ignore[arg-type]
        # Both clocks run alike within a sample's seconds; the log has the one, phases the other.
        offset_s = time.time() - time.monotonic()
        (self.honest if worker is None else self.split).append(_parts(self.taker, sample, offset_s))

    def ratio(self) -> stats.Estimate | None:
        """Return logged / paid beyond a warm call; None where a first execution took no longer than that."""
        if any(each.beyond <= 0 for each in self.honest):
            return None
        return stats.ratio([each.compile for each in self.honest], [each.beyond for each in self.honest])

    def agrees(self) -> str:
        """Tell whether the interval lies within 10 %, outside of that, or on both sides."""
        ratio = self.ratio()
        if ratio is None or ratio.low is None or ratio.high is None:
            return "not told"
        if WITHIN[0] <= ratio.low and ratio.high <= WITHIN[1]:
            return "yes"
        return "NO" if ratio.high < WITHIN[0] or ratio.low > WITHIN[1] else "not told"

    def shown(self) -> str:
        """Return the row's line: medians, in milliseconds."""
        ratio = self.ratio()
        told = "-" if ratio is None else f"{ratio.centre:.3f}"
        if ratio is not None and ratio.low is not None:
            told += f" [{ratio.low:.3f}, {ratio.high:.3f}]"
        grappler = [each.grappler for each in self.split if each.grappler is not None]
        moments = [each.compile / each.moments for each in self.split if each.moments]
        first = [each.beyond + each.warm for each in self.honest]
        return (
            f"{self.title} {len(self.honest):>3} {_ms([each.warm for each in self.honest]):>8} {_ms(first):>8}"
            f" {_ms([each.beyond for each in self.honest]):>8} {_ms([each.compile for each in self.honest]):>8}"
            f"  {told:<21} {self.agrees():<8} {_ms([each.before for each in self.honest]):>8} {_ms(grappler):>8}"
            f" {_ms([each.after - each.warm for each in self.honest]):>8}"
            f" {_ms([each.build for each in self.honest]):>8}"
            f"  {f'{statistics.median(moments):.3f}' if moments else '-'}"
        )


def main() -> int:
    """Take the samples and print a line a cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", nargs="+", default=stack.names(), choices=stack.names())
    parser.add_argument("--samples", type=int, default=10, help="of each cell (10)")
    parser.add_argument("--split", type=int, default=3, help="of each cell that log more (3)")
    parser.add_argument("--shapes", type=_shapes, default=[50, 500, 2000])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="compile-log-") as scratch:
        rows = []
        for name in given.stack:
            chosen = stack.load(name)
            minor, wheels = chosen.definition.python.default, environment.wheels_for(chosen)
            made = environment.find_made(chosen, minor, environ=os.environ, wheels=wheels)
            if made is None:
                print(f"{name}: its environment is not made yet: make bench STACK={name}", file=sys.stderr)
                return 4
            if chosen.definition.compile_log is None:
                print(f"{name}: logs no compiles", file=sys.stderr)
                continue
            taker = Taker(made.python, Path(scratch) / name, chosen)
            rows += [Row(taker, how.placement, n) for how in chosen.realisations(TARGET) for n in given.shapes]
        teller = plant(Path(scratch) / "teller", TELL_MORE)
        try:
            for worker in [None] * given.samples + [teller] * given.split:
                for row in rows:
                    row.add(worker)
        except Unusable as error:
            print(f"{row.title}: {error}", file=sys.stderr)
            return 5
    print(f"{TARGET}; medians in ms; beyond = first execution - warm = before + compile + after")
    print(
        f"{'stack':<14} {'placed':<6} {'n':>5} {'K':>3} {'warm':>8} {'first':>8} {'beyond':>8} {'compile':>8}",
        end="",
    )
    print(
        f"  {'compile / beyond':<21} {'agrees':<8} {'before':>8} {'grappler':>8} {'after':>8} {'build':>8}  by moments"
    )
    for row in rows:
        print(row.shown())
    agree = {row.agrees() for row in rows}
    print("agrees: is the whole interval within 10 % of 1 (yes), outside (NO), or both (not told)?")
    return 1 if "NO" in agree else 6 if "not told" in agree else 0


def _parts(taker: Taker, sample: Sample, offset_s: float) -> Parts:
    """Take one sample's cold call apart; ``offset_s``: its log's clock less that of its phases."""
    if sample.status != "ok" or sample.warm is None:
        raise Unusable(f"{sample.status}: {sample.reason}")
    log = taker.stack.definition.compile_log
    assert log is not None
    phases: dict[str, dict[str, Any]] = {}  # the first of each name
    for line in taker.raw(sample, "events.jsonl").splitlines():
        event = json.loads(line)
        if event["event"] == "phase":
            phases.setdefault(event["name"], event)
    first, build = phases["first_execution"], phases["build"]
    said = (taker.folder / sample.id / "stderr.txt").read_bytes()[slice(*first["stderr_bytes"])]
    compiles = [
        (stamp, float(match.group(1)) * log.seconds)
        for stamp, line in _stamped(said)
        if (match := re.search(log.pattern.encode(), line))
    ]
    if len(compiles) != 1:
        raise Unusable(f"{len(compiles)} compiles were logged in first_execution, one was expected")
    [(ended, took)] = compiles
    begin, end = first["begin_s"] + offset_s, first["end_s"] + offset_s
    optimised = [stamp for stamp, line in _stamped(said) if GRAPPLER in line and stamp < ended - took]
    compiling = [stamp for stamp, line in _stamped(said) if XLA in line and stamp < ended]
    return Parts(
        build=build["end_s"] - build["begin_s"],
        before=ended - took - begin,
        grappler=max(optimised) - min(optimised) if optimised else None,
        compile=took,
        moments=ended - min(compiling) if compiling else None,
        after=end - ended,
        warm=statistics.median(sample.warm.calls_s),
    )


def _stamped(said: bytes) -> list[tuple[float, bytes]]:
    """Return each line of a log that has a moment, with it, in seconds since the epoch."""
    found = []
    for line in said.splitlines():
        match = STAMPED.match(line)
        if match and match.group(1):
            moment = datetime.strptime(match.group(1).decode(), "%Y-%m-%d %H:%M:%S.%f")
            found.append((moment.replace(tzinfo=timezone.utc).timestamp(), line))
        elif match:
            found.append((float(match.group(2)), line))
    return found


def _shapes(text: str) -> list[int]:
    return [int(each) for each in text.replace(",", " ").split()]


def _ms(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.2f}" if seconds else "-"


if __name__ == "__main__":
    raise SystemExit(main())
