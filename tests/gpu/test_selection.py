# SPDX-License-Identifier: Apache-2.0
"""Scenario H7: which GPU, and what a row says where the one that was named is not there."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.real, pytest.mark.gpu]

QUICK = ("--shapes", "50", "--samples", "1", "--profile", "quick")
#: Inductor would compile for half a minute in each process, and says nothing of which GPU is seen.
EAGER = ("--placement", "device")


@pytest.mark.parametrize(("value", "words"), [("", "empty"), ("99", "CUDA_VISIBLE_DEVICES=99"), ("0,0", "twice")])
def test_a_hidden_gpu_is_unavailable_and_cpus_are_unharmed(suite_run, value, words):
    """Fault held: a fallback to the CPU that becomes a GPU row, or a row without its reason."""
    hidden = {"CUDA_VISIBLE_DEVICES": value}
    code, samples = suite_run("torch", "--targets", "CPU,GPU", *EAGER, *QUICK, variables=hidden)
    taken = [each for each in samples.values() if each["kind"] in ("prepared", "fresh")]
    assert {each["status"] for each in taken if each["cell"].startswith("CPU")} == {"ok"}
    rows = [each for each in taken if each["cell"].startswith("GPU")]
    assert {each["status"] for each in rows} == {"unavailable"}, rows
    assert all(words in each["reason"]["text"] for each in rows), rows[0]["reason"]
    assert code == 3


def test_jax_without_its_gpu_gives_no_gpu_row(suite_run):
    """Fault held: JAX's own fallback to the CPU, which is only a warning."""
    code, samples = suite_run("jax", "--targets", "XLA_GPU", *QUICK, variables={"CUDA_VISIBLE_DEVICES": ""})
    rows = [each for each in samples.values() if each["kind"] in ("prepared", "fresh")]
    assert {each["status"] for each in rows} == {"unavailable"}, rows
    assert code == 3


def test_a_uuid_works_and_is_what_the_row_shows(suite_run, gpu):
    """Fault held: a GPU named by an index that means another one elsewhere."""
    uuid = gpu.static["uuid"]
    code, samples = suite_run("torch", "--targets", "GPU", *EAGER, *QUICK, "--gpu", uuid)
    rows = [each for each in samples.values() if each["kind"] == "prepared"]
    assert code == 0
    assert {each["facts"]["gpu_uuid"] for each in rows} == {uuid}
