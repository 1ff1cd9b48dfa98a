# SPDX-License-Identifier: Apache-2.0
"""What NVML answers, replayed: a recording of an H200 under load, and what other machines answer, by hand."""

from __future__ import annotations

import pytest

from suite.telemetry.gpu import EVENT_REASONS, Gpus, event_reasons
from tests.benchmarks import record_nvml
from tests.nvml_replay import DATA, Recorded

H200 = "h200-power-cap.jsonl"


@pytest.fixture
def said():
    return []


def made(calls, said, *, static=None):
    """Return the GPUs of a recording by hand."""
    nvml = Recorded([{"calls": static or {}}, {"phase": "load", "at_s": 0.0, "calls": calls}])
    return Gpus(said.append, nvml=nvml), nvml


def test_no_reason_is_lost():
    """Fault (torchbench): all event reasons but the first are lost; a bit that is new to us vanishes."""
    assert event_reasons(0x1 | 0x4 | 0x20 | 0x40 | 0x80) == [
        *("gpu_idle", "sw_power_cap", "sw_thermal_slowdown"),
        *("hw_thermal_slowdown", "hw_power_brake_slowdown"),
    ]
    assert event_reasons(0) == []
    assert event_reasons(0x8 | 0x100000) == ["hw_slowdown", "0x100000"]
    assert event_reasons(sum(EVENT_REASONS)) == list(EVENT_REASONS.values())


def test_static_facts_of_a_recorded_gpu(said):
    """Fault: milliwatts taken for watts, a pair (now, after a restart) taken for true because it is not empty."""
    static = Gpus(said.append, nvml=Recorded.load(H200)).static(0)
    assert static == {
        "uuid": "GPU-889a5862-2a28-d738-2e57-069e554a3d9e",
        "name": "NVIDIA H200",
        "compute_capability": "9.0",
        "cores": 16896,
        "max_sm_clock_mhz": 1980,
        "max_memory_clock_mhz": 3201,
        "memory_total_bytes": 150754820096,
        "ecc": True,
        "persistence": True,
        "compute_mode": "default",
        "mig": False,
        "power_default_limit_w": 700.0,
        "power_limit_w": 700.0,
        "slowdown_temperature_c": 89,
        "driver_version": "580.159.04",
    }
    assert said == []


def test_readings_of_a_recorded_gpu(said):
    """Fault: idle and load cannot be told apart; a worker's process is not seen."""
    nvml = Recorded.load(H200)
    gpus = Gpus(said.append, nvml=nvml)
    nvml.seek("idle")
    idle = gpus.read(0)
    nvml.seek("load", 5.6)
    load = gpus.read(0)
    assert (idle["sm_clock_mhz"], idle["event_reasons"], idle["processes"]) == (345, ["gpu_idle"], [])
    assert idle["utilisation_percent"] == {"gpu": 0, "memory": 0} and idle["ecc_uncorrected"] == 0
    assert load["sm_clock_mhz"] == 1605 and load["event_reasons"] == ["sw_power_cap"]
    assert load["power_w"] == pytest.approx(694.667) and load["temperature_c"] == 51
    assert load["processes"] == [{"pid": 1, "type": "C", "used_bytes": 2258632704}]
    assert "errors" not in load and said == []


@pytest.mark.parametrize("recording", sorted(path.name for path in DATA.glob("*.jsonl")))
def test_every_line_of_every_recording_can_be_read(recording, said):
    """Fault: some answer of a real driver ends the run."""
    nvml = Recorded.load(recording)
    gpus = Gpus(said.append, nvml=nvml)
    gpus.static(0)
    for at in range(len(nvml.lines)):
        nvml.at = at
        gpus.read(0)
    assert len(said) <= 1


def test_the_recorder_records_what_is_read(said):
    """Fault: gpu.py asks something new, and no recording has it."""
    recorded = {f"{call[0]}({', '.join(map(record_nvml.short, call[1:]))})" for call in record_nvml.STATIC}
    recorded |= {f"{call[0]}({', '.join(map(record_nvml.short, call[1:]))})" for call in record_nvml.READ}
    nvml = Recorded.load(H200)
    gpus = Gpus(said.append, nvml=nvml)
    gpus.static(0)
    gpus.read(0)
    own = {"nvmlInit()", "nvmlDeviceGetHandleByIndex(0)", "nvmlSystemGetDriverVersion()"}
    assert set(nvml.calls) - own <= recorded


def test_a_field_that_is_not_supported_is_absent(said):
    """Fault: one unsupported field takes the others with it, or is read as 0, or is complained about (GTX 960M)."""
    gpus, _ = made(
        {
            "nvmlDeviceGetClockInfo(SM)": 1176,
            "nvmlDeviceGetPowerUsage()": {"error": 3},
            "nvmlDeviceGetTotalEccErrors(UNCORRECTED, VOLATILE_ECC)": {"error": 3},
            "nvmlDeviceGetTemperature(GPU)": 61,
        },
        said,
    )
    assert gpus.read(0) == {"sm_clock_mhz": 1176, "temperature_c": 61} and said == []


