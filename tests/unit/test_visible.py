# SPDX-License-Identifier: Apache-2.0
"""CUDA_VISIBLE_DEVICES hides GPUs without a word; the row says which value did."""

import pytest

from suite import classify
from suite.visible import why_hidden


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "set and empty"),
        (" ", "set and empty"),
        ("-1", "CUDA_VISIBLE_DEVICES=-1 hides every GPU"),
        ("NoDevFiles", "hides every GPU"),
        ("0,0", "names 0 twice"),
        ("GPU-ab,GPU-ab", "names GPU-ab twice"),
        ("7", "CUDA_VISIBLE_DEVICES=7 is set"),
    ],
)
def test_each_value_that_hides_gpus_is_named(value, words):
    """Fault held: scenario H7, "no GPU" without a word of the variable that hid it."""
    assert words in why_hidden(value)


def test_without_the_variable_nothing_is_claimed():
    """Fault held: a machine without a GPU told to unset a variable that it does not have."""
    assert why_hidden(None) == ""
    assert classify.unavailable("/device:GPU:0", ["/device:CPU:0"], None)[0].code == "no_device"


def test_the_row_of_a_gpu_says_it_and_that_of_a_cpu_does_not():
    """Fault held: CPU rows harmed by a variable that is about GPUs."""
    reason, status = classify.unavailable("/device:GPU:0", ["/device:CPU:0"], None, "", "")
    assert (reason.code, status) == ("hidden_by_variable", "unavailable")
    assert "GPU=0" in reason.next_step
    assert classify.unavailable("/device:XLA_CPU:0", ["/device:CPU:0"], None, "", "")[0].code == "no_device"
