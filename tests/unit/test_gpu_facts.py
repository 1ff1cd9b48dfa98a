# SPDX-License-Identifier: Apache-2.0
"""What this machine's GPUs are: from a recording of NVML, from what nvidia-smi prints, or from neither."""

from __future__ import annotations

import os

import pytest

from suite import gpu_facts
from suite.gpu_facts import Holder
from suite.telemetry.gpu import Gpus
from tests.nvml_replay import Recorded

NO_DRIVER = {"present": False, "why": "no NVIDIA driver is loaded", "gpus": []}


def never() -> dict[str, object]:
    raise AssertionError("nvidia-smi was asked though NVML had answered")


def silent() -> Gpus:
    """NVML that cannot be used."""

    class Broken:
        def nvmlInit(self):
            raise OSError("Driver/library version mismatch")

    return Gpus(lambda _: None, nvml=Broken())


def test_a_recorded_gpu():
    """Fault: capability, memory or mode of another field, or nvidia-smi is run though NVML answers."""
    nvml = Recorded.load("h200-power-cap.jsonl")
    found = gpu_facts.gather(Gpus(lambda _: None, nvml=nvml), never, lambda pid: f"p{pid}")
    [gpu] = found.gpus
    assert found.driver_loaded and found.why == ""
    assert (gpu.name, gpu.capability, gpu.driver) == ("NVIDIA H200", "9.0", "580.159.04")
    assert gpu.memory_total_bytes == 150754820096
    assert (gpu.compute_mode, gpu.mig, gpu.persistence) == ("default", False, True)
    assert gpu.holders is not None


def test_holders_leave_this_process_out():
    """Fault: doctor names itself as who holds the GPU, or a process that cannot be seen has no words."""

    class Asked(Gpus):
        def count(self):
            return 1

        def static(self, index):
            return {"name": "X"}

        def read(self, index):
            return {
                "memory_used_bytes": 1,
                "processes": [
                    {"pid": os.getpid(), "type": "C"},
                    {"pid": 7, "type": "C", "used_bytes": 141 * 2**20},
                    {"pid": 8, "type": "G"},
                ],
            }

    [gpu] = gpu_facts.gather(Asked(print), never, lambda pid: "python" if pid == 7 else "").gpus
    assert gpu.holders == (Holder(7, "C", "python", 141 * 2**20), Holder(8, "G"))
    assert [each.words() for each in gpu.holders] == [
        "python (pid 7, 141 MiB)",
        "a process that cannot be seen from here (pid 8)",
    ]


def test_nvidia_smi_where_nvml_is_silent():
    """Fault: [N/A] is taken for a value, MiB for bytes, or a GPU is lost because NVML cannot be loaded."""
    row = {
        "index": "1",
        "name": "Tesla K80",
        "driver_version": "418.87.00",
        "memory.total": "11441",
        "memory.used": "[N/A]",
        "pstate": "P8",
        "compute_mode": "Exclusive_Process",
        "compute_cap": "[Not Supported]",
    }
    found = gpu_facts.gather(silent(), lambda: {"present": True, "why": "1 GPUs", "gpus": [row]})
    [gpu] = found.gpus
    assert (gpu.index, gpu.name, gpu.driver, gpu.capability) == (1, "Tesla K80", "418.87.00", None)
    assert (gpu.memory_total_bytes, gpu.memory_used_bytes) == (11441 * 2**20, None)
    assert (gpu.compute_mode, gpu.pstate, gpu.holders) == ("exclusive_process", "P8", None)
    told = gpu_facts.gather(
        silent(), lambda: {"present": True, "why": "", "gpus": [{**row, "compute_cap": "3.7"}]}
    )
    assert told.gpus[0].capability == "3.7"


@pytest.mark.parametrize(
    ("smi", "loaded", "says"),
    [
        (NO_DRIVER, False, ["no NVIDIA driver is loaded"]),
        (
            {"present": True, "why": "nvidia-smi failed: x", "gpus": []},
            True,
            ["nvidia-smi failed: x", "version mismatch"],
        ),
    ],
)
def test_no_gpu_says_why(smi, loaded, says):
    """Fault: an empty list without a word, or NVML's own reason is lost where there is a driver."""
    found = gpu_facts.gather(silent(), lambda: smi)
    assert found.gpus == () and found.driver_loaded is loaded
    assert all(each in found.why for each in says)


def test_a_process_is_named_where_it_can_be_seen():
    """Fault: a PID without a name, or an end where it has just gone."""
    assert gpu_facts.process_name(os.getpid())
    assert gpu_facts.process_name(2**22 + 1) == ""
