# SPDX-License-Identifier: Apache-2.0
"""What clocking each warm call costs: clocked calls beside blocks of the same calls with one clock around each block.

    python -m tests.benchmarks.overhead --stack tf1.14-cuda10 tf2.21-cuda12 --processes 5 --shapes 50,500,2000

The environments must be made. Every process of a placement opens the worker's adapter as a sample does and, for each
size, takes groups of four blocks in ABBA and BAAB order. *Clocked*: ``series.measure`` of so many calls, the mean of
its ``calls_s``: warm is the median of these very numbers, and of what can be made of them only their mean can be held
beside a block, which knows a mean alone. *Bare*: the same calls in a loop, and the whole loop one "call" of
``series.measure``, so that what surrounds both is the same: a drain before, the collector off. (Its run before each
block is left out here, in both: it takes as long as a block, and blocks must alternate quickly.) A process gives one
value, the median over its groups of clocked / bare; the interval is that of the geometric mean over processes. About
25 minutes for both stacks; the bound of 0.5 % needs an idle machine.

A negative overhead: the single clocks miss time that the block has, such as the loop's own.

Beside it pyperf's mean of the same call, where the stack's Python can run pyperf: installed into a scratch folder, at
most 3 processes, each with its own import, collector off as here. ``--pyperf 0`` leaves it out.

Exit code: 0 where every upper bound holds, 1 where one does not, 4 without an environment, 5 where a process failed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite import environment, stack, stats
from suite.engines import WORKER
from suite.worker_env import clean_environment

#: Upper bound of the overhead: from which n on, and the share.
GOALS = ((500, 0.005), (0, 0.02))
#: pyperf's oldest Python; its processes each import the framework.
PYPERF_PYTHON = (3, 9)
PYPERF_PROCESSES = 3

#: Runs in the stack's own Python, with the worker's modules. One line of JSON a size.
OPEN = """
import gc, json, os, sys
def opened(request):
    sys.path.insert(0, request["worker"])
    request["modules_folder"] = "modules-%d" % os.getpid()
    import sample
    adapter = __import__(request["adapter"]).Adapter(request, 9)
    adapter.import_framework()
    adapter.open()
    sample._prepare(adapter, 50, 1, "float32")
    return adapter

def warmed_up(adapter, n, seconds):
    import clock, matmul
    adapter.place(matmul.operand(n, 1, "float32"))
    adapter.build()
    adapter.execute()
    times, until = [], clock.now() + seconds
    while len(times) < 5 or clock.now() < until:
        before = clock.now()
        adapter.execute()
        times.append(clock.now() - before)
    return sorted(times)[len(times) // 2]
"""
BLOCKS = (
    OPEN
    + """
class Block(object):
    def __init__(self, adapter, calls):
        self.drain, self._execute, self._calls = adapter.drain, adapter.execute, range(calls)

    def execute(self):
        execute = self._execute
        for _ in self._calls:
            execute()

request = json.loads(sys.argv[1])
adapter = opened(request)
import clock, series
collect = gc.collect
gc.collect = lambda: 0
for n in request["shapes"]:
    call_s = warmed_up(adapter, n, request["warm_up_s"])
    collect()
    calls = max(3, int(request["block_s"] / call_s))
    block = Block(adapter, calls)
    def clocked():
        return sum(series.measure(adapter, calls, 0.0)["calls_s"]) / calls
    def bare():
        return series.measure(block, 1, 0.0)["calls_s"][0] / calls
    before = clock.now()
    clocked(), bare()
    took = clock.now() - before
    groups = []
    for number in range(max(25, min(1000, int(request["seconds"] / (2 * took))))):
        order = [clocked, bare, bare, clocked]
        if number % 2:
            order = [bare, clocked, clocked, bare]
        found = {clocked: 0.0, bare: 0.0}
        for each in order:
            found[each] += each() / 2
        groups.append([found[clocked], found[bare]])
    print(json.dumps({"n": n, "calls": calls, "groups": groups}), flush=True)
"""
)
PYPERF = (
    OPEN
    + """
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "packages"))
import pyperf
with open(os.path.join(here, "request.json")) as file:
    request = json.load(file)
runner = pyperf.Runner()
execute = None
if runner.parse_args().worker:
    adapter = opened(request)
    warmed_up(adapter, request["n"], request["warm_up_s"])
    gc.disable()
    execute = adapter.execute
