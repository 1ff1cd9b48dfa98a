# SPDX-License-Identifier: Apache-2.0
"""From the readings of one sample to the compact facts in its record; pure, and bounded in size."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.telemetry import Reading
from suite.telemetry.sampler import Trace

#: An SM clock below this share of the GPU's maximum is one that no matmul was meant to run at: the lowest base clock
#: of the GPUs that the stacks support is above it (A100 PCIe: 0.77 of 1.41 GHz), idle clocks are far below.
IDLE_CLOCK_SHARE = 0.5

#: What may be listed in a record: texts of errors, and processes of others on the GPU.
MOST_ERRORS = 8
MOST_PROCESSES = 8

_CLOCKS = (
    *("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"),
    *("memory_used_bytes", "gpu_percent", "memory_percent"),
)
_STATIC = (
    *("uuid", "max_sm_clock_mhz", "power_limit_w", "slowdown_temperature_c"),
    *("persistence", "compute_mode", "mig", "ecc"),
)


@dataclass(frozen=True)
class Span:
    """From the worker's first word to its last: seconds of wall, of its own CPU time, of all CPUs' busy and stolen."""

    wall_s: float
    worker_s: float
    machine_s: float


def span(started: Mapping[str, Any] | None, done: Mapping[str, Any] | None) -> Span | None:
    """Return the span between two events of a worker; None where one is missing or does not tell what is needed."""
    if not started or not done:
        return None
    lengths = []
    for name in ("at_s", "cpu_s", "machine_cpu_s"):
        begin, end = started.get(name), done.get(name)
        if not isinstance(begin, (int, float)) or not isinstance(end, (int, float)):
            return None
        lengths.append(float(end - begin))
    return Span(*lengths) if lengths[0] > 0 else None


def summarise(
    trace: Trace,
    *,
    worker_cpu_s: float | None,
    worker_is_child: bool,
    worker_span: Span | None = None,
    own_pids: Collection[int] = (),
    static: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a sample's record keeps of its readings.

    Parameters
    ----------
    trace
        A complete trace.
    worker_cpu_s
        CPU seconds that the worker gives for itself; None where it ended before it could.
    worker_is_child
        Whether this process itself started and reaped the worker, so that its CPU time is among that of our
        children: not so in a container, where they are the client's.
    worker_span
        What the worker tells of the time between its first word and its last. Used for one that is not our child:
        what its engine takes to start and end a container (0.1 to 0.2 s, a tenth of a short sample) is no one
        else's work, and there is no other way to tell it apart.
    own_pids
        The worker's process id, as this host counts; () where it is not known (in a container).
    static
        What :meth:`suite.telemetry.gpu.Gpus.static` says of the GPU.

    Returns
    -------
    dict
        ``wall_s`` (begin to end of the readings), ``readings``, ``cost_s``, ``errors``, ``cpu``, and ``gpu`` where
        one was read; ``docs`` of the fields are in :func:`_cpu` and :func:`_gpu`.
    """
    readings = [trace.begin, *trace.between, trace.end]
    wall_s = trace.end.get("at_s", 0.0) - trace.begin.get("at_s", 0.0)
    out: dict[str, Any] = {
        "wall_s": _short(wall_s),
        "readings": len(readings),
        "cost_s": _short(trace.cost_s),
        "cpu": _cpu(trace, wall_s, worker_cpu_s, worker_is_child, worker_span),
    }
    gpu = _gpu(trace, own_pids, static or {})
    if gpu:
        out["gpu"] = gpu
    texts = [*trace.errors, *(text for each in readings for text in each.get("gpu", {}).get("errors", ()))]
    if texts:
        out["errors"] = list(dict.fromkeys(texts))[:MOST_ERRORS]
    return out


