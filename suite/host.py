# SPDX-License-Identifier: Apache-2.0
"""The machine: stable facts that are part of a result's identity, and volatile ones kept apart."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

#: Flags that decide what a matmul can do, and whether this is a virtual machine.
_FLAGS = ("avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "hypervisor")

#: No x86 core has been sold that runs faster; taken where the kernel does not say.
FASTEST_CORE_HZ = 6.2e9


def fingerprint() -> dict[str, Any]:
    """Return the stable facts of this machine."""
    cpuinfo = _cpuinfo()
    flags = sorted(set(cpuinfo.get("flags", "").split()) & set(_FLAGS))
    return {
        "cpu_model": cpuinfo.get("model name", platform.processor() or "unknown"),
        "cpu_flags": flags,
        "logical_cpus": os.cpu_count() or 1,
        "affinity_cpus": len(os.sched_getaffinity(0)),
        "quota_cpus": quota_cpus(),
        "effective_cpus": effective_cpus(),
        "cpu_max_hz": _max_hz(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "os": _os_name(),
        "nvidia": nvidia(),
    }


def load() -> dict[str, Any]:
    """Return the volatile facts that a sample is taken under."""
    return {"loadavg_1": os.getloadavg()[0], "memory_available_bytes": _memory_available()}


def effective_cpus() -> float:
    """Return how many CPUs a process can use: the affinity's count or the cgroup's quota, if smaller."""
    quota = quota_cpus()
    count = float(len(os.sched_getaffinity(0)))
    return count if quota is None else min(count, quota)


def quota_cpus(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """Return the tightest CPU quota of this process's cgroups, v1 or v2, in CPUs; None where there is none."""
    found = []
    try:
        lines = own.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            bases = [root, root / "unified"]
        elif "cpu" in controllers.split(","):
            bases = [root / controllers, root / "cpu"]
        else:
            continue
        for base in bases:
            for folder in _upwards(base, path):
                found += _quota(folder)
    return min(found) if found else None


def _upwards(base: Path, path: str) -> list[Path]:
    inside = base / path.lstrip("/")
    return [inside, *(parent for parent in inside.parents if parent == base or base in parent.parents)]


def _quota(folder: Path) -> list[float]:
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
            return [] if quota == "max" else [int(quota) / int(period)]
        quota = (folder / "cpu.cfs_quota_us").read_text(encoding="ascii")
        period = (folder / "cpu.cfs_period_us").read_text(encoding="ascii")
        return [int(quota) / int(period)] if int(quota) > 0 else []
    except (OSError, ValueError):
        return []


def float32_ceiling_flops(facts: dict[str, Any]) -> tuple[float, str]:
    """Return an upper bound of this CPU's float32 FLOP/s, and how it comes about.

    CPUs in the affinity x the highest frequency x operations a cycle: two fused multiply-adds of the widest
    vectors that the flags name.
    """
    flags = set(facts.get("cpu_flags", ()))
    hertz = facts.get("cpu_max_hz") or FASTEST_CORE_HZ
    if "avx512f" in flags:
        per_cycle, why = 64, "AVX-512"
    elif {"avx2", "fma"} <= flags:
        per_cycle, why = 32, "AVX2 and FMA"
    elif "avx" in flags:
        per_cycle, why = 16, "AVX"
    elif facts.get("machine") in ("aarch64", "arm64"):
        per_cycle, why = 32, "NEON"
    else:
        per_cycle, why = 8, "SSE"
    cpus = facts.get("affinity_cpus", 1)
    source = "the kernel's maximum" if facts.get("cpu_max_hz") else "no core ships faster"
    text = f"{cpus} CPUs x {hertz / 1e9:.2f} GHz ({source}) x {per_cycle} operations a cycle ({why})"
    return cpus * hertz * per_cycle, text


_DRIVER = Path("/proc/driver/nvidia/version")
#: What is asked of nvidia-smi: who the GPU is, and the state that the question showed of its own. Memory in MiB.
_GPU_FIELDS = (
    *("index", "name", "uuid", "driver_version", "memory.total"),
    *("memory.used", "pstate", "compute_mode"),
)


def nvidia_driver_loaded() -> bool:
    """Tell whether an NVIDIA driver is loaded. Quick: runs nothing."""
    return _DRIVER.exists()


def nvidia() -> dict[str, Any]:
    """Return whether an NVIDIA driver is there, with its GPUs, or what was looked for and not found."""
    if not nvidia_driver_loaded():
        devices = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
        why = "no NVIDIA driver is loaded (/proc/driver/nvidia/version is not there)"
        if devices:
            why += f", though /dev has {', '.join(devices)}"
        return {"present": False, "why": why, "gpus": []}
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {"present": True, "why": "driver loaded, nvidia-smi not on PATH", "gpus": []}
    why = ""
    # Drivers as old as the question's do not know compute_cap and refuse a query that names it.
    for fields in ((*_GPU_FIELDS, "compute_cap"), _GPU_FIELDS):
        try:
            done = subprocess.run(
                [tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
                capture_output=True,
                text=True,
                timeout=5,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"present": True, "why": f"nvidia-smi did not answer: {error}", "gpus": []}
        if done.returncode == 0:
            gpus = [
                dict(zip(fields, (word.strip() for word in line.split(",")), strict=False))
                for line in done.stdout.splitlines()
            ]
            return {"present": True, "why": f"{len(gpus)} GPUs", "gpus": gpus}
        said = (done.stdout + done.stderr).strip().splitlines()
        why = f"nvidia-smi failed: {said[0] if said else done.returncode}"
    return {"present": True, "why": why, "gpus": []}


def _cpuinfo() -> dict[str, str]:
    out: dict[str, str] = {}
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return out
    for line in text.split("\n\n", 1)[0].splitlines():
        name, _, value = line.partition(":")
        out[name.strip()] = value.strip()
    return out


def _max_hz() -> float | None:
    """Return the highest frequency that the kernel names for any CPU, or None where it names none."""
    found = []
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"):
        try:
            found.append(1000.0 * int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return max(found) if found else None


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def _memory_available() -> int:
    import psutil

    return int(psutil.virtual_memory().available)
