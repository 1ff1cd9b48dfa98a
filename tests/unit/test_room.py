# SPDX-License-Identifier: Apache-2.0
"""Out of memory: what a cell needs and what was free, and words that mean it only where memory was short."""

from __future__ import annotations

import pytest

from suite import classify, sample_record, sampling
from suite.events import Events
from suite.room import LIBRARIES_BYTES, Room, gib, needed_bytes, says_out_of_memory
from suite.telemetry.machine import Watched
from suite.telemetry.sampler import Sampler, Trace
from tests.unit.test_classify import begun, failure, outcome, told
from tests.unit.test_record import CELL

NEEDED = needed_bytes(15000, "float32")
SHORT, PLENTY = Room(NEEDED, 2**30), Room(NEEDED, 100 * 2**30)
HANDLE = "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"


def ended(room: Room | None, words: str, stderr: str = "", memory: bool = False) -> tuple[str, str]:
    events = told(begun("first_execution"), failure("RuntimeError", words, memory=memory))
    found = classify.ending(outcome(1), events, stderr, "raw", 30.0, room)
    assert found is not None
    return found[1], found[0].text


def test_what_a_cell_needs():
    """Fault: half of it: the product forgotten, or bfloat16 counted as float32."""
    assert gib(NEEDED) == "1.68 GiB" and NEEDED == 4 * (2 * 15000**2 + 60001)
    assert needed_bytes(15000, "bfloat16") * 2 == NEEDED
    assert gib(20_000) == "0.0 MiB" and gib(50 * 2**20) == "50.0 MiB"


def test_a_full_gpu_is_oom_with_needed_and_free():
    """Fault: a raw CUBLAS_STATUS_NOT_INITIALIZED, or an oom that leaves one guessing how much is missing."""
    status, text = ended(SHORT, HANDLE)
    assert status == "oom"
    assert text.startswith("needs at least 1.68 GiB (operand, product, outputs), 1.00 GiB were free; RuntimeError")
    assert ended(Room(NEEDED), "x", memory=True)[1].startswith(
        "needs at least 1.68 GiB (operand, product, outputs), how much was free is not known"
    )


def test_the_same_words_with_room_are_a_crash():
    """Fault: a broken cuBLAS is called a lack of memory."""
    for room in (PLENTY, Room(NEEDED), None):
        assert ended(room, HANDLE)[0] == "crashed"
    assert (
        Room(NEEDED, NEEDED + LIBRARIES_BYTES - 1).short() and not Room(NEEDED, NEEDED + LIBRARIES_BYTES).short()
    )


@pytest.mark.parametrize(
    "words",
    [
        "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 900000000 bytes.",
    ],
)
def test_words_that_mean_it_anyway(words):
    """Fault: a framework that says so in its log, and raises something else, is a crash."""
    assert says_out_of_memory(words, None) and not says_out_of_memory("Blas xGEMM launch failed", SHORT)
    assert ended(None, "Blas xGEMM launch failed", stderr=words)[0] == "oom"


def test_what_was_free_is_the_workers_word_else_the_hosts():
    """Fault: memory that the worker itself holds counts as taken by others, or what NVML says is not used."""
    events = Events(all=[{"v": 1, "event": "memory", "free_bytes": 5, "total_bytes": 9}])
    assert sample_record._room(CELL, events, 7) == Room(needed_bytes(100, "float32"), 5)
    assert sample_record._room(CELL, Events(), 7) == Room(needed_bytes(100, "float32"), 7)
    assert sample_record._room(None, events, 7) is None
    sampler = Sampler(dict)
    watched = Watched(sampler, sampler, {"memory_total_bytes": 100})
    trace = Trace(begin={"gpu": {"memory_used_bytes": 30}})
    assert sampling.free_bytes(trace, watched) == 70
    assert sampling.free_bytes(Trace(), watched) is sampling.free_bytes(trace, None) is None
