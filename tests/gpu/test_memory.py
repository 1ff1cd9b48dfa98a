# SPDX-License-Identifier: Apache-2.0
"""A GPU that another process fills: the row says oom, with what is needed and what is free."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.gpu.paths import PATHS

pytestmark = [pytest.mark.real, pytest.mark.gpu]

#: Takes all but 1.5 GiB in plain allocations, says so, and waits to be told to end.
FILL = """
import sys, torch
kept = []
while torch.cuda.mem_get_info()[0] > 3 * 2**29 + 2**28:
    kept.append(torch.empty(min(2**30, torch.cuda.mem_get_info()[0] - 3 * 2**29), dtype=torch.uint8, device="cuda"))
print("full", torch.cuda.mem_get_info()[0], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def full(on):
    """A process that holds the GPU's memory."""
    python = on("torch").python
    process = subprocess.Popen([str(python), "-c", FILL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("full")
    yield
    process.stdin.close()
    process.wait(60)


@pytest.mark.parametrize("name", ["torch", "jax", "tf"])
def test_a_full_gpu_is_oom_with_needed_and_free(on, full, name):
    """Fault held: CUBLAS_STATUS_NOT_INITIALIZED, or a crash, for want of memory; what an allocator may take as free."""
    target, placement = PATHS[name]
    sample = on(name).take(target, 15000, placement=placement, warm_calls=5)
    print(name, sample.status, sample.reason)
    assert sample.status == "oom", (sample.status, sample.reason)
    told = re.search(r"needs at least ([\d.]+) GiB .*?, ([\d.]+) (GiB|MiB) were free", sample.reason.text)
    assert told, sample.reason.text
    assert float(told[1]) > 1.6 and float(told[2]) * (1 if told[3] == "GiB" else 2**-10) < 3