def _cpu(
    trace: Trace, wall_s: float, worker_cpu_s: float | None, worker_is_child: bool, worker_span: Span | None
) -> dict[str, Any]:
    """Return the machine's part.

    ``cpus``, ``busy_s``, ``steal_s``, ``steal_share``; ``others_s`` and ``others_share``: CPU time, of ``cpus`` x
    wall, that neither the worker nor this process took, with what the hypervisor took; in a container of the worker's
    span alone, and ``engine_s`` is then what was taken before and after it, by the engine and others; ``load_1`` and
    ``memory_available_bytes`` at begin and end; ``pressure_s``: stall time by resource and kind; ``mhz``: lowest and
    median frequency; ``thermal_throttles`` and ``quota_throttles``: how much the counters grew.
    """
    begin, end = trace.begin, trace.end
    out: dict[str, Any] = {}
    capacity_s = end.get("cpus", 0) * wall_s
    busy_s, steal_s = _grown(begin, end, "busy_s"), _grown(begin, end, "steal_s")
    if capacity_s > 0 and busy_s is not None and steal_s is not None:
        out["cpus"] = end["cpus"]
        out["busy_s"] = _short(busy_s)
        out["steal_s"] = _short(steal_s)
        out["steal_share"] = _short(steal_s / capacity_s)
        known_s = _ours(begin, end, worker_cpu_s, worker_is_child)
        if known_s is not None:
            others_s = max(0.0, busy_s + steal_s - known_s)
            if worker_span is not None and not worker_is_child:
                whole_s, others_s = others_s, max(0.0, worker_span.machine_s - worker_span.worker_s)
                capacity_s = end["cpus"] * worker_span.wall_s
                out["engine_s"] = _short(max(0.0, whole_s - others_s))
            out["others_s"] = _short(others_s)
            out["others_share"] = _short(others_s / capacity_s)
    for name, source in (("load_1", "loadavg_1"), ("memory_available_bytes", "memory_available_bytes")):
        if source in begin and source in end:
            out[name] = [begin[source], end[source]]
    pressure = {
        f"{resource}_{kind}": _short((total - begin["pressure_us"][resource][kind]) / 1e6)
        for resource, kinds in end.get("pressure_us", {}).items()
        for kind, total in kinds.items()
        if kind in begin.get("pressure_us", {}).get(resource, {})
    }
    if pressure:
        out["pressure_s"] = pressure
    # At begin and end the CPUs may idle: they stand in only where nothing was read while the worker ran.
    clocks = [each["frequency_mhz"] for each in trace.between if "frequency_mhz" in each]
    clocks = clocks or [each["frequency_mhz"] for each in (begin, end) if "frequency_mhz" in each]
    if clocks:
        out["mhz"] = {
            "min": min(each["min"] for each in clocks),
            "median": statistics.median(each["median"] for each in clocks),
        }
    hot = {
        kind: count - begin["thermal_throttles"][kind]
        for kind, count in end.get("thermal_throttles", {}).items()
        if kind in begin.get("thermal_throttles", {})
    }
    if hot:
        out["thermal_throttles"] = hot
    stopped = _grown(begin, end, "quota_throttles")
    if stopped is not None:
        out["quota_throttles"] = stopped
    return out


def _ours(begin: Reading, end: Reading, worker_cpu_s: float | None, worker_is_child: bool) -> float | None:
    """Return the CPU seconds of the worker and of this process; None where the worker's are not known."""
    own_s: float | None = _grown(begin, end, "own_cpu_s")
    children_s: float | None = _grown(begin, end, "children_cpu_s")
    if own_s is None or children_s is None:
        return None
    if worker_is_child:
        # The kernel's figure holds what the worker's own children took, and it is there for one that was killed.
        return own_s + max(children_s, worker_cpu_s or 0.0)
    return None if worker_cpu_s is None else own_s + children_s + worker_cpu_s


