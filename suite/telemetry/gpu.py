# SPDX-License-Identifier: Apache-2.0
"""One reading of one GPU through NVML (nvidia-ml-py); only asks, never sets.

Names, units and bits are those of nvml.h (NVML API reference, https://docs.nvidia.com/deploy/nvml-api/).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suite import host
from suite.telemetry import Reading

#: Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h, nvmlClocksEventReasons; the last two are newer).
EVENT_REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
_COMPUTE_MODES = ("default", "exclusive_thread", "prohibited", "exclusive_process")

#: What NVML answers where a GPU, a driver or the rights lack one thing: it is absent, and nothing is wrong.
#: INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND, NO_DATA, VGPU_ECC_NOT_SUPPORTED,
#: ARGUMENT_VERSION_MISMATCH, DEPRECATED.
_ABSENT = frozenset({2, 3, 4, 6, 13, 21, 22, 25, 26})
#: After these no call answers again: UNINITIALIZED, DRIVER_NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED,
#: LIB_RM_VERSION_MISMATCH.
_GONE = frozenset({1, 9, 15, 16, 18})


def event_reasons(bits: int) -> list[str]:
    """Return the names of all set bits, lowest first; a bit without a name is given in hexadecimal."""
    return [EVENT_REASONS.get(1 << k, hex(1 << k)) for k in range(bits.bit_length()) if bits >> k & 1]


@dataclass(frozen=True)
class _Field:
    """One call and what becomes of its answer. Of several functions the first that this driver knows is taken."""

    name: str
    functions: tuple[str, ...]
    constants: tuple[str, ...] = ()
    convert: Callable[[Any], Any] = lambda value: value


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000.0


def _current(pair: Any) -> bool:
    """Return the mode in force: NVML answers with it and with the one after a restart."""
    return bool(pair[0])


def _mode(number: int) -> str:
    return _COMPUTE_MODES[number] if number < len(_COMPUTE_MODES) else str(number)


_STATIC = (
    _Field("uuid", ("nvmlDeviceGetUUID",), convert=_text),
    _Field("name", ("nvmlDeviceGetName",), convert=_text),
    _Field(
        "compute_capability",
        ("nvmlDeviceGetCudaComputeCapability",),
        convert=lambda pair: f"{pair[0]}.{pair[1]}",
    ),
    _Field("cores", ("nvmlDeviceGetNumGpuCores",)),
    _Field("max_sm_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), ("NVML_CLOCK_SM",)),
    _Field("max_memory_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), ("NVML_CLOCK_MEM",)),
    _Field("memory_total_bytes", ("nvmlDeviceGetMemoryInfo",), convert=lambda memory: memory.total),
    _Field("ecc", ("nvmlDeviceGetEccMode",), convert=_current),
    _Field("persistence", ("nvmlDeviceGetPersistenceMode",), convert=bool),
    _Field("compute_mode", ("nvmlDeviceGetComputeMode",), convert=_mode),
    _Field("mig", ("nvmlDeviceGetMigMode",), convert=_current),
    _Field("power_default_limit_w", ("nvmlDeviceGetPowerManagementDefaultLimit",), convert=_watts),
    _Field("power_limit_w", ("nvmlDeviceGetEnforcedPowerLimit",), convert=_watts),
    _Field(
        "slowdown_temperature_c",
        ("nvmlDeviceGetTemperatureThreshold",),
        ("NVML_TEMPERATURE_THRESHOLD_SLOWDOWN",),
    ),
)

_READ = (
    _Field("sm_clock_mhz", ("nvmlDeviceGetClockInfo",), ("NVML_CLOCK_SM",)),
    _Field("memory_clock_mhz", ("nvmlDeviceGetClockInfo",), ("NVML_CLOCK_MEM",)),
    _Field("power_w", ("nvmlDeviceGetPowerUsage",), convert=_watts),
    _Field("temperature_c", ("nvmlDeviceGetTemperature",), ("NVML_TEMPERATURE_GPU",)),
    _Field(
        "event_reasons",
        # Drivers before 535 know only the older name.
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        convert=event_reasons,
    ),
    _Field(
        "utilisation_percent",
        ("nvmlDeviceGetUtilizationRates",),
        convert=lambda rates: {"gpu": rates.gpu, "memory": rates.memory},
    ),
    _Field("memory_used_bytes", ("nvmlDeviceGetMemoryInfo",), convert=lambda memory: memory.used),
    _Field(
        "ecc_uncorrected",
        ("nvmlDeviceGetTotalEccErrors",),
        ("NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_VOLATILE_ECC"),
    ),
    _Field("pstate", ("nvmlDeviceGetPerformanceState",)),
)
#: Plain names ask the newest driver's way; drivers before 510 know only the second.
_PROCESSES = {
    "C": ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2"),
    "G": ("nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses_v2"),
}


class Gpus:
    """The GPUs that NVML shows, read field by field.

    No method raises for what NVML answers. What goes wrong is said once for each GPU, through ``say``, and is in
    ``errors`` of each reading.

    Parameters
    ----------
    say
        Takes one line for people.
    nvml
        What stands for the module ``pynvml``; None imports it, once something is asked.
    forced
        Ask even where no driver shows in /proc (WSL 2 has none there).
    """

    def __init__(self, say: Callable[[str], None], *, nvml: Any = None, forced: bool = False) -> None:
        self._say = say
        self._nvml = nvml
        self._asked = forced or nvml is not None or host.nvidia_driver_loaded()
        self._handles: dict[int, Any] = {}
        self._said: set[int] = set()
        self._gone: dict[int, str] = {}
        self._open: bool | None = None
        self.error = "" if self._asked else "no NVIDIA driver is loaded"

    def count(self) -> int:
        """Return the number of GPUs; 0 where NVML cannot be asked, and ``error`` says why."""
        if not self._opened():
            return 0
        errors: list[str] = []
        return int(self._call(-1, ("nvmlDeviceGetCount",), (), errors) or 0)

    def find(self, word: str) -> int | None:
        """Return the NVML index of a GPU named by index or by its UUID or the UUID's beginning, as CUDA takes it."""
        if word.isdigit():
            return int(word) if int(word) < self.count() else None
        found = [index for index in range(self.count()) if self.static(index).get("uuid", "").startswith(word)]
        return found[0] if len(found) == 1 and word else None

    def static(self, index: int) -> Reading:
        """Return what does not change while a run lasts; names ending in their units.

        ``uuid``, ``name``, ``compute_capability`` ("9.0"), ``cores``, ``max_sm_clock_mhz``,
        ``max_memory_clock_mhz``, ``memory_total_bytes``, ``ecc``, ``persistence``, ``mig`` (true or false),
        ``compute_mode``, ``power_default_limit_w``, ``power_limit_w``, ``slowdown_temperature_c``,
        ``driver_version``.
        """
        out = self._fields(index, _STATIC, [])
        if self._opened() and index not in self._gone:
            version = self._call(-1, ("nvmlSystemGetDriverVersion",), (), [])
            if version is not None:
                out["driver_version"] = _text(version)
        return out

    def read(self, index: int) -> Reading:
        """Return one reading.

        ``sm_clock_mhz``, ``memory_clock_mhz``, ``power_w``, ``temperature_c``, ``event_reasons`` (all of them, as
        names), ``utilisation_percent`` (``gpu`` and ``memory``, over NVML's last 1/6 to 1 s), ``memory_used_bytes``,
        ``ecc_uncorrected`` (since the driver was loaded), ``pstate``, ``processes`` (``pid``, ``type`` C, G or C+G as
        in nvidia-smi, and ``used_bytes``), ``errors``.
        """
        errors: list[str] = []
        out = self._fields(index, _READ, errors)
        self._processes(index, out, errors)
        if errors:
            out["errors"] = errors
        return out

    def close(self) -> None:
        """Let NVML go."""
        if self._open:
            self._open = False
            self._call(-1, ("nvmlShutdown",), (), [])

    def _fields(self, index: int, fields: tuple[_Field, ...], errors: list[str]) -> Reading:
        answers = {field.name: self._device(index, field, errors) for field in fields}
        return {name: value for name, value in answers.items() if value is not None}

    def _processes(self, index: int, out: Reading, errors: list[str]) -> None:
        merged: dict[int, Reading] = {}
        answered = False
        for kind, functions in _PROCESSES.items():
            listed = self._device(index, _Field("processes", functions), errors)
            answered = answered or listed is not None
            for process in listed or ():
                entry = merged.setdefault(process.pid, {"pid": process.pid, "type": kind})
                entry["type"] = kind if entry["type"] == kind else "C+G"
                if process.usedGpuMemory is not None:  # not known on Windows' side of WSL 2, nor to MIG
                    entry["used_bytes"] = process.usedGpuMemory
        if answered:
            out["processes"] = [merged[pid] for pid in sorted(merged)]

    def _device(self, index: int, field: _Field, errors: list[str]) -> Any:
        """Return a field's converted value, or None."""
        if not self._opened():
            if self._asked:
                _add(errors, self.error)
            return None
        if index in self._gone:
            _add(errors, self._gone[index])
            return None
        if index not in self._handles:
            handle = self._call(index, ("nvmlDeviceGetHandleByIndex",), (index,), errors)
            if handle is None:
                if not errors:
                    self._trouble(index, "NVML does not know it", errors)
                self._gone[index] = errors[-1]
                return None
            self._handles[index] = handle
        try:
            constants = tuple(getattr(self._nvml, name) for name in field.constants)
        except AttributeError:  # an older nvidia-ml-py
            return None
        value = self._call(index, field.functions, (self._handles[index], *constants), errors)
        if value is None:
            return None
        try:
            return field.convert(value)
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            self._trouble(index, f"{field.name}: {error}", errors)
            return None

    def _call(self, index: int, functions: tuple[str, ...], arguments: tuple[Any, ...], errors: list[str]) -> Any:
        """Return the answer of the first function that is there; None where it is absent or failed."""
        for function in functions:
            try:
                return getattr(self._nvml, function)(*arguments)
            except AttributeError:  # an older nvidia-ml-py
                continue
            # Whatever a driver's library does: telemetry never ends a run.
            except Exception as error:
                code = getattr(error, "value", None)
                # So nvidia-ml-py says that an older driver does not know the newest form of a function.
                if code in _ABSENT or isinstance(error, getattr(self._nvml, "NVMLLibraryMismatchError", ())):
                    continue
                text = f"{function}: {error}"
                self._trouble(index, text, errors)
                if code in _GONE and index >= 0:
                    self._gone[index] = f"GPU {index}: {text}"
                return None
        return None

    def _trouble(self, index: int, text: str, errors: list[str]) -> None:
        named = f"GPU {index}: {text}" if index >= 0 else text
        _add(errors, named)
        if index not in self._said:
            self._said.add(index)
            self._say(f"telemetry: {named}; the run goes on, what fails further is only recorded")

    def _opened(self) -> bool:
        if self._open is None and self._asked:
            self._open = False
            try:
                if self._nvml is None:
                    # By name: the module has no types to check against.
                    self._nvml = importlib.import_module("pynvml")
                self._nvml.nvmlInit()
                self._open = True
            except Exception as error:  # no module, no library, a driver that does not match it, no rights
                self.error = f"NVML cannot be used: {error}"
                self._say(f"telemetry: {self.error}; the run goes on without the GPU's clocks")
        return bool(self._open)


def _add(errors: list[str], text: str) -> None:
    if text not in errors:
        errors.append(text)
