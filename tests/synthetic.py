# SPDX-License-Identifier: Apache-2.0
"""A framework whose times are known: it stands where workers do and tells what a model draws. Nothing sleeps.

The events are those of a recorded sample of the same target, moved to the spawn, with other times put in: so they pass
every proof that an honest worker passes, and all of the tool runs on them, from the plan to the tables.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from suite import ready
from suite.classify import clock_frame
from suite.events import PROTOCOL
from suite.launch import Outcome
from suite.ready import Ready
from suite.records import Run, to_json
from suite.sampling import OUTCOME, Setting
from suite.stack import ROOT
from suite.telemetry import Reading
from suite.telemetry.machine import Watched
from suite.telemetry.sampler import Sampler
from suite.watch import Watch

RECORDING = ROOT / "tests" / "data" / "recorded" / "tf1.14-cuda10"
STACK = "tf1.14-cuda10"

#: The machine that synthetic runs are said to be of: what is plausible must not depend on who runs the tests.
MACHINE = {
    **{"cpu_model": "synthetic CPU", "cpu_flags": ["avx", "avx2", "avx512f", "fma"], "cpu_max_hz": 3.0e9},
    **{"logical_cpus": 2, "affinity_cpus": 2, "quota_cpus": None, "effective_cpus": 2.0},
}
#: Of a cold time, what building takes; the rest is the first execution.
BUILD_SHARE = 0.1
#: What the loop takes between two clocked calls, and a drain where nothing is left to wait for.
LOOP_S, DRAIN_S = 2e-7, 1e-5
#: Since boot, of a machine on which nothing else runs.
QUIET: Reading = {
    **{"cpus": 2, "busy_s": 100.0, "idle_s": 900.0, "steal_s": 0.0, "own_cpu_s": 1.0, "children_cpu_s": 50.0},
    "thermal_throttles": {"core": 4, "package": 4},
}

Draw = Callable[[random.Random], float]


def lognormal(centre: float, spread: float) -> Draw:
    """Return what draws times with this geometric mean and this standard deviation of their logs."""
    return lambda rng: centre * math.exp(rng.gauss(0.0, spread))


def noisy(centre: float | Draw, noise: float = 0.02) -> Callable[[random.Random, int], list[float]]:
    """Return what draws the calls of a steady series: ``centre`` once a process, ``noise`` on the log of each call."""

    def calls(rng: random.Random, count: int) -> list[float]:
        level = centre(rng) if callable(centre) else centre
        return [level * math.exp(rng.gauss(0.0, noise)) for _ in range(count)]

    return calls


@dataclass(frozen=True)
class Model:
    """The distributions of one cell, and what else its workers tell.

    ``left_s``: work that the last call had left behind when its clock stopped: the drains find it, and the outer clock.
    ``disk``: what a worker tells at cold level ``disk``.
    """

    cold: float | Draw = 0.05
    warm: Callable[[random.Random, int], list[float]] = field(default_factory=lambda: noisy(1e-3))
    left_s: float = 0.0
    disk: Mapping[str, Any] = field(default_factory=lambda: {"read_bytes": 400_000_000, "used_bytes": 300_000_000})


@dataclass
class Synthetic:
    """A launcher (:class:`suite.launch.Launcher`) that plays models in place of processes.

    Parameters
    ----------
    models
        By cell id; of a cell without one, and of the target without a shape (``CPU.device``), the default.
    seed
        The same seed, sample and model are the same times, in whatever order samples are run.
    by_sample
        Models of single samples, by their id: a process that is unlike the others.
    started
        Called with the sample's id and its environment, where a worker would start: writes caches, say.
    planted
        What the machine's readings after a sample say otherwise than ``QUIET``, by the sample's id.
    """

    models: Mapping[str, Model] = field(default_factory=dict)
    seed: int = 0
    by_sample: Mapping[str, Model] = field(default_factory=dict)
    started: Callable[[str, Mapping[str, str]], None] | None = None
    planted: Mapping[str, Reading] = field(default_factory=dict)
    devices: Sequence[str] = ("/device:CPU:0", "/device:GPU:0", "/device:XLA_CPU:0")
    ran: list[str] = field(default_factory=list)
    """The id of each sample, in the order in which they were run."""
    _now: Reading = field(default_factory=lambda: dict(QUIET))

    def __call__(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        spawn_s: float,
        timeout_s: float,
        watch: Watch,
        words: str = "",
        end: Callable[[], None] | None = None,
    ) -> Outcome:
        """Write what a worker would tell that was spawned at ``spawn_s``; see :func:`suite.launch.launch`."""
        request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        name, kind = folder.name, request["kind"]
        self.ran.append(name)
        self._now = dict(QUIET)
        if self.started is not None:
            self.started(name, environment)
        if kind in ("drop", "clock"):
            told: list[dict[str, Any]] = [{"event": "dropped", "files": 1, "bytes": 1}] if kind == "drop" else []
            _write(folder, told)
            return Outcome(spawn_s, spawn_s, spawn_s + 0.1, 7, 0, None, "itself")
        recorded = _recorded(request)
        outcome = json.loads((recorded / OUTCOME).read_text(encoding="utf-8"))
        told = [json.loads(line) for line in (recorded / "events.jsonl").read_text(encoding="utf-8").splitlines()]
        moved = spawn_s - outcome["spawn_s"]
        if kind != "probe":
            told, longer = self._told(told, name, request)
        else:
            longer = 0.0
            told = [{**each, "devices": list(self.devices)} if "devices" in each else each for each in told]
        _write(folder, [_moved(event, moved) for event in told])
        said = recorded / "stderr.txt"
        (folder / "stderr.txt").write_bytes(said.read_bytes() if said.exists() else b"")
        self._now = {**QUIET, **self.planted.get(name, {})}
        ended_s = outcome["ended_s"] + moved + longer
        return Outcome(spawn_s, outcome["executing_s"] + moved, ended_s, 7, 0, None, "itself")

    def watched(self) -> Watched:
        """Return what reads this machine: ``QUIET`` before each sample, what was planted after it."""
        sampler = Sampler(self._read)
        return Watched(sampler, sampler, why="synthetic")

    def _read(self) -> Reading:
        now, self._now = self._now, dict(QUIET)
        return now

    def _told(
        self, told: list[dict[str, Any]], name: str, request: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], float]:
        """Return the events with the model's times in them, and how much longer they are than those recorded."""
        stem = _cell(name)
        model = (
            self.by_sample.get(name)
            or self.models.get(stem)
            or self.models.get(stem.rpartition(".")[0])
            or Model()
        )
        rng = random.Random(f"{self.seed} {name}")
        cold_s = model.cold(rng) if callable(model.cold) else model.cold
        lengths = {"build": BUILD_SHARE * cold_s, "first_execution": (1 - BUILD_SHARE) * cold_s}
        calls = [] if request["kind"] == "fresh" else _calls(model, rng, request)
        outer_s = sum(calls) + LOOP_S * len(calls) + DRAIN_S + model.left_s
        lengths["warm"] = outer_s + 1e-4
        out, shift = [], 0.0
        for recorded in told:
            event = dict(recorded)
            if event["event"] == "phase":
                length = event["end_s"] - event["begin_s"]
                event["begin_s"] += shift
                shift += lengths.get(event["name"], length) - length
                event["end_s"] += shift
            elif "at_s" in event:
                event["at_s"] += shift
            elif event["event"] == "warm":
                event.update(calls_s=calls, outer_s=outer_s)
            elif event["event"] == "drains":
                event.update(idle_drain_s=DRAIN_S, late_drain_s=DRAIN_S + model.left_s)
            elif event["event"] == "placement":
                event = _elsewhere(event, request)
            elif event["event"] == "bytecode" and request["level"] == "disk":
                out.append({"event": "disk", "v": PROTOCOL, **model.disk})
            out.append(event)
        return out, shift