@pytest.mark.parametrize("lacks", [{}, {"nvmlDeviceGetCurrentClocksEventReasons()": {"error": 13}}])
def test_an_older_driver_names_its_reasons_by_the_older_function(lacks, said):
    """Fault: below driver 535, or with an older nvidia-ml-py, throttling is never seen."""
    gpus, _ = made({**lacks, "nvmlDeviceGetCurrentClocksThrottleReasons()": 0x24}, said)
    assert gpus.read(0)["event_reasons"] == ["sw_power_cap", "sw_thermal_slowdown"] and said == []


def test_an_older_driver_lists_processes_by_an_older_function(said):
    """Fault: nvidia-ml-py's own error for it, which has no code, is taken for a broken GPU."""

    class Mismatch(Exception):
        pass

    def too_new(handle):
        raise Mismatch

    listed = [{"pid": 7, "usedGpuMemory": None}]
    gpus, nvml = made({"nvmlDeviceGetComputeRunningProcesses_v2()": listed}, said)
    nvml.NVMLLibraryMismatchError = Mismatch
    nvml.nvmlDeviceGetComputeRunningProcesses = too_new
    assert gpus.read(0) == {"processes": [{"pid": 7, "type": "C"}]} and said == []


def test_a_process_in_both_lists_is_one(said):
    """Fault: a game or a browser counts as two strangers."""
    both = [{"pid": 9, "usedGpuMemory": 5}]
    calls = {"nvmlDeviceGetComputeRunningProcesses()": both, "nvmlDeviceGetGraphicsRunningProcesses()": both}
    assert made(calls, said)[0].read(0)["processes"] == [{"pid": 9, "type": "C+G", "used_bytes": 5}]


def test_a_lost_gpu_is_said_once_and_asked_no_more(said):
    """Fault: a GPU that fell off the bus floods the terminal, or raises, or is asked for the rest of the run."""
    gpus, nvml = made({}, said)
    nvml.lines[0]["calls"] = {
        "nvmlDeviceGetClockInfo(SM)": {"error": 15},
        "nvmlDeviceGetClockInfo(MEM)": {"error": 15},
    }
    first = gpus.read(0)
    asked = len(nvml.calls)
    assert gpus.read(0) == first == {"errors": ["GPU 0: nvmlDeviceGetClockInfo: error 15"]}
    assert len(said) == 1 and len(nvml.calls) == asked and gpus.static(0) == {}


def test_a_read_error_costs_its_field_only(said):
    """Fault: "Unknown Error" of a container that lost its device is said for each field and each reading."""
    unknown = {"error": 999}
    calls = {"nvmlDeviceGetClockInfo(SM)": unknown, "nvmlDeviceGetPowerUsage()": unknown}
    gpus, nvml = made({**calls, "nvmlDeviceGetTemperature(GPU)": 50}, said)
    for _ in range(3):
        reading = gpus.read(0)
        assert reading["temperature_c"] == 50 and len(reading["errors"]) == 2
    assert len(said) == 1


@pytest.mark.parametrize("code", [9, 12, 18])
def test_without_nvml_it_is_said_once(code, said):
    """Fault: no library, or one of another version than the driver's, ends the run or is never mentioned."""
    gpus, nvml = made({}, said, static={"nvmlInit()": {"error": code}})
    assert gpus.count() == 0 and gpus.find("0") is None and gpus.static(0) == {}
    assert gpus.read(0) == {"errors": [f"NVML cannot be used: error {code}"]}
    assert len(said) == 1 and nvml.calls == ["nvmlInit()"]


def test_without_a_driver_nothing_is_asked_or_said(said, monkeypatch):
    """Fault: every CPU run complains about a GPU that the machine does not have, or pays for importing NVML."""
    monkeypatch.setattr("suite.host.nvidia_driver_loaded", lambda: False)
    gpus = Gpus(said.append)
    assert gpus.read(0) == {} and gpus.static(0) == {} and gpus.count() == 0
    assert gpus.error == "no NVIDIA driver is loaded" and said == []


def test_an_index_that_is_not_there_is_said(said):
    """Fault: GPU=7 of a machine with one gives empty telemetry without a word."""
    gpus, _ = made({}, said, static={"nvmlDeviceGetHandleByIndex(7)": {"error": 2}})
    assert gpus.read(7) == {"errors": ["GPU 7: NVML does not know it"]} and len(said) == 1


def test_a_gpu_is_found_by_index_or_uuid(said):
    """Fault: GPU=GPU-889a works for CUDA and names no GPU here."""
    gpus = Gpus(said.append, nvml=Recorded.load(H200))
    assert gpus.find("0") == gpus.find("GPU-889a") == 0
    assert gpus.find("1") is gpus.find("GPU-0") is gpus.find("") is None