found = runner.bench_func("execute", execute)
if not runner.args.worker:
    with open(os.path.join(here, "found.json"), "w") as file:
        json.dump({"mean": found.mean(), "median": found.median(), "stdev": found.stdev()}, file)
"""
)


@dataclass(frozen=True)
class Place:
    """One placement of one stack, and what its processes need."""

    of: stack.Stack
    how: stack.Realisation
    python: Path
    python_version: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.of.name:<14} {self.how.target:<8} {self.how.placement:<6}"

    def request(self) -> dict[str, Any]:
        """Return what the worker's adapter must be told."""
        return {
            "worker": str(WORKER),
            "adapter": self.how.adapter or self.of.definition.adapter,
            "device": self.how.device,
            "placement": self.how.placement,
            "precision": "default",
        }

    def environ(self, home: Path) -> dict[str, str]:
        """Return a worker's environment."""
        extra = {**self.of.definition.environment, **self.how.environment, "PYTHONDONTWRITEBYTECODE": "1"}
        return clean_environment(os.environ, home, extra)


@dataclass(frozen=True)
class Found:
    """What one process found at one size: medians over its groups of blocks, times a call in seconds."""

    ratio: float
    clocked_s: float
    bare_s: float
    spread: float
    """Standard deviation of the groups' logs: how restless the machine was."""
    calls: int
    groups: int


def main() -> int:
    """Measure, print a table, tell whether every upper bound holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", nargs="+", default=stack.names(), choices=stack.names())
    parser.add_argument("--target", nargs="+", default=["CPU", "XLA_CPU"], choices=stack.TARGETS)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--shapes", type=_shapes, default=[50, 500, 2000])
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of blocks a process and size, at least 25 groups (10)"
    )
    parser.add_argument("--block-seconds", type=float, default=0.02, help="a block, at least 3 calls (0.02)")
    parser.add_argument("--pyperf", type=int, default=PYPERF_PROCESSES, help="its processes a size (3)")
    given = parser.parse_args()
    places = []
    for name in given.stack:
        found = _places(name, given.target)
        if not found:
            print(f"{name}: its environment is not made yet: make bench STACK={name}", file=sys.stderr)
            return 4
        places += found
    scratch = Path(tempfile.mkdtemp(prefix="overhead-"))
    try:
        return _measure(places, given, scratch)
    except subprocess.CalledProcessError as error:
        said = (scratch / "stderr.txt").read_text(encoding="utf-8", errors="replace")
        print(f"{said[-2000:]}\na process failed: exit code {error.returncode}", file=sys.stderr)
        return 5
    finally:
        shutil.rmtree(scratch)


def _measure(places: list[Place], given: argparse.Namespace, scratch: Path) -> int:
    found: dict[tuple[str, int], list[Found]] = {}
    for process in range(given.processes):  # placements alternate, so that a drift of the machine falls on all
        for place in places:
            for n, each in _blocks(place, given, scratch):
                found.setdefault((place.title, n), []).append(each)
                print(
                    f"process {process + 1} {place.title} n {n:<5} {each.groups} groups of 4 blocks of {each.calls}"
                    f" calls: {100 * (each.ratio - 1):+.3f} %, a group's spread {100 * each.spread:.2f} %",
                    file=sys.stderr,
                    flush=True,
                )
    print(f"{given.processes} processes a placement; times a call in us; pyperf: mean / median, beside clocked")
    print(f"{'stack':<14} {'target':<8} {'placed':<6} {'n':>5} {'clocked':>9} {'bare':>9}", end="")
    print(f"  {'overhead % [95 %]':<24} {'upper':>7} {'goal':>5} {'holds':<5}  pyperf")
    every = True
    for place in places:
        packages = _pyperf_packages(place, scratch) if given.pyperf > 0 else None
        for n in given.shapes:
            clocked, holds = _row(place, n, found[place.title, n])
            every = every and holds
            print(f"  {_pyperf(place, n, clocked, packages, given, scratch)}", flush=True)
    print("every upper bound holds" if every else "an upper bound does not hold")
    return 0 if every else 1


def _row(place: Place, n: int, found: list[Found]) -> tuple[float, bool]:
    """Print one row but for its end; return the clocked call's time and whether its bound holds."""
    ratio = stats.geometric([each.ratio for each in found])
    clocked = stats.geometric([each.clocked_s for each in found]).centre
    bare = stats.geometric([each.bare_s for each in found]).centre
    goal = next(share for least, share in GOALS if n >= least)
    centre, low, high = (math.nan if each is None else 100 * (each - 1) for each in _three(ratio))
    holds = high <= 100 * goal  # with one process there is no bound, and NaN holds nothing
    interval = f"{centre:+7.3f} [{low:+.3f}, {high:+.3f}]"
    print(f"{place.title} {n:>5} {clocked * 1e6:>9.1f} {bare * 1e6:>9.1f}", end="")
    print(f"  {interval:<24} {high:>+7.3f} {100 * goal:>5.1f} {'yes' if holds else 'NO':<5}", end="", flush=True)
    return clocked, holds