def _gpu(trace: Trace, own_pids: Collection[int], static: Mapping[str, Any]) -> dict[str, Any]:
    """Return the GPU's part; {} where none was read.

    Of its static facts what tags and readers need; ``before``: clock, utilisation, event reasons, P-state and memory
    in the reading before the worker started, and how many others held memory (``others``). Of the readings while it
    ran, or, where it was too quick, of the one after it: ``readings``; lowest, median and highest of clocks, power,
    temperature, memory, utilisation; ``event_reasons`` and ``pstates``: how many readings showed each;
    ``busy_readings`` and, of these, ``idle_clock_readings``. The one after it is no evidence otherwise: an H200 says
    "power cap, 100 % busy" for 0.35 s after its process has ended (tests/data/nvml/h200-power-cap.jsonl).
    ``ecc_uncorrected``: errors that came; ``others``: processes that are not the worker's, ``others_count`` how many.
    """
    before, after = trace.begin.get("gpu", {}), trace.end.get("gpu", {})
    running = [each["gpu"] for each in trace.between if set(each.get("gpu", ())) - {"errors"}]
    seen = running or ([after] if set(after) - {"errors"} else [])
    if not seen and not set(before) - {"errors"}:
        return {}
    out: dict[str, Any] = {name: static[name] for name in _STATIC if name in static}
    out["readings"] = len(seen)
    flat = [_flat(each) for each in seen]
    for name in _CLOCKS:
        values = [each[name] for each in flat if name in each]
        if values:
            out[name] = {"min": min(values), "median": statistics.median(values), "max": max(values)}
    out["event_reasons"] = _counted(name for each in seen for name in each.get("event_reasons", ()))
    out["pstates"] = _counted(f"P{each['pstate']}" for each in seen if "pstate" in each)
    busy = [each for each in seen if each.get("utilisation_percent", {}).get("gpu", 0) > 0]
    out["busy_readings"] = len(busy)
    most_mhz = static.get("max_sm_clock_mhz")
    if most_mhz:
        out["idle_clock_readings"] = sum(_idles(each, IDLE_CLOCK_SHARE * most_mhz) for each in busy)
    kept = ("sm_clock_mhz", "gpu_percent", "event_reasons", "pstate", "memory_used_bytes")
    out["before"] = {name: value for name, value in _flat(before).items() if name in kept}
    if "processes" in before:
        strangers = [each for each in before["processes"] if each["pid"] not in own_pids]
        out["before"]["others"] = sum(each.get("used_bytes", 1) > 0 for each in strangers)
    errors = _grown(before, after, "ecc_uncorrected")
    if errors is not None:
        out["ecc_uncorrected"] = errors
    others = _others(before, [*seen, after], own_pids)
    if others is not None:
        out["others"] = others[:MOST_PROCESSES]
        out["others_count"] = len(others)
    return out


def _flat(gpu: Reading) -> Reading:
    """Return a reading with its two utilisations beside the other figures."""
    return {**gpu, **{f"{kind}_percent": value for kind, value in gpu.get("utilisation_percent", {}).items()}}


def _idles(gpu: Reading, below_mhz: float) -> bool:
    """Tell whether a busy GPU's clock is low although nothing but idleness holds it there."""
    held = set(gpu.get("event_reasons", ())) - {"gpu_idle"}
    return "sm_clock_mhz" in gpu and gpu["sm_clock_mhz"] < below_mhz and not held


def _others(before: Reading, later: Sequence[Reading], own_pids: Collection[int]) -> list[Reading] | None:
    """Return the processes on the GPU that are not the worker's; None where NVML does not list them.

    What was there before the spawn is another's in any case. What came later is so only where the worker itself is
    seen too: in a container NVML gives process ids of another namespace, and the worker's cannot be told from a
    stranger's.
    """
    if "processes" not in before and not any("processes" in each for each in later):
        return None
    found = {each["pid"]: each for each in before.get("processes", ())}
    came = {each["pid"]: each for reading in later for each in reading.get("processes", ())}
    if set(own_pids) & set(came):
        found = {**came, **found}
    return [found[pid] for pid in sorted(found) if pid not in own_pids]


def _grown(begin: Reading, end: Reading, name: str) -> Any:
    return end[name] - begin[name] if name in begin and name in end else None


def _counted(names: Any) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _short(seconds: float) -> float:
    return round(seconds, 6)
