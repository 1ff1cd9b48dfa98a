# SPDX-License-Identifier: Apache-2.0
"""What a machine is asked about its GPUs, with a double of nvidia-smi."""

from __future__ import annotations

import pytest

from suite import host

SMI = """#!/bin/sh
case "$1" in
  *compute_cap*) {old} echo "0, GeForce GTX 960M, GPU-1, 410.78, 4046, 675, P8, Exclusive_Process, 5.0" ;;
  *) echo "0, GeForce GTX 960M, GPU-1, 410.78, 4046, 675, P8, Exclusive_Process" ;;
esac
"""
OLD = "echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2;"


@pytest.mark.parametrize(("old", "capability"), [("", "5.0"), (OLD, None)], ids=["new driver", "old driver"])
def test_a_gpu_is_listed_by_any_driver(tmp_path, monkeypatch, old, capability):
    """Fault: the driver of the question does not know one field, and its GPU is not seen at all."""
    driver, tool = tmp_path / "version", tmp_path / "nvidia-smi"
    driver.write_text("NVRM")
    tool.write_text(SMI.replace("{old}", old))
    tool.chmod(0o755)
    monkeypatch.setattr(host, "_DRIVER", driver)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    [gpu] = host.nvidia()["gpus"]
    assert gpu["name"] == "GeForce GTX 960M" and gpu["memory.used"] == "675"
    assert gpu["compute_mode"] == "Exclusive_Process" and gpu.get("compute_cap") == capability