def _three(estimate: stats.Estimate) -> tuple[float, float | None, float | None]:
    return estimate.centre, estimate.low, estimate.high


def _shapes(text: str) -> list[int]:
    return [int(each) for each in text.replace(",", " ").split()]


def _places(name: str, targets: list[str]) -> list[Place]:
    """Return the placements of the asked targets; none where the environment is not made."""
    chosen = stack.load(name)
    minor = chosen.definition.python.default
    made = environment.find_made(chosen, minor, environ=os.environ, wheels=environment.wheels_for(chosen))
    if made is None:
        return []
    version = tuple(int(each) for each in minor.split("."))
    return [Place(chosen, how, made.python, version) for target in targets for how in chosen.realisations(target)]


def _blocks(place: Place, given: argparse.Namespace, scratch: Path) -> Iterator[tuple[int, Found]]:
    """Run one process; give what it found at each size."""
    request = {
        **place.request(),
        "shapes": given.shapes,
        "seconds": given.seconds,
        "block_s": given.block_seconds,
        "warm_up_s": 1.0,
    }
    out = _run([str(place.python), "-I", "-u", "-B", "-c", BLOCKS, json.dumps(request)], place, scratch)
    for line in out.splitlines():
        told = json.loads(line)
        logs = [math.log(clocked / bare) for clocked, bare in told["groups"]]
        yield (
            told["n"],
            Found(
                ratio=math.exp(statistics.median(logs)),
                clocked_s=statistics.median(clocked for clocked, _ in told["groups"]),
                bare_s=statistics.median(bare for _, bare in told["groups"]),
                spread=statistics.stdev(logs),
                calls=told["calls"],
                groups=len(logs),
            ),
        )


def _run(argv: list[str], place: Place, scratch: Path) -> str:
    """Run a process of the stack in the scratch folder; return its stdout."""
    with (scratch / "stderr.txt").open("wb") as err:
        return subprocess.run(
            argv,
            cwd=scratch,
            env=place.environ(scratch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            check=True,
        ).stdout


def _pyperf_packages(place: Place, scratch: Path) -> Path | str:
    """Install pyperf for the stack's Python, beside its environment; return the folder, or why there is none."""
    if place.python_version < PYPERF_PYTHON:
        return f"needs Python {'.'.join(map(str, PYPERF_PYTHON))}"
    packages = scratch / f"pyperf-{place.of.name}" / "packages"
    if packages.is_dir():
        return packages
    uv = [sys.executable, "-m", "uv", "--quiet", "pip", "install", "--python", str(place.python)]
    done = subprocess.run(
        [*uv, "--target", str(packages), "pyperf"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return packages if done.returncode == 0 else "could not be installed"


def _pyperf(
    place: Place, n: int, clocked_s: float, packages: Path | str | None, given: argparse.Namespace, scratch: Path
) -> str:
    """Return pyperf's figure for the same call, in words."""
    if not isinstance(packages, Path):
        return packages or "not asked for"
    folder = packages.parent
    (folder / "benchmark.py").write_text(PYPERF, encoding="utf-8")
    request = {**place.request(), "n": n, "warm_up_s": 1.0}
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    loops = max(1, round(0.1 / clocked_s))
    asked = {"processes": given.pyperf, "values": 20, "warmups": 1, "loops": loops}
    words = [f"--{name}={value}" for name, value in asked.items()]
    _run([str(place.python), "-u", str(folder / "benchmark.py"), "--quiet", "--copy-env", *words], place, scratch)
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    mean, median, spread = (found[name] for name in ("mean", "median", "stdev"))
    return (
        f"{mean * 1e6:.1f} / {median * 1e6:.1f} ({100 * (mean / clocked_s - 1):+.1f} /"
        f" {100 * (median / clocked_s - 1):+.1f} %, stdev {100 * spread / mean:.1f} %)"
    )


if __name__ == "__main__":
    raise SystemExit(main())
