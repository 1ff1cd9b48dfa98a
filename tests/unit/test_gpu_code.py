# SPDX-License-Identifier: Apache-2.0
"""Will this wheel's code run on that GPU: CUDA's rules, and what is publicly known of real pairs."""

from __future__ import annotations

import dataclasses

import pytest

from suite import gpu_code, stack
from suite.gpu_code import Answer, Code


def code(native: str, ptx: str = "", *, cuda: str = "12.5", partly: str = "") -> Code:
    return Code(tuple(native.split()), tuple(ptx.split()), cuda, cuda, "525.60.13", tuple(partly.split()))


@pytest.mark.parametrize(
    ("given", "gpu", "answer"),
    [
        (code("8.0 8.6"), "8.6", Answer.NATIVE),
        (code("8.0"), "8.6", Answer.OLDER_MINOR),
        (code("8.6"), "8.0", Answer.CANNOT_RUN),  # an older minor is no superset
        (code("8.0"), "9.0", Answer.CANNOT_RUN),  # nor is another major
        (code("7.0", "8.0"), "8.0", Answer.PTX_JIT),
        (code("7.0", "8.0"), "7.0", Answer.NATIVE),
        (code("7.0", "9.0"), "8.0", Answer.CANNOT_RUN),  # PTX goes upwards only
        (code("6.0 9.0", "9.0", cuda="12.8"), "10.0", Answer.PTX_JIT),  # 10.0 is later than 9.0
        (code("10.0", "10.0", cuda="12.8"), "9.0", Answer.CANNOT_RUN),  # and not earlier, as texts compare
        (code("9.0a"), "9.0", Answer.NATIVE),
        (code("10.0a", cuda="12.9"), "10.3", Answer.CANNOT_RUN),  # architecture-specific code is for that one GPU
        (code("", "9.0a", cuda="12.8"), "10.0", Answer.CANNOT_RUN),
        (code("8.0 9.0", "9.0", partly="9.0"), "9.0", Answer.IN_PART),
        (code("8.0 9.0", partly="9.0"), "9.0", Answer.NATIVE),  # no PTX: nothing is compiled
        (code("7.0 7.5 8.0", "8.0", partly="8.0", cuda="11.2"), "8.6", Answer.IN_PART),
        (code("7.0", "7.0", cuda="10.0"), "7.5", Answer.OLDER_MINOR),
        (code("7.0", "7.0", cuda="9.2"), "7.5", Answer.PREDATES),
        (code("3.5 7.0", "7.0", cuda="10.0"), "8.6", Answer.PREDATES),
        (code("3.5 7.0", "7.0", cuda="10.0"), "9.0", Answer.PREDATES),
        (code("8.0", "8.0", cuda="11.0"), "8.6", Answer.OLDER_MINOR),  # a 3090 runs CUDA 11.0
        (code("3.5", "3.5", cuda="12.0"), "3.5", Answer.CANNOT_RUN),  # CUDA 12 dropped Kepler
        (code("5.0 9.0", "9.0", cuda="13.0"), "5.0", Answer.CANNOT_RUN),
        (code("9.0", "9.0"), "99.0", Answer.PREDATES),  # no table knows it
        (code("99.0"), "99.0", Answer.NATIVE),  # its wheel does
        (code("", ""), "8.0", Answer.CANNOT_RUN),
    ],
)
def test_the_rules(given, gpu, answer):
    """Fault: a GPU for which the wheel has no code starts, or one that it has code for is refused."""
    found = gpu_code.verdict(given, gpu)
    assert found.answer is answer, found
    assert found.text and found.next_step


@pytest.mark.parametrize(
    ("name", "gpu", "answer"),
    [
        ("tf1.14-cuda10", "3.0", Answer.CANNOT_RUN),
        ("tf1.14-cuda10", "3.5", Answer.NATIVE),
        ("tf1.14-cuda10", "5.0", Answer.PTX_JIT),
        ("tf1.14-cuda10", "7.5", Answer.OLDER_MINOR),
        ("tf1.14-cuda10", "8.6", Answer.PREDATES),  # tensorflow/tensorflow#44200: half an hour, then wrong
        ("tf1.14-cuda10", "12.0", Answer.PREDATES),
        ("tf2.4-cuda11.0", "8.6", Answer.OLDER_MINOR),  # tensorflow/tensorflow#46933
        ("tf2.21-cuda12", "9.0", Answer.IN_PART),
        ("tf2.21-cuda12", "8.9", Answer.NATIVE),
        ("tf2.21-cuda12", "12.0", Answer.PTX_JIT),
        ("tf2.21-cuda12", "5.0", Answer.CANNOT_RUN),
    ],
)
def test_real_stacks_on_real_gpus(name, gpu, answer):
    """Fault: a stack's own figures give another answer than what is known of the pair."""
    definition = stack.load(name).definition
    if name == "tf2.4-cuda11.0" and "8.0" in definition.gpu_code.partly:
        answer = Answer.IN_PART
    assert gpu_code.verdict(gpu_code.of(definition), gpu).answer is answer


def test_a_driver_too_old_comes_first():
    """Fault: native code, and a driver that cannot load it."""
    found = gpu_code.verdict(code("8.6"), "8.6", "450.80.02")
    assert found.answer is Answer.CANNOT_RUN and "525.60.13" in found.text


def test_ptx_of_a_later_cuda_than_the_drivers_is_said():
    """Fault: PTX JIT promised to a driver that may not know the PTX."""
    given = code("7.0", "8.0")
    assert "Not verified" in gpu_code.verdict(given, "8.0", "525.60.13").text
    assert "Not verified" not in gpu_code.verdict(given, "8.0", "560.28.03").text
    assert "Not verified" not in gpu_code.verdict(given, "7.0", "525.60.13").text
    unknown = dataclasses.replace(given, built_with="99.0")
    assert "Not verified" not in gpu_code.verdict(unknown, "8.0", "525.60.13").text


@pytest.mark.parametrize("text", ["9", "9.0a", "", "nine", "8.6.1", "-8.6", "8,6", "100.0", "8.66", " 8.6"])
def test_what_is_no_capability_is_refused(text):
    """Fault: a typing error gets an answer."""
    with pytest.raises(ValueError, match="no compute capability"):
        gpu_code.verdict(code("8.0"), text)


def test_every_answer_has_a_short_word():
    """Fault: a new answer ends the matrix, or its word does not fit."""
    assert all(0 < len(each.short) <= 11 for each in Answer)
    assert len({each.short for each in Answer}) == len(Answer)


@pytest.mark.parametrize("name", stack.names())
def test_a_stack_has_an_answer_for_every_gpu_and_code_for_one(name):
    """Fault: a hole in the table ends the matrix, or a stack's figures are for no GPU that there is."""
    definition = gpu_code.of(stack.load(name).definition)
    answers = {gpu: gpu_code.verdict(definition, gpu).answer for gpu in gpu_code._SUPPORT}
    assert Answer.NATIVE in answers.values() or Answer.IN_PART in answers.values(), answers
    assert Answer.CANNOT_RUN in answers.values(), answers
