#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record what NVML answers on a real GPU, so that tests can replay it (``tests/nvml_replay.py``).

    python record_nvml.py OUT.jsonl --seconds 20

A third of the time each: nothing, a load, nothing again. Every 0.25 s every function that ``suite/telemetry/gpu.py``
calls is asked once, and its raw answer or error code is written; the first line holds what does not change. Needs
nothing but ``pynvml`` (nvidia-ml-py). The load is a float32 matmul of 8192 by torch, ``--load`` names another; where
there is none the middle third is recorded without. Process ids are replaced by small numbers; no host's name is
written.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pynvml

#: Function and the constants it is called with, behind the handle.
STATIC = (
    ("nvmlDeviceGetUUID",),
    ("nvmlDeviceGetName",),
    ("nvmlDeviceGetCudaComputeCapability",),
    ("nvmlDeviceGetNumGpuCores",),
    ("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM"),
    ("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_MEM"),
    ("nvmlDeviceGetMemoryInfo",),
    ("nvmlDeviceGetEccMode",),
    ("nvmlDeviceGetPersistenceMode",),
    ("nvmlDeviceGetComputeMode",),
    ("nvmlDeviceGetMigMode",),
    ("nvmlDeviceGetPowerManagementDefaultLimit",),
    ("nvmlDeviceGetEnforcedPowerLimit",),
    ("nvmlDeviceGetPowerManagementLimitConstraints",),
    ("nvmlDeviceGetApplicationsClock", "NVML_CLOCK_SM"),
    ("nvmlDeviceGetTemperatureThreshold", "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN"),
    ("nvmlDeviceGetSupportedClocksEventReasons",),
)
READ = (
    ("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM"),
    ("nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM"),
    ("nvmlDeviceGetPowerUsage",),
    ("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"),
    ("nvmlDeviceGetCurrentClocksEventReasons",),
    ("nvmlDeviceGetCurrentClocksThrottleReasons",),
    ("nvmlDeviceGetUtilizationRates",),
    ("nvmlDeviceGetMemoryInfo",),
    ("nvmlDeviceGetComputeRunningProcesses",),
    ("nvmlDeviceGetGraphicsRunningProcesses",),
    ("nvmlDeviceGetTotalEccErrors", "NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_VOLATILE_ECC"),
    ("nvmlDeviceGetPerformanceState",),
)
#: What a constant is called in a trace: its name without the prefix of its kind.
PREFIXES = ("NVML_CLOCK_", "NVML_TEMPERATURE_THRESHOLD_", "NVML_TEMPERATURE_", "NVML_MEMORY_ERROR_TYPE_", "NVML_")
#: Structures that NVML fills: the fields that are kept.
FIELDS = ("gpu", "memory", "total", "free", "used", "pid", "usedGpuMemory")

LOAD = """
import time, torch
torch.backends.cuda.matmul.allow_tf32 = False
m = torch.rand(8192, 8192, device="cuda")
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    for _ in range(4):
        product = m @ m
    torch.cuda.synchronize()
"""


def main() -> None:
    options = argparse.ArgumentParser(description="Record NVML's answers on a real GPU.")
    options.add_argument("out", type=Path)
    options.add_argument("--seconds", type=float, default=20.0, help="length of the trace (20)")
    options.add_argument("--gpu", type=int, default=0, help="index of the GPU, as NVML counts (0)")
    options.add_argument("--interval", type=float, default=0.25, help="seconds between readings (0.25)")
    options.add_argument("--load", help="command that loads the GPU; {seconds} in it is how long")
    args = options.parse_args()
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(args.gpu)
    pids: dict[int, int] = {}
    begun_s = time.monotonic()
    third_s = args.seconds / 3
    load: subprocess.Popen[bytes] | None = None
    with args.out.open("w", encoding="utf-8") as file:

        def write(phase: str, calls: dict[str, object]) -> None:
            line = {"at_s": round(time.monotonic() - begun_s, 3), "phase": phase, "calls": calls}
            file.write(json.dumps(line, sort_keys=True) + "\n")
            file.flush()

        version = {
            "nvmlSystemGetDriverVersion()": answer("nvmlSystemGetDriverVersion", (), (), pids),
            "nvmlSystemGetNVMLVersion()": answer("nvmlSystemGetNVMLVersion", (), (), pids),
            "nvmlDeviceGetCount()": answer("nvmlDeviceGetCount", (), (), pids),
        }
        write("static", {**version, **ask(STATIC, handle, pids)})
        try:
            for phase in ("idle", "load", "idle_again"):
                end_s = time.monotonic() + third_s
                if phase == "load":
                    load = start(args.load, third_s)
                while time.monotonic() < end_s:
                    next_s = time.monotonic() + args.interval
                    write(phase, ask(READ, handle, pids))
                    time.sleep(max(0.0, next_s - time.monotonic()))
                if load is not None and phase == "load":
                    if load.poll() is None:
                        load.kill()
                    elif load.returncode:
                        print(f"the load ended with {load.returncode}", file=sys.stderr)
                    load.wait()
        finally:
            if load is not None and load.poll() is None:
                load.kill()
    print(f"{args.out}: {sum(1 for _ in args.out.open(encoding='utf-8'))} lines", file=sys.stderr)


def start(command: str | None, seconds: float) -> subprocess.Popen[bytes] | None:
    """Start the load; None, said, where there is none."""
    if command is None:
        probe = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False)
        if probe.returncode:
            print("no torch here: recorded without a load (--load names another)", file=sys.stderr)
            return None
        argv = [sys.executable, "-c", LOAD.format(seconds=seconds)]
    else:
        argv = shlex.split(command.replace("{seconds}", str(seconds)))
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL)


def ask(calls: tuple[tuple[str, ...], ...], handle: object, pids: dict[int, int]) -> dict[str, object]:
    """Return each call's raw answer by its name."""
    out = {}
    for function, *constants in calls:
        values = tuple(getattr(pynvml, name) for name in constants)
        out[f"{function}({', '.join(map(short, constants))})"] = answer(function, (handle,), values, pids)
    return out


def answer(function: str, handle: tuple[object, ...], values: tuple[int, ...], pids: dict[int, int]) -> object:
    """Return one raw answer, or ``{"error": code}``; a function that this pynvml lacks is FUNCTION_NOT_FOUND."""
    try:
        return plain(getattr(pynvml, function)(*handle, *values), pids)
    except AttributeError:
        return {"error": 13}
    except pynvml.NVMLError as error:
        return {"error": error.value}


def short(constant: str) -> str:
    for prefix in PREFIXES:
        if constant.startswith(prefix):
            return constant[len(prefix) :]
    return constant


def plain(value: object, pids: dict[int, int]) -> object:
    """Return an answer in JSON types: lists for tuples, the known fields of structures."""
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, (list, tuple)):
        return [plain(each, pids) for each in value]
    if not any(hasattr(value, name) for name in FIELDS):
        return str(value)
    out = {name: getattr(value, name) for name in FIELDS if hasattr(value, name)}
    if "pid" in out:
        out["pid"] = pids.setdefault(out["pid"], len(pids) + 1)
    return out


if __name__ == "__main__":
    main()
