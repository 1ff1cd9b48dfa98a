# SPDX-License-Identifier: Apache-2.0
"""What a sample is marked with, judged from its telemetry. A tagged sample is kept: it says why it is off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

THERMAL = "throttled: thermal"
POWER = "throttled: power"
CONTENDED = "contended"
IDLE_CLOCK = "idle_clock"

#: Share of the machine's CPU time that others may take. A worker on all CPUs loses as much as they get; 10 % is the
#: least that shows beside the spread of cold times on an idle machine.
OTHERS_SHARE = 0.10
#: And how much in any case: the kernel counts whole jiffies (10 ms) for each CPU, so that over a sample of a few
#: tenths of a second five of them are no evidence.
OTHERS_LEAST_S = 0.05

#: NVML's "HW slowdown" without its cause. nvml.h: too hot; external power brake; fast trigger by power draw; and, for
#: now, also a mere change of P-state. So near the slowdown temperature it is heat, else, near the power limit or seen
#: again in a second reading, power; a single one that is neither is a change of P-state.
HOT_BELOW_SLOWDOWN_C = 5.0
#: Where a GPU does not give its slowdown temperature: lowest that NVIDIA's data sheets give is about 90 C.
SLOWDOWN_C = 90.0
NEAR_POWER_LIMIT = 0.9

_THERMAL_REASONS = ("sw_thermal_slowdown", "hw_thermal_slowdown")
_POWER_REASONS = ("sw_power_cap", "hw_power_brake_slowdown")


def tags(summary: Mapping[str, Any]) -> list[str]:
    """Return the tags of a sample, sorted; ``summary`` is its ``telemetry``.

    ``throttled: thermal``
        The GPU named a thermal reason in any reading while the worker ran, or a CPU's thermal counter grew.
    ``throttled: power``
        The GPU named a power reason in any such reading. A CPU quota is none: it is the user's limit.
    ``contended``
        Others took more than ``OTHERS_SHARE`` of the CPU time; or another process was on the GPU, and the GPU
        worked, before the worker started. One that only holds memory (a desktop) is listed, not tagged.
    ``idle_clock``
        In most readings in which the GPU worked its SM clock was below half of its maximum, and no reason but
        idleness was named: what was measured is a clock that had not risen.
    """
    cpu, gpu = summary.get("cpu", {}), summary.get("gpu", {})
    found = _throttled(gpu)
    if any(count > 0 for count in cpu.get("thermal_throttles", {}).values()):
        found.add(THERMAL)
    if _contended(cpu) or _shared(gpu):
        found.add(CONTENDED)
    if gpu.get("idle_clock_readings", 0) * 2 > gpu.get("busy_readings", 0):
        found.add(IDLE_CLOCK)
    return sorted(found)


def _throttled(gpu: Mapping[str, Any]) -> set[str]:
    reasons = gpu.get("event_reasons", {})
    found = set()
    if any(name in reasons for name in _THERMAL_REASONS):
        found.add(THERMAL)
    if any(name in reasons for name in _POWER_REASONS):
        found.add(POWER)
    # A cause that is named beside it is its cause, as far as NVML knows.
    if "hw_slowdown" in reasons and {"hw_thermal_slowdown", "hw_power_brake_slowdown"}.isdisjoint(reasons):
        found |= _unnamed_slowdown(gpu)
    return found


def _unnamed_slowdown(gpu: Mapping[str, Any]) -> set[str]:
    hottest_c = gpu.get("temperature_c", {}).get("max")
    if hottest_c is not None:
        slowdown_c = gpu.get("slowdown_temperature_c", SLOWDOWN_C)
        if hottest_c >= slowdown_c - HOT_BELOW_SLOWDOWN_C:
            return {THERMAL}
    most_w, limit_w = gpu.get("power_w", {}).get("max"), gpu.get("power_limit_w")
    near = most_w is not None and limit_w is not None and most_w >= NEAR_POWER_LIMIT * limit_w
    return {POWER} if near or gpu["event_reasons"]["hw_slowdown"] > 1 else set()


def _contended(cpu: Mapping[str, Any]) -> bool:
    return bool(cpu.get("others_share", 0.0) > OTHERS_SHARE and cpu.get("others_s", 0.0) >= OTHERS_LEAST_S)


def _shared(gpu: Mapping[str, Any]) -> bool:
    before = gpu.get("before", {})
    return bool(before.get("others", 0) > 0 and before.get("gpu_percent", 0) > 0)
