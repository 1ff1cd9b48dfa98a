# SPDX-License-Identifier: Apache-2.0
"""What a container adds: the same stack, Python, lock and bytecode in a container and locally, interleaved.

    python -m tests.benchmarks.container_against_local --stack tf1.14-cuda10 --engine docker --pairs 20

The environment must be made and the image built. Each pair is one prepared sample of each, in alternating order.
Prints, for every phase from import to first_execution and for their sum, the ratio of the geometric means (container /
local) with its 95 % interval over pairs, and whether the interval of the sum lies within [0.97, 1.03].
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from suite import environment, host, levels, plan, sampling, stack, stats, words
from suite.engines import Engine
from suite.engines.choose import choose
from suite.engines.local import Local
from suite.engines.ready import container_ready
from suite.records import Planned, Sample
from suite.sampling import Setting
from suite.watch import Watch
from suite.worker_env import clean_environment

PHASES = ("import", "device_init", "library_init", "inputs", "build", "first_execution")
WITHIN = (0.97, 1.03)


def main() -> int:
    """Measure and print; 0 where the interval of the sum is within the goal, 6 where it is not resolved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="tf1.14-cuda10")
    parser.add_argument("--engine", default="docker", choices=("docker", "podman"))
    parser.add_argument("--target", default="CPU")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=20)
    given = parser.parse_args()
    chosen = stack.load(given.stack)
    minor = chosen.definition.python.default
    made = environment.find_made(chosen, minor, environ=os.environ)
    if made is None:
        print(f"{chosen.name}: its environment is not made yet: make bench STACK={chosen.name}", file=sys.stderr)
        return 4
    daemon = choose(given.engine, chosen, os.environ).daemon
    assert daemon is not None
    asked = words.parse({"stack": given.stack, "engine": given.engine})
    _, container = container_ready(asked, chosen, os.environ, sampling_worker(), daemon)
    engines: dict[str, Engine] = {"container": container, "local": Local(made.python)}
    found: dict[str, list[Sample]] = {name: [] for name in engines}
    raw = Path(tempfile.mkdtemp())
    with Watch({}) as watch:
        for pair in range(given.pairs + 1):  # the first is thrown away: files come from disk
            order = list(engines) if pair % 2 else list(reversed(engines))
            for name in order:
                sample = take(chosen, engines[name], given.target, given.n, raw / name, f"{pair}", watch)
                if sample.status != "ok":
                    print(f"{name}: {sample.status}: {sample.reason}", file=sys.stderr)
                    return 5
                if pair:
                    found[name].append(sample)
    shutil.rmtree(raw)
    print(f"{given.stack} {given.target} {given.n}: {given.engine} / local, {given.pairs} pairs")
    for name in PHASES:
        show(name, *(([length(each, (name,)) for each in found[where]]) for where in ("container", "local")))
    whole = show("sum", *([length(each, PHASES) for each in found[where]] for where in ("container", "local")))
    shares = {name: [each.evidence["bytecode"]["share"] for each in found[name]] for name in found}
    print(f"bytecode: {min(shares['container']):.3f} in the container, {min(shares['local']):.3f} locally")
    starts = stats.geometric([length(each, ("engine_start",)) for each in found["container"]])
    print(f"container start: {starts.centre:.3f} s")
    assert whole.low is not None and whole.high is not None
    if WITHIN[0] <= whole.low and whole.high <= WITHIN[1]:
        print(f"within {WITHIN}")
        return 0
    half = (whole.high / whole.low) ** 0.5 - 1
    print(f"not resolved to {WITHIN}: half-width {100 * half:.1f} %")
    return 6


def sampling_worker() -> Path:
    """Return the worker's folder."""
    from suite.engines import WORKER

    return WORKER


def take(chosen: stack.Stack, engine: Engine, target: str, n: int, raw: Path, id_: str, watch: Watch) -> Sample:
    """Take one prepared sample with one engine."""
    how = chosen.realisations(target)[0]
    setting = Setting(
        engine=engine,
        environment=lambda home, more: clean_environment(
            os.environ, home, {**chosen.definition.environment, **more}
        ),
        probe_adapter=chosen.definition.adapter,
        placement_environment=lambda _: how.environment,
        compile_log=chosen.definition.compile_log,
        ceiling_flops=host.float32_ceiling_flops(host.fingerprint())[0],
        timeout_s=300.0,
        operand_seed=1,
        raw=raw,
        load=host.load,
        watch=watch,
        caches=levels.Folders(raw / "kept"),
    )
    [cell] = plan.cells(
        chosen,
        [target],
        how.placement,
        [n],
        dtype="float32",
        precision="default",
        level="jit",
        python=chosen.definition.python.default,
        engine=engine.name,
    )
    return sampling.take(setting, Planned(id_, "prepared", cell.id, 1), cell, 0, warm_calls=20)


def length(sample: Sample, names: tuple[str, ...]) -> float:
    """Return the seconds of all intervals of these phases."""
    return sum(each.end_s - each.begin_s for each in sample.phases if each.name in names)


def show(name: str, container: list[float], local: list[float]) -> stats.Estimate:
    """Print and return the ratio of one phase."""
    found = stats.ratio(container, local)
    centre = stats.geometric(local).centre
    print(f"{name:<16} {found.centre:6.3f} [{found.low:.3f}, {found.high:.3f}]  local {centre:.4f} s")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
