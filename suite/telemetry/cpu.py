# SPDX-License-Identifier: Apache-2.0
"""One reading of the kernel's own files: CPU time, load, memory, pressure, frequency, throttling.

The files are read rather than psutil asked: it has no pressure, no throttle counters and no other root for tests,
and its frequencies cost one file for every CPU.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from suite.telemetry import Reading

#: Columns of the "cpu" line of /proc/stat (proc_stat(5)). guest and guest_nice are within user and nice.
_BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq
_IDLE = (3, 4)  # idle, iowait
_STEAL = 7

#: CPUs whose frequency is read: enough for a minimum and a median, cheap on a machine of 256.
MOST_FREQUENCIES = 8

_CPUS = "sys/devices/system/cpu"


def reading(root: Path = Path("/")) -> Reading:
    """Return everything that a begin or an end of a sample is compared by.

    Returns
    -------
    dict
        ``cpus``, ``busy_s``, ``idle_s``, ``steal_s`` (CPU seconds of the whole machine since boot), ``loadavg_1``,
        ``memory_available_bytes``, ``pressure_us`` (totals since boot by resource and kind), ``frequency_mhz``,
        ``thermal_throttles`` (counts since boot), ``quota_throttles`` (of this process's own cgroup).
    """
    out = _stat(root / "proc/stat")
    load = _text(root / "proc/loadavg").split()
    if load:
        out["loadavg_1"] = float(load[0])
    available = re.search(r"^MemAvailable:\s+(\d+) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    if available:
        out["memory_available_bytes"] = 1024 * int(available.group(1))
    for name, value in (
        ("pressure_us", _pressure(root / "proc/pressure")),
        ("frequency_mhz", frequency(root) or _nominal(root)),
        ("thermal_throttles", _thermal(root / _CPUS)),
    ):
        if value:
            out[name] = value
    throttles = _quota_throttles(root)
    if throttles is not None:
        out["quota_throttles"] = throttles
    return out


def frequency(root: Path = Path("/")) -> dict[str, float]:
    """Return ``min`` and ``median`` of the CPUs' frequencies now, in MHz; {} where cpufreq does not say.

    Cheap enough to be read while a sample runs: at most ``MOST_FREQUENCIES`` small files.
    """
    files = sorted((root / _CPUS).glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
    step = max(1, -(-len(files) // MOST_FREQUENCIES))
    found = [number / 1000.0 for number in map(_number, files[::step]) if number]
    return _spread(found)


def frequency_varies(root: Path = Path("/")) -> bool:
    """Tell whether a frequency read while a sample runs would say anything: virtual machines have no cpufreq."""
    return bool(frequency(root))


def _nominal(root: Path) -> dict[str, float]:
    text = _text(root / "proc/cpuinfo")
    return _spread([float(each) for each in re.findall(r"^cpu MHz\s*: ([\d.]+)$", text, re.MULTILINE)])


def _spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values)} if values else {}


def _stat(path: Path) -> Reading:
    lines = _text(path).splitlines()
    if not lines or not lines[0].startswith("cpu "):
        return {}
    # Linux before 2.6.11 has no steal column, and none that runs this Python is that old: missing ones are 0.
    jiffies = [int(word) for word in lines[0].split()[1:]] + [0] * 10
    second = os.sysconf("SC_CLK_TCK")
    return {
        "cpus": sum(1 for line in lines if re.match(r"cpu\d", line)),
        "busy_s": sum(jiffies[k] for k in _BUSY) / second,
        "idle_s": sum(jiffies[k] for k in _IDLE) / second,
        "steal_s": jiffies[_STEAL] / second,
    }


def _pressure(folder: Path) -> dict[str, dict[str, int]]:
    """Return total stall times in us by resource; kernels before 4.20, or booted with psi=0, have none."""
    out = {}
    for resource in ("cpu", "io", "memory"):
        totals = re.findall(r"^(some|full) .*total=(\d+)$", _text(folder / resource), re.MULTILINE)
        if totals:
            out[resource] = {kind: int(total) for kind, total in totals}
    return out


def _thermal(folder: Path) -> dict[str, int]:
    """Return how often cores and packages were too hot, summed over CPUs.

    Siblings share a core's counter, so that the sum counts an event more than once: only its growth is used.
    """
    out = {}
    for kind in ("core", "package"):
        found = [_number(path) for path in folder.glob(f"cpu[0-9]*/thermal_throttle/{kind}_throttle_count")]
        counts = [count for count in found if count is not None]
        if counts:
            out[kind] = sum(counts)
    return out


def _quota_throttles(root: Path) -> int | None:
    """Return how often a CPU quota stopped this process's own cgroup; None without such a counter."""
    for folder in _own_cgroups(root):
        count = re.search(r"^nr_throttled (\d+)$", _text(folder / "cpu.stat"), re.MULTILINE)
        if count:
            return int(count.group(1))
    return None


def _own_cgroups(root: Path) -> Iterator[Path]:
    base = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield base / path.lstrip("/")
        elif "cpu" in controllers.split(","):
            yield base / controllers / path.lstrip("/")
            yield base / "cpu" / path.lstrip("/")


def _number(path: Path) -> int | None:
    try:
        return int(_text(path))
    except ValueError:
        return None


def _text(path: Path) -> str:
    """Return a file's text; "" where there is none or it may not be read: it is absent, not an error."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