@dataclass(frozen=True)
class SyntheticReady(Ready):
    """A stack that is measured by a synthetic launcher; ``given`` replaces fields of its runs' settings."""

    given: Mapping[str, Any] = field(default_factory=dict)

    def setting(self, record: Run, folder: Path, watch: Watch, session: int = 0) -> Setting:
        return dataclasses.replace(super().setting(record, folder, watch, session), **self.given)


def made_ready(made: Ready, synthetic: Synthetic, **more: Any) -> Ready:
    """Return ``made``, measured by ``synthetic`` on ``MACHINE``; ``more`` replaces fields of its setting."""
    fields = {each.name: getattr(made, each.name) for each in dataclasses.fields(Ready)}
    fields.update(machine={**made.machine, **MACHINE}, watched=synthetic.watched())
    return SyntheticReady(**fields, given={"launch": synthetic, "load": lambda: {"loadavg_1": 0.0}, **more})


@contextlib.contextmanager
def in_place(synthetic: Synthetic, **more: Any) -> Iterator[None]:
    """Let every run within the block, of ``measure.run(..., recording=RECORDING)``, be measured by ``synthetic``."""
    make = ready.make_ready

    def make_synthetic(*args: Any, **given: Any) -> Ready:
        return made_ready(make(*args, **given), synthetic, **more)

    with mock.patch.object(ready, "make_ready", make_synthetic):
        yield


def _cell(sample: str) -> str:
    """Return the cell of a sample's id, such as ``pilot.CPU.device.50`` and ``prepared.CPU.device.50.3.again.1``."""
    found = re.match(r"[a-z]+\.([A-Z_]+\.[a-z]+\.\d+)", sample)
    return found.group(1) if found else ""


def _calls(model: Model, rng: random.Random, request: Mapping[str, Any]) -> list[float]:
    if request["warm_calls"] is not None:
        return model.warm(rng, request["warm_calls"])
    # A pilot goes on for some time, and at least 3 calls.
    calls = model.warm(rng, 2000)
    total = 0.0
    for count, each in enumerate(calls, start=1):
        total += each
        if count >= 3 and total >= request["warm_s"]:
            return calls[:count]
    return calls


def _recorded(request: Mapping[str, Any]) -> Path:
    """Return a recorded sample of the same kind, on the target that the device is most like."""
    kind = request["kind"]
    if kind == "probe":
        return RECORDING / "probe"
    target = "XLA_CPU" if "XLA" in request["device"] else "CPU"
    if kind == "fresh":
        return RECORDING / f"fresh.{target}.device.500.1"
    return RECORDING / f"prepared.{target}.device.500.1"


def _elsewhere(placement: dict[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evidence of placement as the request's device and size would have it."""
    text = to_json(placement).replace(placement["asked"], request["device"])
    return dict(json.loads(text.replace("500,500", f"{request['n']},{request['n']}")))


def _moved(event: dict[str, Any], by_s: float) -> dict[str, Any]:
    out = {key: value + by_s if key in ("at_s", "begin_s", "end_s") else value for key, value in event.items()}
    return {**out, **clock_frame()} if event["event"] == "started" else out


def _write(folder: Path, told: Sequence[Mapping[str, Any]]) -> None:
    lines = [to_json({"v": PROTOCOL, **event}) + "\n" for event in told]
    (folder / "events.jsonl").write_text("".join(lines), encoding="utf-8")
    for name in ("stdout.txt", "stderr.txt"):
        (folder / name).touch()
